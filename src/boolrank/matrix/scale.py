"""Columns whose values are too small for doubles: how to detect and how to store them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.values import own_values, scaled_cosines
from ..kernels.wide import times_two_to
from ..storage.state import State, array

Floats = NDArray[np.float64]

# A column whose largest value is below this may have values that doubles cannot hold.
_SMALL = 2.0**-500
# Suspect columns of each kind whose exact values are computed.
_CHECKED = 16
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


def too_small(kernel: Kernel, overlaps: Overlaps, nearest: Floats) -> bool:
    """Return whether doubles lose the largest value of some column, or nearly so.

    A value may also be 0 by right: for null items, or items that share no user. Sizes make values
    small, so the exact values of the largest suspects are computed, with and without shared users.
    """
    suspects = np.flatnonzero(nearest < _SMALL)
    if not len(suspects) or overlaps.items == 1:
        return False
    suspects = suspects[np.argsort(-overlaps.sizes[suspects], kind="stable")]
    alone = overlaps.alone()[suspects]
    suspects = np.concatenate((suspects[~alone][:_CHECKED], suspects[alone][:_CHECKED]))
    own = own_values(kernel, overlaps, overlaps.sizes[suspects]).positive()
    for item in suspects[own]:
        counts = overlaps.row(int(item))
        others = np.flatnonzero(np.arange(overlaps.items) != item)
        x = np.full(len(others), overlaps.sizes[item])
        pairs = Pairs.of_items(overlaps, x, overlaps.sizes[others], counts[others])
        if (scaled_cosines(kernel, pairs)[0] > 0).any():
            return True
    return False
