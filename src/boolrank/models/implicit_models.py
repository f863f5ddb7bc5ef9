"""Matrix factorisations learned by the library implicit: ALS, BPR and logistic."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from .._extras import needs
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from .factor_scorers import AlsScorer, FoldInScorer
from .parameters import param, threads_param
from .recommender import Recommender
from .search import FACTORS, Real, Whole

_SEED = (1 << 32) - 1
# Names of parameters in implicit.
_ARGUMENTS = {
    "reg": "regularization",
    "confidence": "alpha",
    "negatives": "neg_prop",
    "seed": "random_state",
}


@dataclass(repr=False, eq=False)
class ImplicitAls(Recommender):
    """ALS, or WRMF (Hu, Koren and Volinsky, 2008): weighted least squares for users and items.

    Every user's factors are solved for from the profile, known or not. The same seed gives the
    same factors of items with any number of threads.

    Parameters
    ----------
    factors : number of factors
    reg : cost of large factors
    confidence : weight of an observed pair beside an unobserved one; implicit's alpha
    iterations : how often users and items take turns
    seed : of the initial factors
    n_threads : number of threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> ImplicitAls(factors=2).fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (AlsScorer,)

    factors: int = param(64, low=1, search=FACTORS)
    reg: float = param(0.01, low=0, search=Real(1e-2, 1e3, log=True))
    confidence: float = param(1.0, low=0, search=Real(0.1, 100.0, log=True))
    iterations: int = param(15, low=1, search=Whole(5, 30))
    seed: int = param(0, low=0, high=_SEED)
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> AlsScorer:  # noqa: ARG002
        model = _fitted(self, data, "als:AlternatingLeastSquares", self.n_threads or 0)
        return AlsScorer(model.item_factors.astype(np.float64), self.reg, self.confidence)


@dataclass(repr=False, eq=False)
class ImplicitBpr(Recommender):
    """BPR (Rendle and others, 2009): factors that rank a user's items above the others.

    One thread learns: implicit's threads overwrite each other's steps, and the same seed would not
    give the same factors.

    Parameters
    ----------
    factors : number of factors, besides a bias for each item
    learning_rate : size of a step
    reg : cost of large factors
    iterations : passes of as many steps as there are interactions
    seed : of the initial factors and the drawn pairs

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> ImplicitBpr(factors=2).fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (FoldInScorer,)

    factors: int = param(64, low=1, search=FACTORS)
    learning_rate: float = param(0.05, low=0, search=Real(1e-3, 0.5, log=True))
    reg: float = param(0.01, low=0, search=Real(1e-5, 1.0, log=True))
    iterations: int = param(100, low=1, search=Whole(20, 300, log=True))
    seed: int = param(0, low=0, high=_SEED)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> FoldInScorer:  # noqa: ARG002
        model = _fitted(self, data, "bpr:BayesianPersonalizedRanking")
        return FoldInScorer.of(data, model.user_factors, model.item_factors)


@dataclass(repr=False, eq=False)
class ImplicitLogistic(Recommender):
    """Logistic matrix factorisation (Johnson, 2014): the probability that a user takes an item.

    One thread learns, as in `ImplicitBpr`.

    Parameters
    ----------
    factors : number of factors, besides biases of users and items
    learning_rate : size of a step
    reg : cost of large factors
    iterations : how often users and items take turns
    negatives : unobserved items drawn for each observed one
    seed : of the initial factors and the drawn items

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> ImplicitLogistic(factors=2).fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (FoldInScorer,)

    factors: int = param(64, low=1, search=FACTORS)
    learning_rate: float = param(1.0, low=0, search=Real(0.05, 2.0, log=True))
    reg: float = param(0.6, low=0, search=Real(1e-3, 10.0, log=True))
    iterations: int = param(30, low=1, search=Whole(5, 60, log=True))
    negatives: int = param(30, low=1, search=Whole(2, 60, log=True))
    seed: int = param(0, low=0, high=_SEED)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> FoldInScorer:  # noqa: ARG002
        model = _fitted(self, data, "lmf:LogisticMatrixFactorization")
        return FoldInScorer.of(data, model.user_factors, model.item_factors)


def _fitted(model: Recommender, data: Interactions, source: str, n_threads: int = 1) -> Any:
    """Return the fitted model of implicit; it asks for BLAS with one thread, which is scoped here.

    ``source`` is a module and a class.
    """
    module, _, symbol = source.partition(":")
    with needs("compare", "Matrix factorisation by implicit"):
        from threadpoolctl import threadpool_limits

        learner = getattr(import_module(f"implicit.cpu.{module}"), symbol)
    params = model.get_params()
    params.pop("n_threads", None)
    given = {_ARGUMENTS.get(name, name): value for name, value in params.items()}
    with threadpool_limits(limits=1, user_api="blas"):
        learned = learner(**given, num_threads=n_threads)
        learned.fit(csr_matrix(data.matrix(), dtype=np.float32), show_progress=False)
    return learned
