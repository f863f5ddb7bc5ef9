"""The sparse part of a kernel matrix: pairs of items, and their values without the background."""

from __future__ import annotations

import numpy as np
from numba import prange

from .loops import parallel


@parallel
def pair_sizes(x, z, first, indptr, columns, sizes):
    """Fill x and z with the sizes of the two items of each pair, from a place in the rows on."""
    last = first + len(x)
    begin = np.searchsorted(indptr, first, side="right") - 1
    end = np.searchsorted(indptr, last)
    for i in prange(begin, end):
        for k in range(max(indptr[i], first), min(indptr[i + 1], last)):
            x[k - first] = sizes[i]
            z[k - first] = sizes[columns[k]]


@parallel
def put(out, first, part):
    """Copy to a place on: memory that is touched for the first time comes slowly to one thread."""
    for k in prange(len(part)):
        out[first + k] = part[k]


@parallel
def subtract_background(values, indptr, columns, classes, background, share):
    """Take from each value what the classes of its row and column have in the background."""
    for i in prange(len(classes)):
        under = background[classes[i]]
        for k in range(indptr[i], indptr[i + 1]):
            values[k] -= under[classes[columns[k]]] * share[columns[k]]
