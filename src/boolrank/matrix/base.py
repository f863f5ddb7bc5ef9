"""What both storages answer, however values are held: plain, scaled, or from another origin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import origin
from .scale import Scale

Floats = NDArray[np.float64]


class HeldMatrix(ABC):
    """A kernel matrix of m items.

    Attributes
    ----------
    pull : (m,) what counts against each item: the mean of its column as it is held
    distance : (m,) of items from the origin, where values crowd near 1; empty elsewhere
    scale : how columns are scaled, where values are too small for doubles; empty elsewhere
    """

    pull: Floats
    distance: Floats
    scale: Scale
    storage: ClassVar[str]

    @property
    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Its arrays by the names that compiled loops know."""

    @abstractmethod
    def _held(self, item: int) -> Floats:
        """(m,) a row as it is held."""

    @abstractmethod
    def _held_column(self, item: int, rows: NDArray[np.int32]) -> Floats:
        """Some values of a column as they are held."""

    @property
    def means(self) -> Floats:
        """(m,) the mean of each column without its diagonal."""
        return origin.means_of(self.pull, self.distance) if len(self.distance) else self.pull

    def row(self, item: int) -> Floats:
        """(m,) a row as doubles, as far as they hold it."""
        if len(self.distance):
            return origin.row_of(self._held(item), self.distance, item)
        return self.scale.unscaled(self._held(item), item)

    def nearness(self, item: int) -> tuple[Floats, Floats]:
        """(m,) numbers in the order of a row's values, and what to show of these.

        That are the values; where no double holds them, logarithms.
        """
        if self.scale:
            near = self.scale.nearness(self._held(item), item)
            return near, near.copy()
        row = self.row(item)
        return (self._held(item) - self.distance, row) if len(self.distance) else (row.copy(), row)

    def terms(self, target: int, rows: NDArray[np.int32]) -> tuple[Floats, float]:
        """What scores of an item are made of: its values with others, and what counts against it.

        Up to a factor, where values are scaled.
        """
        if not self.scale or target in rows:
            return self.row(target)[rows], float(self.means[target])
        held = self._held_column(target, rows)
        return self.scale.terms(held, self.pull[target], target, rows)

    def frobenius(self) -> float:
        """√ΣK², for the spectral ratio."""
        return float(np.sqrt(sum((self.row(i) ** 2).sum() for i in range(len(self.pull)))))
