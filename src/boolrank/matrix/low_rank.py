"""The background of items with weighted users: a smooth function of two masses, of low rank.

Cross approximation with complete pivoting: of the function on a sample of masses, the largest
residual names a row and a column that become exact, until nothing is left. The function is a
polynomial for disjunctive and threshold kernels, so few suffice: 5 to 25.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..errors import InputError
from ..kernels.counts import Pairs

Floats = NDArray[np.float64]

# Masses of the sample; residual that counts as nothing, relative to the largest value; and the
# highest rank.
_SAMPLE, _NOTHING, _MOST = 512, 2.0**-49, 128


def low_rank(
    value: Callable[[Pairs], Floats], overlaps: Overlaps, own: Floats
) -> tuple[Floats, Floats] | tuple[None, None]:
    """(m, r) Return factors whose product has the values of disjoint items, or None for 0.

    Rows of items with most of the mass are 0: they may overlap with any. Values are divided by √own
    of both items on the way, so that those of rare items are right to their own digits.
    """
    small = (2 * overlaps.sizes <= overlaps.total) & (own > 0)
    sizes, first, inverse = np.unique(overlaps.sizes[small], return_index=True, return_inverse=True)
    scale = np.sqrt(own[small][first])

    def block(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        x, z = sizes[rows, None], sizes[None, columns]
        none = np.broadcast_to(np.int64(0), (len(rows), len(columns)))
        found = value(Pairs.of_items(overlaps, x, z, none))
        return np.asarray(found / (scale[rows, None] * scale[columns]))

    even = np.linspace(0, len(sizes) - 1, _SAMPLE).round() if len(sizes) else np.empty(0)
    spread = (
        np.searchsorted(sizes, np.geomspace(sizes[0], sizes[-1], _SAMPLE)) if len(even) else even
    )
    sample = np.unique(np.minimum(np.concatenate((even, spread)), len(sizes) - 1)).astype(np.intp)
    rest = block(sample, sample)
    least = _NOTHING * np.abs(rest).max(initial=0)
    if least == 0:
        return None, None
    rows, columns = list[int](), list[int]()
    while np.abs(rest).max() > least:
        if len(rows) == _MOST:
            raise InputError(
                "the values of disjoint items have no compressed form",
                hint="use storage='dense'",
                parameter="storage",
            )
        a, b = np.unravel_index(np.abs(rest).argmax(), rest.shape)
        rest -= np.outer(rest[:, b], rest[a] / rest[a, b])
        rows.append(int(sample[a]))
        columns.append(int(sample[b]))
    left, right = (
        block(np.arange(len(sizes)), np.array(columns)),
        block(np.array(rows), np.arange(len(sizes))).T,
    )
    for k, (a, b) in enumerate(zip(rows, columns, strict=True)):
        left[:, k] -= left[:, :k] @ right[b, :k]
        right[:, k] -= right[:, :k] @ left[a, :k]
        left[:, k] /= left[a, k]
    out = np.zeros((2, overlaps.items, len(rows)))
    out[0, small], out[1, small] = ((side * scale[:, None])[inverse] for side in (left, right))
    return out[0], out[1]
