"""An item matrix with all of its values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.values import centred_values, cosines
from ..storage.state import array
from .base import ItemMatrix, Scale, distances, too_small
from .compressed import CompressedMatrix
from .tag_part import TagPart

# Pairs whose values are computed at once: 20 MB of temporaries.
_BLOCK = 1 << 18

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DenseMatrix(ItemMatrix):
    """All values; scaled ones without the diagonal and the largest value of each column."""

    kind: ClassVar[str] = "dense-matrix"
    storage: ClassVar[str] = "dense"

    values: Floats = array("float64", "items", "items", low=-4, high=4)
    pull: Floats = array("float64", "items", low=-4, high=4)
    distance: Floats | None = array("float64", "items", low=0, high=4, optional=True)
    scale: Scale | None = None

    @staticmethod
    def of(
        kernel: Kernel, overlaps: Overlaps, tags: TagPart | None = None, *, plain: bool = False
    ) -> DenseMatrix:
        """Compute the matrix; ``plain`` values are neither scaled nor centred."""
        plain |= tags is not None
        m, sizes = overlaps.items, overlaps.sizes
        distance = None if plain else distances(kernel, overlaps)
        value = cosines if distance is None else centred_values
        values, tables = np.empty((m, m)), dict[Any, Any]()
        # Blocks of equal length: all of them are computed in the same way, to the last digit.
        blocks = min(-(-m * m // _BLOCK), m)
        with np.errstate(all="ignore"):
            for start, stop in pairwise(m * b // blocks for b in range(blocks + 1)):
                shared, x = overlaps.filled(start, stop), sizes[start:stop, None]
                pairs = Pairs.of_items(overlaps, x, sizes[None, :], shared, tables)
                values[start:stop] = value(kernel, pairs)
                if tags is not None:
                    values[start:stop] *= tags.share
                    values[start:stop] += tags.values[tags.classes[start:stop]][:, tags.classes]
            if plain:
                return DenseMatrix.with_unit_diagonal(values)
            if distance is not None:
                np.fill_diagonal(values, 2 * distance)
                return DenseMatrix(values, values.sum(axis=0) / m, distance)
            np.fill_diagonal(values, 0.0)
            if too_small(kernel, overlaps, values.max(axis=0)):
                scaled = CompressedMatrix.of(kernel, overlaps)
                for item in range(overlaps.items):
                    values[item] = scaled.stored(item)
                np.fill_diagonal(values, 0.0)
                return DenseMatrix(values, scaled.pull, scale=scaled.scale)
        return DenseMatrix.with_unit_diagonal(values)

    @staticmethod
    def with_unit_diagonal(values: Floats) -> DenseMatrix:
        """Take over a matrix of values, setting its diagonal to 1."""
        np.fill_diagonal(values, 0.0)
        pull = values.sum(axis=0) / len(values)
        np.fill_diagonal(values, 1.0)
        return DenseMatrix(values, pull)

    def _parts(self) -> dict[str, Any]:
        return {"dense": self.values}

    def stored(self, item: int) -> Floats:
        row: Floats = self.values[item]
        return row

    def _stored_column(self, item: int, rows: NDArray[np.int32]) -> Floats:
        column: Floats = self.values[rows, item]
        return column
