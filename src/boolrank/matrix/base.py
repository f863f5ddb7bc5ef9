"""Questions that every item matrix answers, whether values are plain, scaled or centred.

The mean of a column excludes its diagonal, which is 1 for every item: it moves no weight and no
score, and beside it the small values of expressive kernels would be rounded away.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..storage.state import State
from . import origin
from .scale import Scale

if TYPE_CHECKING:
    from .._compiled.matrix import Arrays

Floats = NDArray[np.float64]


class ItemMatrix(State, ABC):
    """A kernel matrix of m items.

    Attributes
    ----------
    pull : (m,) mean of each stored column, which counts against the item
    distance : (m,) distance of items from the origin, where values crowd near 1
    scale : scaling of columns whose values are too small for doubles
    """

    pull: Floats
    distance: Floats | None
    scale: Scale | None
    storage: ClassVar[str]

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return the arrays of this storage by the names that compiled loops use."""

    @abstractmethod
    def _stored(self, item: int) -> Floats:
        """(m,) Return a row as it is stored."""

    @abstractmethod
    def _stored_column(self, item: int, rows: NDArray[np.int32]) -> Floats:
        """Return some values of a column as they are stored."""

    def compiled(self) -> Arrays:
        """Return the matrix for compiled loops."""
        from .._compiled.matrix import Arrays

        scale = {} if self.scale is None else self.scale.arrays() | {"floor": self.scale.floor}
        return Arrays.of(**self._parts(), pull=self.pull, distance=self.distance, **scale)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(part.nbytes for part in self._parts().values())

    @property
    def means(self) -> Floats:
        """(m,) Mean of each column without its diagonal."""
        return self.pull if self.distance is None else origin.means_of(self.pull, self.distance)

    def row(self, item: int) -> Floats:
        """(m,) Return a row as doubles, as far as they can hold it."""
        if self.distance is not None:
            return origin.row_of(self._stored(item), self.distance, item)
        if self.scale is not None:
            return self.scale.unscaled(self._stored(item), item)
        row = self._stored(item).copy()
        row[item] = 1.0
        return row

    def nearness(self, item: int) -> tuple[Floats, Floats]:
        """(m,) Return sort keys of a row, to more digits than doubles hold, and values to show.

        The values are logarithms where no double holds them.
        """
        if self.scale is not None:
            near = self.scale.nearness(self._stored(item), item)
            return near, near.copy()
        row = self.row(item)
        if self.distance is not None:
            return self._stored(item) - self.distance, row
        return row.copy(), row

    def terms(self, target: int, rows: NDArray[np.int32]) -> tuple[Floats, float]:
        """Return an item's values with others and its mean, the terms of its scores.

        Scaled values have a common factor.
        """
        if self.scale is None or target in rows:
            return self.row(target)[rows], float(self.means[target])
        stored = self._stored_column(target, rows)
        return self.scale.terms(stored, self.pull[target], target, rows)

    def frobenius(self) -> float:
        """Return √ΣK², for the spectral ratio."""
        return float(np.sqrt(sum((self.row(i) ** 2).sum() for i in range(len(self.pull)))))
