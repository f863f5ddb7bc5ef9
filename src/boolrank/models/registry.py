"""The table of models: one row each, with everything that commands and studies need to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .._extras import needs
from ..checks import known_name, near_name
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
    source : module and class, imported when needed
    about : a description in one line
    library, extra : the library that learns it and the extra that installs it, if any

    >>> MODELS["ease"].load(), MODELS["ease"].abilities
    (<class 'boolrank.models.ease.Ease'>, ('explain', 'similar'))
    """

    name: str
    source: str
    about: str
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


# Rows of `ModelEntry`.
_ENTRIES = (
    ("popularity", ".popularity:Popularity", "Items by number of users, for everybody"),
    (
        "kernel-ranker",
        ".kernel_ranker:KernelRanker",
        "CF-KOMD: a convex problem per user on any boolean kernel",
    ),
    (
        "mean-ranker",
        ".mean_ranker:MeanRanker",
        "CF-KOMD where items are means of their users, and users of their items",
    ),
    (
        "spectral-ranker",
        ".spectral_ranker:SpectralRanker",
        "Neighbours, a low-pass filter and sharpening in one operator, without training",
    ),
    ("item-knn", ".item_knn:ItemKNN", "Items near the user's, by the cosine or an asymmetric one"),
    ("ease", ".ease:Ease", "Each item predicted from all others by least squares"),
    ("kernel-ease", ".ease:KernelEase", "EASE in the feature space of any boolean kernel"),
    ("lrec", ".ease:LRec", "A regularised linear classifier per user, in closed form"),
    ("cf-omd", ".omd:CfOmd", "A mixture of the user's items against a mixture of all others"),
    (
        "ecf-omd",
        ".omd:EcfOmd",
        "A mixture of the user's items against the mean of all others, linear",
    ),
    ("slim", ".slim:Slim", "Each item as a sparse sum of others, by an elastic net"),
    (
        "glslim",
        ".slim:Glslim",
        "SLIM for all users beside SLIM for subsets of them, which users choose",
    ),
    (
        "als",
        ".adapters:ImplicitAls",
        "Matrix factorisation by weighted least squares (WRMF), by implicit",
        "implicit",
        "compare",
    ),
    (
        "bpr",
        ".adapters:ImplicitBpr",
        "Matrix factorisation by Bayesian personalised ranking, by implicit",
        "implicit",
        "compare",
    ),
    (
        "logistic-mf",
        ".adapters:ImplicitLogistic",
        "Logistic matrix factorisation, by implicit",
        "implicit",
        "compare",
    ),
    (
        "rp3beta",
        ".adapters:IrspackRP3beta",
        "A walk of three steps between users and items, against popularity, by irspack",
        "irspack",
        "compare",
    ),
)
MODELS = {row[0]: ModelEntry(*row) for row in _ENTRIES}


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
        known_name(each, known, f"{name} has no parameter {each!r}")
    return entry.load()(**params)
