"""Item matrices, with values that are plain, scaled or centred.

Columns whose values are too small for doubles are scaled, each by a power of two. Where values
crowd near 1, the item that everybody has becomes the origin. With e_i = 1 - K(i, everybody's),

    stored_ij = ⟨φ_i - φ_*, φ_j - φ_*⟩ = K_ij - 1 + e_i + e_j,     stored_ii = 2·e_i.

Weights sum to 1, so moving the origin changes no problem, and scores lose only what is the same for
all items of a profile. This works for kernels that are additive in the union.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..kernels.wide import times_two_to
from ..storage.state import State, array

if TYPE_CHECKING:
    from .._compiled.matrix import Arrays

Floats = NDArray[np.float64]

# Exponent of 0: below every exponent that counts can give.
NOTHING = -(1 << 50)


@dataclass(frozen=True, eq=False)
class Scale(State):
    """Powers of two by which columns are stored.

    Column j is its largest value, ``lead·2^lead_exp`` in row ``nearest`` (-1: none), and the rest,
    stored times 2^-exponents.
    """

    kind: ClassVar[str] = "scale"

    exponents: Floats = array("float64", "items", low=2 * NOTHING, high=1e4)
    nearest: NDArray[np.int32] = array("int32", "items", low=-1, high="items")
    lead: Floats = array("float64", "items", low=0, high=4)
    lead_exp: Floats = array("float64", "items", low=2 * NOTHING, high=1e4)

    def unscaled(self, stored: Floats, item: int) -> Floats:
        """Return a row as doubles, as far as they can hold it."""
        row = times_two_to(stored.copy(), self.exponents.astype(np.int64))
        near = np.flatnonzero(self.nearest == item)
        row[near] = times_two_to(self.lead[near], self.lead_exp[near].astype(np.int64))
        row[item] = 1.0
        return row

    def nearness(self, stored: Floats, item: int) -> Floats:
        """Return a row in the log domain, in the order of its values."""
        near = self.nearest == item
        value = np.where(near, self.lead, stored)
        power = np.where(near, self.lead_exp, self.exponents)
        some = value > 0
        logs = np.log2(value, where=some, out=np.zeros(len(value)))
        row = np.where(some, np.maximum(self.floor + logs + power, 0.0), 0.0)
        row[item] = self.floor
        return row

    def terms(
        self, stored: Floats, mean: float, target: int, rows: NDArray[np.int32]
    ) -> tuple[Floats, float]:
        """Return some values of a column and its mean, all times the same power of two."""
        unit = float(np.exp2(self.exponents[target] - self.lead_exp[target]))
        values = np.where(rows == self.nearest[target], self.lead[target], stored * unit)
        return values, mean * unit + self.lead[target] / len(self.exponents)

    @property
    def floor(self) -> float:
        """Offset that makes logarithms of scores positive: 1,100 bits below the least exponent."""
        some = self.exponents[self.exponents > NOTHING / 2]
        return 1100.0 - float(some.min()) if len(some) else 1100.0


class ItemMatrix(State, ABC):
    """A kernel matrix of m items."""

    pull: Floats  # (m,) mean of each stored column without its diagonal
    distance: Floats | None  # (m,) of items from the origin, where values crowd near 1
    scale: Scale | None
    storage: ClassVar[str]

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Return the arrays of this storage by the names that compiled loops use."""

    @abstractmethod
    def stored(self, item: int) -> Floats:
        """(m,) Return a row as it is stored."""

    @cached_property
    def arrays(self) -> Arrays:
        """The matrix for compiled loops."""
        from .._compiled.matrix import Arrays

        scale = {} if self.scale is None else vars(self.scale) | {"floor": self.scale.floor}
        return Arrays.of(**self._parts(), pull=self.pull, distance=self.distance, **scale)

    @property
    def means(self) -> Floats:
        """(m,) Mean of each column without its diagonal."""
        if self.distance is None:
            return self.pull
        m = len(self.distance)
        means: Floats = self.pull - self.distance + (m - 1 - self.distance.sum()) / m
        return means

    def row(self, item: int) -> Floats:
        """(m,) Return a row as doubles, as far as they can hold it."""
        if self.scale is not None:
            return self.scale.unscaled(self.stored(item), item)
        row = self.stored(item).copy()
        if self.distance is not None:
            row += 1 - self.distance[item] - self.distance
        row[item] = 1.0
        return row

    def nearness(self, item: int) -> tuple[Floats, Floats]:
        """(m,) Return sort keys of a row, to more digits than doubles hold, and values to show.

        The values are logarithms where no double holds them.
        """
        if self.scale is not None:
            near = self.scale.nearness(self.stored(item), item)
            return near, near.copy()
        row = self.row(item)
        if self.distance is not None:
            return self.stored(item) - self.distance, row
        return row.copy(), row

    def terms(self, target: int, rows: NDArray[np.int32]) -> tuple[Floats, float]:
        """Return an item's values with others and its mean, the terms of its scores.

        Scaled values have a common factor.
        """
        if self.scale is None or target in rows:
            return self.row(target)[rows], float(self.means[target])
        stored = np.array([self.stored(int(row))[target] for row in rows])
        return self.scale.terms(stored, self.pull[target], target, rows)


def products(rows: Floats, vector: NDArray[Any]) -> Floats:
    """Return the product of each row with a vector; the last digits of BLAS depend on threads."""
    out: Floats = np.einsum("mr,r->m", rows, vector)
    return out
