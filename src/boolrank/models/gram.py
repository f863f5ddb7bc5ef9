"""Symmetric matrices of items, filled from overlaps: the counts, or values of a kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.counting import SINGLE
from ..counts.overlaps import Overlaps
from ..kernels import Kernel
from ..matrix.item_values import ItemValues
from .inverse import Matrix

# Kernel values computed at once: as doubles they fit into a cache.
_PAIRS = 1 << 18


class Gram(NamedTuple):
    """Shared users of u items, which are some of those of the overlaps."""

    overlaps: Overlaps
    items: NDArray[np.int32]

    @staticmethod
    def of_all(overlaps: Overlaps) -> Gram:
        """Take all items."""
        return Gram(overlaps, np.arange(overlaps.items, dtype=np.int32))

    def triangle(self, dtype: str) -> Matrix:
        """(u, u) Return counts with sizes on the diagonal; below the diagonal nothing is set.

        A user with one item counts as 1, whatever the weights.
        """
        out = np.empty((len(self.items), len(self.items)), dtype)
        self._fill(out, self.items, 0, triangle=True)
        if self.overlaps.weighting is not None:
            with np.errstate(all="ignore"):  # below the diagonal
                out *= 1 / self.overlaps.unit
        return out

    def values(self, kernel: Kernel, dtype: str) -> Matrix:
        """(u, u) Return the normalised kernel matrix; below the diagonal not all is set.

        Some rows at a time, so that doubles need little room.
        """
        from .._compiled.ranges import put

        u, counts = len(self.items), self.overlaps
        out, sizes = np.empty((u, u), dtype), counts.sizes[self.items]
        of_counts = "i8" if counts.weighting else "f4" if counts.n <= SINGLE else "f8"
        first, item_values = 0, ItemValues(kernel, counts)
        with np.errstate(all="ignore"):
            while first < u:
                part = slice(first, first + max(_PAIRS // (u - first), 1))
                rows = self.items[part]
                shared = np.empty((len(rows), u - first), of_counts)
                self._fill(shared, rows, first, triangle=False)
                pairs = item_values.pairs(sizes[part, None], sizes[None, first:], shared)
                put(out[part, first:], item_values.at(pairs))
                first = part.stop
        np.fill_diagonal(out, 1.0)
        return out

    def _fill(self, out: Matrix, rows: NDArray[np.int32], first: int, *, triangle: bool) -> None:
        """Fill in the counts of some items with those from the ``first`` on."""
        from .._compiled.weights import fill_from_dense, fill_from_rows

        counts, columns = self.overlaps, self.items[first:]
        if counts.dense is not None:
            fill_from_dense(out, rows, columns, counts.dense, triangle)
            return
        places = np.full(counts.items, -1)
        places[columns] = np.arange(len(columns))
        fill_from_rows(out, rows, places, counts.sizes, *counts.rows(), triangle)


def mirror(matrix: Matrix) -> Matrix:
    """Complete a symmetric matrix in place from its upper triangle."""
    from .._compiled.weights import spread

    same = np.ones(len(matrix))
    spread(matrix, same, same, np.diag(matrix).astype(np.float64))
    return matrix
