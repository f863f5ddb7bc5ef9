"""Compressed sparse rows: the item numbers of several users in one array."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Rows(NamedTuple):
    """Item numbers of several users, ascending within each row, and where each row starts.

    A named tuple, so that ``*rows`` passes both arrays to a compiled loop. Therefore ``len(rows)``
    is 2; the number of rows is ``rows.n_rows``.

    >>> rows = Rows.of_lists([[1, 4], [], [0]])
    >>> rows.n_rows, rows.lengths, rows.row(0), rows.take(np.array([2, 0])).indices
    (3, array([2, 0, 1]), array([1, 4], dtype=int32), array([0, 1, 4], dtype=int32))
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @staticmethod
    def of_lists(lists: Iterable[Iterable[int] | NDArray[np.integer]]) -> Rows:
        """Return rows of item numbers, sorted and without repetitions."""
        # Python's own sort keeps the GIL; a request releases it only to compute.
        sets = [np.array(sorted(set(np.asarray(each).tolist())), np.int32) for each in lists]
        indices = np.concatenate(sets) if sets else np.empty(0, np.int32)
        return Rows.of_lengths(np.array([len(each) for each in sets], np.int64), indices)

    @staticmethod
    def of_lengths(lengths: NDArray[np.int64], indices: NDArray[np.int32]) -> Rows:
        """Return rows of these lengths."""
        return Rows(np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), indices)

    @staticmethod
    def of_keys(keys: NDArray[np.int64], n_rows: int, n_columns: int) -> Rows:
        """Return rows from ascending keys: row × columns + column."""
        lengths = np.bincount(keys // n_columns, minlength=n_rows)
        return Rows.of_lengths(lengths, (keys % n_columns).astype(np.int32))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(rows,) number of items of each row."""
        return self.indptr[1:] - self.indptr[:-1]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The row number of each entry of ``indices``."""
        return np.repeat(np.arange(self.n_rows), self.lengths)

    @property
    def is_sorted(self) -> bool:
        """Whether item numbers ascend within each row."""
        falls = np.flatnonzero(np.diff(self.indices) <= 0) + 1
        return bool(np.isin(falls, self.indptr).all())

    def row(self, number: int) -> NDArray[np.int32]:
        """Return the items of one row."""
        return self.indices[self.indptr[number] : self.indptr[number + 1]]

    def part(self, start: int, stop: int) -> Rows:
        """Return the rows from start to stop."""
        first, last = self.indptr[start], self.indptr[stop]
        return Rows(self.indptr[start : stop + 1] - first, self.indices[first:last])

    def take(self, numbers: NDArray[np.int64]) -> Rows:
        """Return the rows with these numbers, in this order, with repetitions."""
        if len(numbers) == self.n_rows and np.array_equal(numbers, np.arange(self.n_rows)):
            return self
        lengths = self.indptr[numbers + 1] - self.indptr[numbers]
        return Rows.of_lengths(lengths, self.indices[self.places(numbers)])

    def capped(self, most: int | None) -> Rows:
        """Return the same rows, empty if they have more than ``most`` items.

        >>> Rows.of_lists([[1, 4], [2, 3, 4], [0]]).capped(2).lengths
        array([2, 0, 1])
        """
        if most is None or not (self.lengths > most).any():
            return self
        few = self.lengths <= most
        return Rows.of_lengths(self.lengths * few, self.indices[np.repeat(few, self.lengths)])

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where the entries of these rows stand in ``indices``."""
        lengths = self.indptr[numbers + 1] - self.indptr[numbers]
        starts = np.cumsum(lengths) - lengths
        shift = np.repeat(self.indptr[numbers] - starts, lengths)
        return np.asarray(np.arange(len(shift)) + shift)


def cut(bound: NDArray[np.int64], most: int) -> list[int]:
    """Return the bounds of ranges of rows with at most ``most`` entries, or of one row."""
    cuts = [0]
    while cuts[-1] < len(bound) - 1:
        stop = int(np.searchsorted(bound, bound[cuts[-1]] + most, side="right")) - 1
        cuts.append(max(stop, cuts[-1] + 1))
    return cuts
