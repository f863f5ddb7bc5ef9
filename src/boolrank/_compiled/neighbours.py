"""Sparse similarities of items: computed from counts, cut to the nearest, added up by profile."""

from __future__ import annotations

import numpy as np
from numba import prange

from .loops import parallel
from .weights import SUMS, settled


@parallel
def fill_similarities(out, own, other, locality, indptr, columns, counts, n_parts):
    """(c_ij·own[i]·other[j])^locality for each pair of items that share users."""
    for part in prange(n_parts):
        for i in range(part, len(own), n_parts):
            for k in range(indptr[i], indptr[i + 1]):
                out[k] = (counts[k] * own[i] * other[columns[k]]) ** locality


@parallel
def keep_nearest(short, near, indptr, columns, values, kept_ptr, n_parts):
    """Of each row, as many as there is room for: the largest, equal ones by the lower number."""
    for part in prange(n_parts):
        for i in range(part, len(indptr) - 1, n_parts):
            first, last = indptr[i], indptr[i + 1]
            room = kept_ptr[i + 1] - kept_ptr[i]
            order = np.argsort(-values[first:last], kind="mergesort")[:room]
            order.sort()
            for k in range(room):
                short[kept_ptr[i] + k] = columns[first + order[k]]
                near[kept_ptr[i] + k] = values[first + order[k]]


@parallel
def add_up_sparse(out, indptr, columns, values, start, items):
    """Fill ``out`` with the sums of the rows of each profile, settled."""
    for k in prange(len(out)):
        row = out[k]
        row[:] = 0.0
        for s in range(start[k], start[k + 1]):
            for t in range(indptr[items[s]], indptr[items[s] + 1]):
                row[columns[t]] += values[t]
        for j in range(len(row)):
            row[j] = settled(row[j], row[j], SUMS)
