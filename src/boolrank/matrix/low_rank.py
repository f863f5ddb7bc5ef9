"""The background of items with weighted users: a smooth function of two masses, of low rank.

Cross approximation with complete pivoting: of the function on a sample of masses, the largest
residual names a row and a column that become exact, until nothing is left. The function is a
polynomial for disjunctive and threshold kernels, so few suffice: 3 to 20.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..errors import InputError
from ..kernels.counts import Pairs

Floats = NDArray[np.float64]

# Masses of the sample; residual that counts as nothing, relative to the largest value; the largest
# that may be rounding errors of the values, if so many steps do not halve it; and the highest rank.
_SAMPLE, _NOTHING, _NOISE, _STEPS, _MOST = 256, 2.0**-49, 2.0**-41, 8, 128


def low_rank(
    value: Callable[[Pairs], Floats], overlaps: Overlaps, squares: Floats
) -> tuple[Floats, Floats] | None:
    """(m, r) Return factors whose product has the values of disjoint items, or None for 0.

    Rows of items with most of the mass are 0: they overlap with others like them. Values are
    divided by √squares of both items on the way, so that small ones keep their digits.
    """
    small = (2 * overlaps.sizes <= overlaps.total) & (squares > 0)
    if not small.any():
        return None
    sizes, first, inverse = np.unique(overlaps.sizes[small], return_index=True, return_inverse=True)
    scale = np.sqrt(squares[small][first])

    def block(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        none = np.broadcast_to(np.int64(0), (len(rows), len(columns)))
        found = value(Pairs.of_items(overlaps, sizes[rows, None], sizes[None, columns], none))
        return np.asarray(found / (scale[rows, None] * scale[columns]))

    everything = np.arange(len(sizes))
    even = np.linspace(0, len(sizes) - 1, _SAMPLE).round().astype(np.intp)
    spread = np.searchsorted(sizes[:-1], np.geomspace(max(sizes[0], 1), sizes[-1] + 1, _SAMPLE))
    sample = np.unique(np.concatenate((even, spread)))
    rest = block(sample, sample)
    top = best = np.abs(rest).max()
    if top == 0:
        return None
    rows, columns = np.empty((2, 0), np.intp)
    enough = 0
    while (largest := np.abs(rest).max()) > _NOTHING * top:
        if largest < best / 2:
            best, enough = largest, len(rows)
        elif best <= _NOISE * top and len(rows) - enough == _STEPS:
            rows, columns = rows[:enough], columns[:enough]
            break
        if len(rows) == _MOST:
            raise InputError(
                "the values of disjoint items have no compressed form",
                hint="use storage='dense'",
                parameter="storage",
            )
        a, b = np.unravel_index(np.abs(rest).argmax(), rest.shape)
        rows, columns = np.append(rows, sample[a]), np.append(columns, sample[b])
        rest -= np.outer(rest[:, b], rest[a] / rest[a, b])
    left, right = block(everything, columns), block(rows, everything).T
    for k in range(len(rows)):
        left[:, k] -= left[:, :k] @ right[columns[k], :k]
        right[:, k] -= right[:, :k] @ left[rows[k], :k]
        left[:, k] /= left[rows[k], k]
    out = np.zeros((2, overlaps.items, len(rows)))
    out[0, small], out[1, small] = ((side * scale[:, None])[inverse] for side in (left, right))
    return out[0], out[1]
