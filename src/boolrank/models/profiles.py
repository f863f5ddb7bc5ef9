"""Profiles: the items of each person to score, with optional weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows

# Of items that count alike.
NO_WEIGHTS = np.empty(0)
NO_WEIGHTS.flags.writeable = False


class Profiles(NamedTuple):
    """Item numbers of several people, ascending within each profile.

    A named tuple, so that ``*profiles`` passes three arrays to a compiled loop.

    Attributes
    ----------
    indptr, indices : compressed sparse rows, as in `Rows`
    weights : a factor for each entry of ``indices``, such as its recency; empty if all are 1

    >>> profiles = Profiles.of_lists([[4, 1], [2]])
    >>> profiles.n_rows, profiles.row(0), profiles.weights
    (2, array([1, 4], dtype=int32), array([], dtype=float64))
    >>> profiles._replace(weights=np.array([1, 0.5, 0.25])).part(1, 2).weights
    array([0.25])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float64] = NO_WEIGHTS

    @staticmethod
    def of_lists(lists: Iterable[Iterable[int] | NDArray[np.integer]]) -> Profiles:
        """Return profiles of item numbers, without weights."""
        return Profiles(*Rows.of_lists(lists))

    @property
    def rows(self) -> Rows:
        """The items without weights."""
        return Rows(self.indptr, self.indices)

    @property
    def n_rows(self) -> int:
        """Number of profiles."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(u,) number of items of each profile."""
        return self.rows.lengths

    def row(self, number: int) -> NDArray[np.int32]:
        """Return the items of one profile."""
        return self.rows.row(number)

    def part(self, start: int, stop: int) -> Profiles:
        """Return the profiles from start to stop."""
        weights = self.weights[self.indptr[start] : self.indptr[stop]]
        return Profiles(*self.rows.part(start, stop), weights)

    def take(self, numbers: NDArray[np.int64]) -> Profiles:
        """Return the profiles with these numbers, in this order."""
        weights = self.weights
        if len(weights):
            weights = weights[self.rows.places(numbers)]
        return Profiles(*self.rows.take(numbers), weights)

    def by_longest_row(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """(u,) Return an order in which those with the same longest row are neighbours.

        ``lengths`` are those of the rows of a matrix of items, or grow with them. The row then
        stays in the cache.

        >>> profiles = Profiles.of_lists([[1, 2], [0], [2], []])
        >>> profiles.by_longest_row(np.array([5, 7, 6]))[0]  # item 0 has the shortest row
        np.int64(1)
        """
        if self.n_rows == 1 or not len(self.indices):
            return np.arange(self.n_rows)
        key = lengths[self.indices] * len(lengths) + self.indices
        first = np.minimum(self.indptr[:-1], len(key) - 1)
        return np.argsort(np.maximum.reduceat(key, first), kind="stable")

    def weigh(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each entry times its weight."""
        return values * self.weights if len(self.weights) else values
