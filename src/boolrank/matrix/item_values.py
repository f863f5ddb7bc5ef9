"""Normalised values of a kernel on pairs of items: plain, from another origin, or scaled.

The origin and the scale serve values that doubles do not tell apart, or do not hold; see `base`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.values import centred_values, cosines, own_values, scaled_cosines, wide_counts
from ..kernels.wide import Wide

Floats = NDArray[np.float64]

# Values crowd where two items are closer than this to the origin.
_NEAR = 2.0**-20
# A column whose largest value is below this may have values that doubles cannot hold.
_SMALL = 2.0**-500
# Suspect columns of each kind whose exact values are computed.
_CHECKED = 16


@dataclass(frozen=True, eq=False)
class ItemValues:
    """A kernel on items, given by their counts of users or by the masses of these."""

    kernel: Kernel
    overlaps: Overlaps
    distance: Floats | None = None  # of items from the origin, if values are centred
    tables: dict[Any, Any] = field(default_factory=dict)  # of the kernel, shared by all pairs

    @staticmethod
    def of(kernel: Kernel, overlaps: Overlaps, *, centred: bool = True) -> ItemValues:
        """Prepare; ``centred`` allows another origin where values crowd."""
        plain = ItemValues(kernel, overlaps)
        if not centred:
            return plain
        sizes, inverse = np.unique(overlaps.sizes, return_inverse=True)
        with np.errstate(all="ignore"):
            found = kernel.from_full(wide_counts(plain.pairs(sizes, sizes, sizes)))
        if found is None:
            return plain
        distance: Floats = found.floats()[inverse]
        return replace(plain, distance=distance) if (distance < _NEAR).sum() > 1 else plain

    def pairs(self, x: Any, z: Any, c: Any) -> Pairs:
        """Make pairs of items from sizes and shared users, which broadcast."""
        overlaps = self.overlaps
        users = None if overlaps.weighting is None else overlaps.weighting.active
        most = int(overlaps.sizes.max(initial=0))
        return Pairs(np.asarray(overlaps.total), x, z, c, self.tables, users=users, most=most)

    def at(self, pairs: Pairs) -> Floats:
        """Return the values of pairs, centred if these are."""
        return (cosines if self.distance is None else centred_values)(self.kernel, pairs)

    def scaled(self, pairs: Pairs) -> tuple[Floats, NDArray[np.int64]]:
        """Return plain values as mantissas and exponents of two, even if no double holds them."""
        return scaled_cosines(self.kernel, pairs)

    def own(self, sizes: NDArray[np.int64]) -> Wide:
        """Return the raw values of items with themselves."""
        return own_values(self.kernel, self.pairs(sizes, sizes, sizes))

    def too_small(self, nearest: Floats) -> bool:
        """Return whether doubles lose the largest value of some column, or nearly so.

        A value may also be 0 by right: for null items, or items that share no user. Sizes make
        values small, so the exact values of the largest suspects are computed, with and without
        shared users.
        """
        suspects, overlaps = np.flatnonzero(nearest < _SMALL), self.overlaps
        if not len(suspects) or overlaps.items == 1:
            return False
        suspects = suspects[np.argsort(-overlaps.sizes[suspects], kind="stable")]
        alone = overlaps.alone()[suspects]
        suspects = np.concatenate((suspects[~alone][:_CHECKED], suspects[alone][:_CHECKED]))
        for item in suspects[self.own(overlaps.sizes[suspects]).positive()]:
            others = np.arange(overlaps.items) != item
            counts, sizes = overlaps.row(int(item))[others], overlaps.sizes[others]
            pairs = self.pairs(np.full(len(sizes), overlaps.sizes[item]), sizes, counts)
            if (self.scaled(pairs)[0] > 0).any():
                return True
        return False
