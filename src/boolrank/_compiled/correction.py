"""The sparse part of a kernel matrix: what is left of its values without the background."""

from __future__ import annotations

from numba import prange

from .loops import parallel


@parallel
def subtract_background(values, indptr, columns, classes, background, share):
    """Take from each value what the classes of its row and column have in the background."""
    for i in prange(len(classes)):
        under = background[classes[i]]
        for k in range(indptr[i], indptr[i + 1]):
            values[k] -= under[classes[columns[k]]] * share[columns[k]]
