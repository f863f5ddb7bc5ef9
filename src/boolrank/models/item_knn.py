"""Item-kNN: items similar to a user's, by the cosine or an asymmetric one.

With c_ij the users that items i and j share, and x_i those of item i,

    s_ij = (c_ij / (x_i^alpha · x_j^(1 - alpha)))^locality,
    score_j = d_j^-output_exponent · Σ s_ij

over the items i ≠ j of a user. alpha = 1/2 is the cosine. alpha = 1 is the share of the users of i
who have j, which favours popular items; alpha = 0 is the share of the users of j who have i. A
higher locality gives more weight to the nearest items. In c and x, users count as
activity^-user_exponent; d_j is the plain number of users of item j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._memory import require_memory
from ..counts.counting import check_longest
from ..counts.overlaps import Overlaps
from ..counts.weighting import user_weights
from ..data.interactions import Interactions
from ..data.rows import Rows
from ..storage.disk_array import mapped
from .parameters import (
    activity_cap_param,
    param,
    recency_param,
    threads_param,
    user_exponent_param,
)
from .recommender import Recommender
from .scorer import Floats
from .search import NEIGHBOURS, Real
from .sparse_scorer import SparseScorer


@dataclass(repr=False, eq=False)
class ItemKNN(Recommender):
    """Item neighbours by the asymmetric cosine (Aiolli, Efficient top-N recommendation for
    very large scale binary rated datasets, RecSys 2013); the defaults are the plain cosine.

    Parameters
    ----------
    alpha : 0 to 1, share of the normalisation by the user's item rather than the scored one
    locality : power of the similarities; at 100 only the nearest item counts
    neighbours : most similar items kept per item; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = ItemKNN().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([1]).round(3)
    array([[0.5  , 0.5  , 0.707]])
    """

    uses_overlaps: ClassVar[bool] = True
    scales: ClassVar[bool] = True
    scorers: ClassVar = (SparseScorer,)

    alpha: float = param(0.5, low=0, high=1, search=Real(0.0, 1.0))
    locality: float = param(1.0, low=0, high=100, search=Real(0.5, 8.0, log=True))
    neighbours: int | None = param(None, low=1, search=NEIGHBOURS)
    user_exponent: float = user_exponent_param()
    output_exponent: float = param(0.0, low=-10, high=10, search=Real(-0.5, 0.5))
    recency: float | str = recency_param()
    activity_cap: int | None = activity_cap_param()
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SparseScorer:
        if self.neighbours is not None and self.neighbours < len(data.items) - 1:
            return self._nearest(data, self.neighbours)
        counted = overlaps or Overlaps.of(data, user_exponent=self.user_exponent)
        if not counted.in_files:
            freed = 0 if overlaps or counted.dense is None else counted.dense.nbytes
            needed = counted.rows_size + max(8 * counted.pairs - freed, 0)
            _check_room(counted.pairs, needed)
        counted = counted.sparse()
        values = counted.pair_values(self.similarities(counted))
        indptr, columns, _ = counted.rows()
        return SparseScorer(indptr, mapped(columns), mapped(values), counted.degrees)

    def similarities(self, counted: Overlaps) -> Callable[..., None]:
        """Return the function that fills the values of some rows of pairs."""
        from .._compiled.weights import fill_similarities

        own, other, locality = self._factors(counted.sizes)

        def fill(values: Floats, rows: slice, *pairs: NDArray[Any]) -> None:
            fill_similarities(values, own[rows], other, locality, *pairs)
            self._damp(values, pairs[1], counted.degrees)

        return fill

    def nearest(
        self, counted: Overlaps, rows: slice, indptr: NDArray[np.int64], *pairs: NDArray[Any]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
        """Return lengths, columns and values of the nearest items of some rows of all pairs."""
        from .._compiled.weights import fill_similarities

        own, other, locality = self._factors(counted.sizes)
        (columns, _), lengths = pairs, np.diff(indptr)
        values, numbers = np.empty(len(columns)), np.repeat(np.arange(len(lengths)), lengths)
        fill_similarities(values, own[rows], other, locality, indptr, *pairs)
        order = np.lexsort((columns, -values, numbers))
        kept = np.zeros(len(columns), bool)
        kept[order[np.arange(len(order)) - indptr[numbers] < (self.neighbours or 0)]] = True
        columns, values = columns[kept], values[kept]
        self._damp(values, columns, counted.degrees)
        return np.bincount(numbers[kept], minlength=len(lengths)), columns, values

    def _factors(self, sizes: NDArray[Any]) -> tuple[Floats, Floats, float]:
        some = np.maximum(sizes, 1.0)
        return some**-self.alpha, some ** (self.alpha - 1), float(self.locality)

    def _nearest(self, data: Interactions, neighbours: int) -> SparseScorer:
        """Keep the nearest while counting: other pairs need neither memory nor a second look."""
        from .._compiled.overlaps import count_nearest
        from .._compiled.rows import transposed

        items = len(data.items)
        check_longest(data)
        _check_room(items * neighbours, 30 * items * neighbours)
        weights = user_weights(data.rows.lengths, self.user_exponent)
        start, users, _ = transposed(data.indptr, data.indices, items)
        sizes = np.zeros(items, np.int64)
        np.add.at(sizes, data.indices, np.repeat(weights, data.rows.lengths))
        near, lengths = np.empty((items, neighbours), np.int32), np.empty(items, np.int64)
        values = np.empty(near.shape)
        lists = (start, users), (data.indptr, data.indices)
        count_nearest((near, values, lengths), weights, self._factors(sizes), *lists)
        kept = np.arange(neighbours) < lengths[:, None]
        columns, nearest = near[kept], values[kept]
        users = data.popularity()
        self._damp(nearest, columns, users)
        return SparseScorer(Rows.of_lengths(lengths, columns).indptr, columns, nearest, users)

    def _damp(self, values: Floats, columns: NDArray[np.int32], degrees: NDArray[np.int64]) -> None:
        """Multiply similarities with the factors of the scored items."""
        if self.output_exponent:
            values *= (np.maximum(degrees, 1.0) ** -self.output_exponent)[columns]


def _check_room(pairs: int, needed: int) -> None:
    require_memory(
        needed,
        f"the similarities of {pairs:,} pairs of items take",
        hint="keep fewer neighbours, or leave out the rarest items or the most active users",
        parameter="neighbours",
    )
