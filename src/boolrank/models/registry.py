"""The table of models: one row each, with everything that commands and studies need to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .._extras import needs
from ..checks import near_name
from ..errors import ParameterError
from ..kernels import Kernel
from .parameters import Parameter, parameters_of
from .recommender import Recommender
from .search import Range


@dataclass(frozen=True)
class ModelEntry:
    """A model by name.

    Attributes
    ----------
    name : as in commands
    source : module and class, imported when needed
    about : a description in one line
    reference : the paper that describes it
    library, extra : the library that learns it and the extra that installs it, if any

    >>> MODELS["ease"].load(), MODELS["ease"].abilities
    (<class 'boolrank.models.ease.Ease'>, ('explain', 'similar'))
    """

    name: str
    source: str
    about: str
    reference: str = ""
    library: str = ""
    extra: str = ""

    @property
    def model(self) -> type[Recommender]:
        """The class, whether or not its library is installed."""
        module, _, symbol = self.source.partition(":")
        found: type[Recommender] = getattr(import_module(module, __package__), symbol)
        return found

    def load(self) -> type[Recommender]:
        """Return the class; raise if its library is not installed."""
        with needs(self.extra, f"The model {self.name}"):
            if not self.available:
                raise ModuleNotFoundError(name=self.library)
        return self.model

    @property
    def available(self) -> bool:
        """Whether the model can be fitted here."""
        return not self.library or find_spec(self.library) is not None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The constructor's parameters."""
        return parameters_of(self.model)

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters that results depend on, in their one form: kernels as text."""
        checked = {
            each.name: each.check(self.name, given.get(each.name, each.default))
            for each in self.parameters
            if not each.technical
        }
        return {k: str(v) if isinstance(v, Kernel) else v for k, v in checked.items()}

    @property
    def defaults(self) -> dict[str, Any]:
        """Defaults of the parameters that results depend on."""
        return self.settings({})

    @property
    def space(self) -> dict[str, Range]:
        """What tuning searches: ranges by parameter."""
        return {p.name: p.search for p in self.parameters if p.search is not None}

    @property
    def abilities(self) -> tuple[str, ...]:
        """What the fitted model can do besides recommending."""
        scorers = self.model.scorers
        able = {
            "explain": all(scorer.explains() for scorer in scorers),
            "similar": all(scorer.compares() for scorer in scorers),
            "exact update": self.model.keeps_overlaps,
        }
        return tuple(name for name in able if able[name])


_POLATO = (
    "Polato and Aiolli, Boolean kernels for collaborative filtering in top-N item recommendation, "
    "Neurocomputing 286, 2018"
)
_AIOLLI = (
    "Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback, RecSys 2014"
)
_STECK = "Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019"

_ENTRIES = (
    ModelEntry("popularity", ".popularity:Popularity", "Items by number of users, for everybody"),
    ModelEntry(
        "kernel-ranker",
        ".kernel_ranker:KernelRanker",
        "CF-KOMD: a convex problem per user on any boolean kernel",
        _POLATO,
    ),
    ModelEntry(
        "mean-ranker",
        ".mean_ranker:MeanRanker",
        "CF-KOMD where items are means of their users, and users of their items",
        f"after {_POLATO}",
    ),
    ModelEntry(
        "spectral-ranker",
        ".spectral_ranker:SpectralRanker",
        "Neighbours, a low-pass filter and sharpening in one operator, without training",
        "after Shen et al., How powerful is graph convolution for recommendation?, CIKM 2021, and "
        "Choi et al., Blurring-sharpening process models for collaborative filtering, SIGIR 2023",
    ),
    ModelEntry(
        "item-knn",
        ".item_knn:ItemKNN",
        "Items near the user's, by the cosine or an asymmetric one",
        "Aiolli, Efficient top-N recommendation for very large scale binary rated datasets, "
        "RecSys 2013",
    ),
    ModelEntry(
        "ease", ".ease:Ease", "Each item predicted from all others by least squares", _STECK
    ),
    ModelEntry(
        "kernel-ease",
        ".ease:KernelEase",
        "EASE in the feature space of any boolean kernel",
        f"after {_STECK}",
    ),
    ModelEntry(
        "lrec",
        ".ease:LRec",
        "A regularised linear classifier per user, in closed form",
        "Sedhain, Menon, Sanner and Braziunas, On the effectiveness of linear models for one-class "
        "collaborative filtering, AAAI 2016",
    ),
    ModelEntry(
        "cf-omd",
        ".omd:CfOmd",
        "A mixture of the user's items against a mixture of all others",
        _AIOLLI,
    ),
    ModelEntry(
        "ecf-omd",
        ".omd:EcfOmd",
        "A mixture of the user's items against the mean of all others, linear",
        _AIOLLI,
    ),
    ModelEntry(
        "slim",
        ".slim:Slim",
        "Each item as a sparse sum of others, by an elastic net",
        "Ning and Karypis, SLIM: sparse linear methods for top-N recommender systems, ICDM 2011",
    ),
    ModelEntry(
        "glslim",
        ".slim:Glslim",
        "SLIM for all users beside SLIM for subsets of them, which users choose",
        "Christakopoulou and Karypis, Local item-item models for top-N recommendation, RecSys 2016",
    ),
    ModelEntry(
        "als",
        ".implicit_models:ImplicitAls",
        "Matrix factorisation by weighted least squares (WRMF), by implicit",
        "Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets, ICDM 2008",
        "implicit",
        "compare",
    ),
    ModelEntry(
        "bpr",
        ".implicit_models:ImplicitBpr",
        "Matrix factorisation by Bayesian personalised ranking, by implicit",
        "Rendle, Freudenthaler, Gantner and Schmidt-Thieme, BPR: Bayesian personalized ranking "
        "from implicit feedback, UAI 2009",
        "implicit",
        "compare",
    ),
    ModelEntry(
        "logistic-mf",
        ".implicit_models:ImplicitLogistic",
        "Logistic matrix factorisation, by implicit",
        "Johnson, Logistic matrix factorization for implicit feedback data, NIPS workshop on "
        "distributed machine learning and matrix computations, 2014",
        "implicit",
        "compare",
    ),
    ModelEntry(
        "rp3beta",
        ".irspack_models:IrspackRP3beta",
        "A walk of three steps between users and items, against popularity, by irspack",
        "Paudel, Christoffel, Newell and Bernstein, Updatable, accurate, diverse, and scalable "
        "recommendations for interactive applications, ACM TiiS 7(1), 2017",
        "irspack",
        "compare",
    ),
)
MODELS = {entry.name: entry for entry in _ENTRIES}


def find_model(name: str) -> ModelEntry:
    """Return the row of a model; raise with the closest name if there is none."""
    if name not in MODELS:
        hint = near_name(name, MODELS, extensible=True)
        raise ParameterError(f"no model {name!r}", hint=hint, parameter="model")
    return MODELS[name]


def make_model(name: str, **params: Any) -> Recommender:
    """Return an unfitted model by its name, with parameters of its constructor.

    >>> make_model("kernel-ranker", kernel="linear", reg=0.5)
    KernelRanker(kernel='linear', reg=0.5, negative_weight=1.0, user_exponent=0.0, \
storage='auto', recency=0.0, activity_cap=None, n_threads=None), not fitted
    """
    entry = find_model(name)
    known = [each.name for each in entry.parameters]
    for each in params:
        if each not in known:
            raise ParameterError(
                f"{name} has no parameter {each!r}",
                hint=near_name(each, known) if known else "it has none",
                parameter=each,
            )
    return entry.load()(**params)
