"""Item-item models of the library irspack: SLIM and RP3beta, under the same contract.

The library learns the weights between items; a profile's scores are the sums of its items' weights,
for known users and for others.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from .._extras import needs
from ..data.interactions import Interactions
from ..errors import ParameterError
from .profiles import Profiles
from .ranges import check_numbers
from .recommender import Floats, Recommender

# irspack's own settings are written for an older pydantic, which says so when they are imported.
with needs("compare", "Item-item models of irspack"), warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from irspack.recommenders.rp3 import RP3betaRecommender
    from irspack.recommenders.slim import SLIMRecommender

__all__ = ["IrspackRP3beta", "IrspackSlim"]


@dataclass(repr=False, eq=False)
class IrspackSlim(Recommender):
    """SLIM (Ning and Karypis, 2011): each item as a sparse sum of others, by an elastic net.

    Weights are not negative. One thread learns: with more, where irspack's descent stops depends on
    which thread was first, and the weights differ in the fourth digit.

    Parameters
    ----------
    reg : what weights cost, for each user; irspack's alpha
    l1_ratio : which part of that is for their sum, the rest for their squares
    neighbours : how many items have a weight for an item, at most; all by default
    iterations : of the descent, at most

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> IrspackSlim().fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    reg: float = 0.05
    l1_ratio: float = 0.01
    neighbours: int | None = None
    iterations: int = 100

    def fit(self, interactions: Interactions) -> Self:
        """Learn the weights between items; gives the model itself."""
        check_numbers(self, reg=0.0, l1_ratio=0.0, iterations=1)
        if self.l1_ratio > 1:
            raise ParameterError(
                f"l1_ratio of IrspackSlim must be at most 1, not {self.l1_ratio!r}"
            )
        data = self._given(interactions)
        model = SLIMRecommender(
            csr_matrix(data.matrix()),
            alpha=float(self.reg),
            l1_ratio=float(self.l1_ratio),
            n_iter=self.iterations,
            top_k=_most(self, data),
            n_threads=1,
        )
        self._weights = _learned(model)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        return _sums(self._weights, profiles)


@dataclass(repr=False, eq=False)
class IrspackRP3beta(Recommender):
    """RP3beta (Paudel and others, 2017): a walk of three steps, against popularity.

    The library's alpha is not here: it changes nothing where all interactions weigh the same. The
    weights are the same with any number of threads.

    Parameters
    ----------
    beta : how much an item's popularity counts against it; 0 is P3
    neighbours : how many items have a weight for an item, at most; all by default
    n_threads : how many threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> IrspackRP3beta().fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    beta: float = 0.6
    neighbours: int | None = None
    n_threads: int | None = None

    def fit(self, interactions: Interactions) -> Self:
        """Learn the weights between items; gives the model itself."""
        check_numbers(self, beta=0.0)
        data = self._given(interactions)
        model = RP3betaRecommender(
            csr_matrix(data.matrix()),
            beta=float(self.beta),
            top_k=_most(self, data),
            n_threads=self.n_threads,
        )
        self._weights = _learned(model)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        return _sums(self._weights, profiles)


def _most(model: Any, data: Interactions) -> int | None:
    """How many neighbours the library is to keep, which is never more than there are."""
    if model.neighbours is None:
        return None
    check_numbers(model, neighbours=1)
    return min(int(model.neighbours), len(data.items))


def _learned(model: Any) -> csr_array:
    """(m, m) the weights: row i is what item i adds to the scores of all."""
    model.learn()
    return csr_array(model.W, dtype=np.float64)


def _sums(weights: csr_array, profiles: Profiles) -> Floats:
    shape = len(profiles.lengths), weights.shape[0]
    rows = csr_array((np.ones(len(profiles.own)), profiles.own, profiles.start), shape)
    return np.asarray((rows @ weights).toarray())
