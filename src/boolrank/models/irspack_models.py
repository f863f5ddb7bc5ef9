"""Item-item models learned by the library irspack: SLIM and RP3beta."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from .._extras import needs
from ..counts.limits import check_longest
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from .parameters import param, threads_param
from .recommender import Recommender
from .search import NEIGHBOURS, Real
from .sparse_scorer import SparseScorer


@dataclass(repr=False, eq=False)
class IrspackSlim(Recommender):
    """SLIM (Ning and Karypis, 2011): each item as a sparse sum of others, by an elastic net.

    Weights are not negative. One thread learns: with more, the point where irspack's descent stops
    depends on which thread was first, and weights differ in the fourth digit.

    Parameters
    ----------
    reg : cost of weights, per user; irspack's alpha
    l1_ratio : share of the cost on their sum, the rest on their squares
    neighbours : weights kept per item; all by default
    iterations : of the descent, at most

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> IrspackSlim().fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (SparseScorer,)

    reg: float = param(0.05, low=0, search=Real(1e-4, 10.0, log=True))
    l1_ratio: float = param(0.01, low=0, high=1, search=Real(1e-4, 1.0, log=True))
    neighbours: int | None = param(None, low=1, search=NEIGHBOURS)
    iterations: int = param(100, low=1)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SparseScorer:  # noqa: ARG002
        given = {"alpha": self.reg, "l1_ratio": self.l1_ratio, "n_iter": self.iterations}
        return _learned("slim", "SLIMRecommender", data, self.neighbours, n_threads=1, **given)


@dataclass(repr=False, eq=False)
class IrspackRP3beta(Recommender):
    """RP3beta (Paudel and others, 2017): a walk of three steps, against popularity.

    irspack's alpha is missing: it changes nothing where all interactions weigh the same. Weights
    are the same with any number of threads.

    Parameters
    ----------
    beta : how much an item's popularity counts against it; 0 is P3
    neighbours : weights kept per item; all by default
    n_threads : number of threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> IrspackRP3beta().fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (SparseScorer,)

    beta: float = param(0.6, low=0, search=Real(0.0, 1.0))
    neighbours: int | None = param(None, low=1, search=NEIGHBOURS)
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SparseScorer:  # noqa: ARG002
        given = {"beta": self.beta, "n_threads": self.n_threads}
        return _learned("rp3", "RP3betaRecommender", data, self.neighbours, **given)


def _learned(
    module: str, symbol: str, data: Interactions, neighbours: int | None, **given: Any
) -> SparseScorer:
    """Let irspack learn (m, m) weights: row i is what item i adds to the scores of others."""
    from importlib import import_module

    check_longest(data, 12)

    # irspack's settings are written for an older pydantic, which warns when they are imported.
    with needs("compare", "Item-item models of irspack"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        learner = getattr(import_module(f"irspack.recommenders.{module}"), symbol)
    most = None if neighbours is None else min(neighbours, len(data.items))
    model = learner(csr_matrix(data.matrix()), top_k=most, **given)
    model.learn()
    weights: Any = csr_array(model.W, dtype=np.float64)
    weights.sort_indices()
    indptr, columns = weights.indptr.astype(np.int64), weights.indices.astype(np.int32)
    return SparseScorer(indptr, columns, weights.data)
