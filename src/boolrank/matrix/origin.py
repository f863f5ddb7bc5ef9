"""Values that crowd near 1, and the origin from which they are told apart.

To a long disjunction all items with many users are nearly alike: they have nearly all of the
features that an item of everybody's would have, and their values differ past the last digit of a
double near 1. So that item is made the origin. With e_i = 1 - K(i, everybody's),

    held_ij = ⟨φ_i - φ_*, φ_j - φ_*⟩ = K_ij - 1 + e_i + e_j,     held_ii = 2·e_i,

which is as small as the items are near, and has digits of its own. Weights sum to 1, so that to
move the origin changes no problem, and of the scores of a profile what is the same for all items.
Kernels that are additive in the union can be held so, the disjunctive ones: there everything
follows from e, which is a quotient of binomials. Where values do not crowd, or may be tiny and
matter, they are held as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Counts, Kernel, Wide

Floats = NDArray[np.float64]

# Values crowd where two items are nearer than this to one that everybody has.
_NEAR = 2.0**-20


def distances(kernel: Kernel, overlaps: Overlaps) -> Floats:
    """(m,) how far items are from one that everybody has, where values crowd near it; or empty."""
    sizes, inverse = np.unique(overlaps.sizes, return_inverse=True)
    own = Wide.of(sizes)
    with np.errstate(all="ignore"):
        found = kernel.from_full(Counts(Wide.of(overlaps.n), own, own, own))
    if found is None:
        return np.empty(0)
    out: Floats = found.floats()[inverse]
    return out if (out < _NEAR).sum() > 1 else np.empty(0)


def row_of(held: Floats, distance: Floats, item: int) -> Floats:
    """A row of the kernel matrix from how it is held."""
    row: Floats = held + (1 - distance[item] - distance)
    row[item] = 1.0
    return row


def means_of(pull: Floats, distance: Floats) -> Floats:
    """Means of columns of the kernel matrix without its diagonal, from those of what is held."""
    m = len(distance)
    means: Floats = pull - distance + (m - 1 - distance.sum()) / m
    return means
