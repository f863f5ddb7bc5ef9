"""Which models there are, by the names that commands and experiments use."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import Any

from .._extras import needs
from ..errors import ParameterError
from .recommender import Recommender

__all__ = ["MODELS", "ModelEntry", "make_model"]


@dataclass(frozen=True)
class ModelEntry:
    """A model by name: where its class is, what it is in one line, and who described it.

    Attributes
    ----------
    name : as commands have it
    module, symbol : where the class is; it is imported when it is asked for
    about : what it is
    reference : the paper that describes it
    extra : what has to be installed with boolrank for it, or nothing

    >>> MODELS["ease"].load()
    <class 'boolrank.models.ease.Ease'>
    """

    name: str
    module: str
    symbol: str
    about: str
    reference: str
    extra: str = ""

    def load(self) -> type[Recommender]:
        """The class."""
        with needs(self.extra, f"The model {self.name}"):
            found: type[Recommender] = getattr(import_module(self.module, __package__), self.symbol)
        return found


_ENTRIES = (
    ModelEntry(
        "popularity",
        ".popularity",
        "Popularity",
        "Items by how many users they have, the same for everybody",
        "",
    ),
    ModelEntry(
        "kernel-ranker",
        ".kernel_ranker",
        "KernelRanker",
        "CF-KOMD: a convex problem per user on any boolean kernel",
        "Polato and Aiolli, Boolean kernels for collaborative filtering in top-N item "
        "recommendation, Neurocomputing 286, 2018",
    ),
    ModelEntry(
        "mean-ranker",
        ".mean_ranker",
        "MeanRanker",
        "CF-KOMD where items are means of their users, and users of their items",
        "after Polato and Aiolli, Boolean kernels for collaborative filtering in top-N item "
        "recommendation, Neurocomputing 286, 2018",
    ),
    ModelEntry(
        "item-knn",
        ".item_knn",
        "ItemKNN",
        "Items near to the user's, by the cosine or an asymmetric one",
        "Aiolli, Efficient top-N recommendation for very large scale binary rated datasets, "
        "RecSys 2013",
    ),
    ModelEntry(
        "ease",
        ".ease",
        "Ease",
        "Each item predicted from all others, by least squares in closed form",
        "Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019",
    ),
    ModelEntry(
        "kernel-ease",
        ".kernel_ease",
        "KernelEase",
        "EASE in the feature space of any boolean kernel",
        "after Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019",
    ),
    ModelEntry(
        "lrec",
        ".ease",
        "LRec",
        "A regularised linear classifier per user, all in closed form",
        "Sedhain, Menon, Sanner and Braziunas, On the effectiveness of linear models for one-class "
        "collaborative filtering, AAAI 2016",
    ),
    ModelEntry(
        "cf-omd",
        ".cf_omd",
        "CfOmd",
        "A mixture of the user's items against a mixture of all others",
        "Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback, "
        "RecSys 2014",
    ),
    ModelEntry(
        "ecf-omd",
        ".ecf_omd",
        "EcfOmd",
        "A mixture of the user's items against the mean of all others, linear",
        "Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback, "
        "RecSys 2014",
    ),
    ModelEntry(
        "als",
        ".implicit_models",
        "ImplicitAls",
        "Matrix factorisation by weighted least squares (WRMF), of implicit",
        "Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets, ICDM 2008",
        "compare",
    ),
    ModelEntry(
        "bpr",
        ".implicit_models",
        "ImplicitBpr",
        "Matrix factorisation by Bayesian personalised ranking, of implicit",
        "Rendle, Freudenthaler, Gantner and Schmidt-Thieme, BPR: Bayesian personalized ranking "
        "from implicit feedback, UAI 2009",
        "compare",
    ),
    ModelEntry(
        "logistic-mf",
        ".implicit_models",
        "ImplicitLogistic",
        "Logistic matrix factorisation, of implicit",
        "Johnson, Logistic matrix factorization for implicit feedback data, NIPS workshop on "
        "distributed machine learning and matrix computations, 2014",
        "compare",
    ),
    ModelEntry(
        "slim",
        ".irspack_models",
        "IrspackSlim",
        "Sparse linear weights between items, not negative, of irspack",
        "Ning and Karypis, SLIM: sparse linear methods for top-N recommender systems, ICDM 2011",
        "compare",
    ),
    ModelEntry(
        "rp3beta",
        ".irspack_models",
        "IrspackRP3beta",
        "A walk of three steps between users and items, against popularity, of irspack",
        "Paudel, Christoffel, Newell and Bernstein, Updatable, accurate, diverse, and scalable "
        "recommendations for interactive applications, ACM TiiS 7(1), 2017",
        "compare",
    ),
)
MODELS = {entry.name: entry for entry in _ENTRIES}


def make_model(name: str, **params: Any) -> Recommender:
    """A model by its name, with parameters of its constructor; not fitted yet.

    >>> make_model("kernel-ranker", kernel="linear", reg=0.5)
    KernelRanker(kernel='linear', reg=0.5, negative_weight=1.0, storage='auto', n_threads=None), \
not fitted
    """
    if name not in MODELS:
        raise ParameterError(f"there is no model {name!r}; there are {', '.join(MODELS)}")
    kind = MODELS[name].load()
    unknown = [each for each in params if each not in signature(kind).parameters]
    if unknown:
        known = ", ".join(signature(kind).parameters) or "none"
        raise ParameterError(f"{name} has no parameter {unknown[0]!r}; there are {known}")
    return kind(**params)
