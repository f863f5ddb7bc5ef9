"""The sparse part of a kernel matrix: pairs of items, and their values without the background."""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .ranges import for_ranges


def pair_sizes(x, z, first, indptr, columns, sizes):
    """Fill x and z with the sizes of the two items of each pair, from a place in the rows on."""
    begin = int(np.searchsorted(indptr, first, side="right")) - 1
    rows = int(np.searchsorted(indptr, first + len(x))) - begin
    for_ranges(_pair_sizes, rows, len(x), x, z, first, begin, indptr, columns, sizes)


@loop
def _pair_sizes(start, stop, x, z, first, begin, indptr, columns, sizes):
    last = first + len(x)
    for i in range(begin + start, begin + stop):
        for k in range(max(indptr[i], first), min(indptr[i + 1], last)):
            x[k - first] = sizes[i]
            z[k - first] = sizes[columns[k]]


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
