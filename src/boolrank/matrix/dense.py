"""An item matrix with all of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.values import centred_values, cosines
from ..storage.state import array
from .base import ItemMatrix, distances
from .compressed import CompressedMatrix
from .scale import Scale, too_small
from .tag_part import TagPart

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
    def of(kernel: Kernel, overlaps: Overlaps, tags: TagPart | None = None) -> DenseMatrix:
        sizes = overlaps.sizes
        pairs = Pairs.of_items(overlaps, sizes[:, None], sizes[None, :], overlaps.filled())
        distance = distances(kernel, overlaps) if tags is None else None
        with np.errstate(all="ignore"):
            if distance is not None:
                values = centred_values(kernel, pairs)
                np.fill_diagonal(values, 2 * distance)
                return DenseMatrix(values, values.sum(axis=0) / overlaps.items, distance)
            values = cosines(kernel, pairs)
            if tags is not None:
                values *= tags.share
                values += tags.values[np.ix_(tags.classes, tags.classes)]
                return DenseMatrix.with_unit_diagonal(values)
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
