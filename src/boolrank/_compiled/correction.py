"""The sparse part of a kernel matrix: pairs of items, and their values without the background."""

from __future__ import annotations

import numpy as np

from .compiler import ranged
from .ranges import for_ranges


@ranged(lambda out, *_: (len(out[0]), len(out[0])))
def pair_sizes(start, stop, out, first, indptr, columns, sizes):
    """Fill two arrays with the sizes of the items of each pair, from a place in the rows on."""
    x, z = out
    row = np.searchsorted(indptr, first + start, side="right") - 1
    for k in range(start, stop):
        while indptr[row + 1] <= first + k:
            row += 1
        x[k], z[k] = sizes[row], sizes[columns[first + k]]


def put(target, part):
    """Copy on all threads: touching new memory is slow."""
    for_ranges(_put, len(part), part.size, target, part)


def _put(start, stop, target, part):
    target[start:stop] = part[start:stop]


@ranged(lambda values, indptr, *_: (len(indptr) - 1, len(values)))
def subtract_background(start, stop, values, indptr, columns, classes, background, share):
    """Subtract from each value the background of the classes of its row and column."""
    for i in range(start, stop):
        under = background[classes[i]]
        for k in range(indptr[i], indptr[i + 1]):
            values[k] -= under[classes[columns[k]]] * share[columns[k]]
