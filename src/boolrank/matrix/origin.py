"""A shifted origin for values that crowd near 1.

To a long disjunction all popular items are nearly alike: they have nearly every feature of an item
that everybody has, and their values differ beyond the last digit of a double near 1. So that item
becomes the origin. With e_i = 1 - K(i, everybody's),

    stored_ij = ⟨φ_i - φ_*, φ_j - φ_*⟩ = K_ij - 1 + e_i + e_j,     stored_ii = 2·e_i,

which is as small as the items are near, with digits of its own. Weights sum to 1, so moving the
origin changes no problem, and scores lose only what is the same for all items of a profile. This
works for kernels that are additive in the union, the disjunctive ones: e is a quotient of
binomials. Other kernels are stored as they are: their tiny values between rare items matter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Counts, Kernel, Wide

Floats = NDArray[np.float64]

# Values crowd where two items are closer than this to the origin.
_NEAR = 2.0**-20


def distances(kernel: Kernel, overlaps: Overlaps) -> Floats | None:
    """(m,) Return the distance of items from the origin where values crowd, or None."""
    sizes, inverse = np.unique(overlaps.sizes, return_inverse=True)
    own = Wide.of(sizes)
    with np.errstate(all="ignore"):
        found = kernel.from_full(Counts(Wide.of(overlaps.n), own, own, own))
    if found is None:
        return None
    out: Floats = found.floats()[inverse]
    return out if (out < _NEAR).sum() > 1 else None


def row_of(stored: Floats, distance: Floats, item: int) -> Floats:
    """Return a row of the kernel matrix from the stored one."""
    row: Floats = stored + (1 - distance[item] - distance)
    row[item] = 1.0
    return row


def means_of(pull: Floats, distance: Floats) -> Floats:
    """Return column means without the diagonal from the means of stored columns."""
    m = len(distance)
    means: Floats = pull - distance + (m - 1 - distance.sum()) / m
    return means
