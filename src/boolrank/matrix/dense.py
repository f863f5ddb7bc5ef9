"""The kernel matrix with all of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.evaluate import scaled_cosines
from ..kernels.wide import times_two_to
from ..overlaps import Overlaps
from .scale import NOTHING, Scale, Terms, too_small

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DenseMatrix:
    """All values with 1 on the diagonal; or, scaled, without the diagonal and what is nearest."""

    values: Floats
    means: Floats
    scale: Scale
    storage: ClassVar[str] = "dense"

    @staticmethod
    def of(kernel: Kernel, overlaps: Overlaps) -> DenseMatrix:
        n, sizes = np.asarray(overlaps.n), overlaps.sizes
        pairs = Pairs(n, sizes[:, None], sizes[None, :], overlaps.filled())
        with np.errstate(all="ignore"):
            values = kernel.cosines_of(pairs, True)
            np.fill_diagonal(values, 0.0)
            if too_small(kernel, overlaps, values.max(axis=0)):
                return DenseMatrix._scaled(*scaled_cosines(kernel, pairs))
        means = values.sum(axis=0) / overlaps.items
        np.fill_diagonal(values, 1.0)
        return DenseMatrix(values, means, Scale())

    @staticmethod
    def _scaled(mantissas: Floats, powers: NDArray[np.int64]) -> DenseMatrix:
        m = len(mantissas)
        np.fill_diagonal(mantissas, 0.0)
        powers[mantissas == 0] = NOTHING
        first = powers.max(axis=0)
        nearest = np.where(powers == first, mantissas, -1.0).argmax(axis=0)
        columns = np.arange(m)
        lead = mantissas[nearest, columns].copy()
        mantissas[nearest, columns] = 0.0
        powers[nearest, columns] = NOTHING
        second = powers.max(axis=0)
        values = times_two_to(mantissas, powers - second)
        means = values.sum(axis=0) / m
        nearest = np.where(lead > 0, nearest, -1).astype(np.int32)
        scale = Scale(second.astype(float), nearest, lead, first.astype(float))
        return DenseMatrix(values, means, scale)

    @property
    def arrays(self) -> dict[str, Any]:
        """Its arrays by the names that compiled loops know."""
        return {"dense": self.values, "means": self.means}

    def row(self, item: int) -> Floats:
        return self.scale.unscaled(self.values[item], item)

    def nearness(self, item: int) -> Floats:
        return self.scale.nearness(self.values[item], item)

    def terms(self, target: int, rows: NDArray[np.int32]) -> Terms:
        if not self.scale or target in rows:
            return self.row(target)[rows], float(self.means[target])
        return self.scale.terms(self.values[rows, target], self.means[target], target, rows)

    def frobenius(self) -> float:
        return float(np.sqrt(sum((self.row(i) ** 2).sum() for i in range(len(self.means)))))
