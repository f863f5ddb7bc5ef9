"""Matrices of items filled from their overlaps: the counts themselves, or values of a kernel.

They are symmetric, and what needs one triangle gets the upper one alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import SINGLE, Overlaps
from ..data.interactions import Interactions
from ..engines.threads import threads
from ..kernels import Kernel
from ..kernels.counts import Pairs
from .item_groups import Alike
from .parameters import checked_overlaps, variables_are_users

__all__ = ["Counted", "mirror"]

# Kernel values that are computed at a time: as doubles they fit into a cache.
_PAIRS = 1 << 18

Matrix = NDArray[Any]


class Counted(NamedTuple):
    """The numbers of shared users of u items, which are some of those of the overlaps."""

    overlaps: Overlaps
    items: NDArray[np.int32]

    @staticmethod
    def of_groups(
        data: Interactions, alike: Alike, overlaps: Overlaps | None, n_threads: int | None
    ) -> Counted:
        """Of one item of each group: counted, or taken from given overlaps of all."""
        if overlaps is None:
            return Counted.of_all(Overlaps.of(alike.one_each(data), n_threads))
        return Counted(checked_overlaps(data, overlaps, n_threads), alike.first)

    @staticmethod
    def of_all(overlaps: Overlaps) -> Counted:
        """Of all items."""
        return Counted(overlaps, np.arange(overlaps.items, dtype=np.int32))

    def triangle(self, dtype: str, n_threads: int | None = None) -> Matrix:
        """The (u, u) numbers, sizes on the diagonal; what is below the diagonal is not set."""
        out = np.empty((len(self.items), len(self.items)), dtype)
        with threads(n_threads) as parts:
            self._fill(out, self.items, 0, True, parts)
        return out

    def values(self, kernel: Kernel, dtype: str, n_threads: int | None = None) -> Matrix:
        """The (u, u) normalised kernel matrix; what is below the diagonal is not all set.

        Some rows at a time, so that doubles take no room.
        """
        from .._compiled.weights import write_block

        u, n = len(self.items), self.overlaps.n
        out, sizes = np.empty((u, u), dtype), self.overlaps.sizes[self.items]
        first, tables = 0, dict[Any, Any]()
        with threads(n_threads) as parts, variables_are_users(kernel), np.errstate(all="ignore"):
            while first < u:
                part = slice(first, first + max(_PAIRS // (u - first), 1))
                rows = self.items[part]
                shared = np.empty((len(rows), u - first), "f4" if n <= SINGLE else "f8")
                self._fill(shared, rows, first, False, parts)
                pairs = Pairs(np.asarray(n), sizes[part, None], sizes[None, first:], shared, tables)
                write_block(out, first, first, kernel.cosines_of(pairs, checked=True), parts)
                first = part.stop
        np.fill_diagonal(out, 1.0)
        return out

    def _fill(
        self, out: Matrix, rows: NDArray[np.int32], first: int, triangle: bool, parts: int
    ) -> None:
        """The counts of some of the items with those from the ``first`` on."""
        from .._compiled.weights import fill_from_dense, fill_from_rows

        counts, columns = self.overlaps, self.items[first:]
        if counts.dense is not None:
            fill_from_dense(out, rows, columns, counts.dense, triangle, parts)
            return
        places = np.full(counts.items, -1)
        places[columns] = np.arange(len(columns))
        fill_from_rows(out, rows, places, counts.sizes, *counts.rows(), triangle, parts)


def mirror(matrix: Matrix, n_threads: int | None = None) -> Matrix:
    """A symmetric matrix made whole, in its place, from its upper triangle."""
    from .._compiled.weights import spread

    same = np.ones(len(matrix))
    with threads(n_threads) as parts:
        spread(matrix, same, same, np.diag(matrix).astype(np.float64), parts)
    return matrix
