"""Sparse similarities of items: computed from counts, cut to the nearest, summed by profile."""

from __future__ import annotations

import numpy as np

from .compiler import ranged
from .ranking import before, best
from .weights import SUMS, settled


@ranged(lambda out, own, *_: (len(own), 20 * len(out)))
def fill_similarities(start, stop, out, own, other, locality, indptr, columns, counts):
    """Fill with (c_ij·own[i]·other[j])^locality for each pair of items that share users."""
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            out[k] = (counts[k] * own[i] * other[columns[k]]) ** locality


@ranged(lambda _out, indptr, columns, *_: (len(indptr) - 1, 4 * len(columns)))
def keep_nearest(start, stop, out, indptr, columns, values, kept_ptr):
    """Keep the largest values of each row, as many as fit, equal ones by the lower number."""
    short, near = out
    for i in range(start, stop):
        first, last, place, end = indptr[i], indptr[i + 1], kept_ptr[i], kept_ptr[i + 1]
        row = values[first:last].copy()
        items, highest = np.zeros(end - place, np.int32), np.empty(end - place)
        best(row, row, 0.0, len(items), items, highest)
        for k in range(last - first):
            # The last one kept is the limit; the rest is taken if only as many are left as fit.
            if place < end and (
                place + last - first - k == end
                or not before(highest[-1], items[-1], values[first + k], k)
            ):
                short[place], near[place] = columns[first + k], values[first + k]
                place += 1


@ranged(lambda out, *_: (len(out), 2 * out.size))
def add_up_sparse(begin, end, out, indptr, columns, values, start, items):
    """Fill ``out`` with the settled sums of the rows of each profile."""
    for k in range(begin, end):
        row = out[k]
        for j in range(len(row)):
            row[j] = 0.0
        for s in range(start[k], start[k + 1]):
            for t in range(indptr[items[s]], indptr[items[s] + 1]):
                row[columns[t]] += values[t]
        for j in range(len(row)):
            row[j] = settled(row[j], row[j], SUMS)
