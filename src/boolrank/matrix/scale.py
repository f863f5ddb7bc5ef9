"""Columns of values too small for doubles: whether there are any, and how they are held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Counts, Kernel, Wide
from ..kernels.counts import Pairs
from ..kernels.evaluate import scaled_cosines
from ..kernels.wide import times_two_to

Floats = NDArray[np.float64]

# A column whose largest value is below this has values that doubles may not hold.
_SMALL = 2.0**-500
# Of so many suspects each the exact values are asked for.
_ASKED = 16
# Stands for the exponent of 0: below every exponent that counts can give.
NOTHING = -(1 << 50)


class Scale(NamedTuple):
    """How columns with values too small for doubles are held; empty for plain ones.

    Column j is its largest value, ``lead·2^lead_exp`` at row ``nearest`` (-1: none), and the rest,
    held times 2^-exponents, each with its own power of two.
    """

    exponents: Floats = np.empty(0)
    nearest: NDArray[np.int32] = np.empty(0, np.int32)
    lead: Floats = np.empty(0)
    lead_exp: Floats = np.empty(0)

    def __bool__(self) -> bool:
        return len(self.exponents) > 0

    def unscaled(self, held: Floats, item: int) -> Floats:
        """A row of the matrix as doubles, as far as they hold it, from how it is held."""
        row = held.copy()
        if self:
            row = times_two_to(row, self.exponents.astype(np.int64))
            near = np.flatnonzero(self.nearest == item)
            row[near] = times_two_to(self.lead[near], self.lead_exp[near].astype(np.int64))
        row[item] = 1.0
        return row

    def nearness(self, held: Floats, item: int) -> Floats:
        """A row in the order of its values: as doubles, or in the log domain where it is scaled."""
        if not self:
            return self.unscaled(held, item)
        near = self.nearest == item
        value = np.where(near, self.lead, held)
        power = np.where(near, self.lead_exp, self.exponents)
        some = value > 0
        logs = np.log2(value, where=some, out=np.zeros(len(value)))
        row = np.where(some, np.maximum(self.floor + logs + power, 0.0), 0.0)
        row[item] = self.floor
        return row

    def terms(
        self, held: Floats, mean: float, target: int, rows: NDArray[np.int32]
    ) -> tuple[Floats, float]:
        """Some values of a column and its mean, all times the same power of two."""
        unit = float(np.exp2(self.exponents[target] - self.lead_exp[target]))
        values = np.where(rows == self.nearest[target], self.lead[target], held * unit)
        return values, mean * unit + self.lead[target] / len(self.exponents)

    @property
    def floor(self) -> float:
        """What makes logarithms of scores positive: 1,100 bits below the smallest exponent."""
        some = self.exponents[self.exponents > NOTHING / 2]
        return 1100.0 - float(some.min()) if len(some) else 1100.0


def too_small(kernel: Kernel, overlaps: Overlaps, nearest: Floats) -> bool:
    """Whether the largest value of some column is lost, or nearly, because doubles end.

    A value may also be 0 by right: of null items, or of items that share no user. Asked are the
    largest of the suspects, as sizes are what makes values small, with and without shared users.
    """
    suspects = np.flatnonzero(nearest < _SMALL)
    if not len(suspects) or overlaps.items == 1:
        return False
    suspects = suspects[np.argsort(-overlaps.sizes[suspects], kind="stable")]
    alone = overlaps.alone()[suspects]
    suspects = np.concatenate((suspects[~alone][:_ASKED], suspects[alone][:_ASKED]))
    sizes = Wide.of(overlaps.sizes[suspects])
    own = kernel.own_value(Counts(Wide.of(overlaps.n), sizes, sizes, sizes)).positive()
    for item in suspects[own]:
        counts = overlaps.row(int(item))
        others = np.flatnonzero(np.arange(overlaps.items) != item)
        x = np.full(len(others), overlaps.sizes[item])
        pairs = Pairs(np.asarray(overlaps.n), x, overlaps.sizes[others], counts[others])
        if (scaled_cosines(kernel, pairs)[0] > 0).any():
            return True
    return False
