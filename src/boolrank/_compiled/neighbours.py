"""Sparse similarities of items: computed from counts, cut to the nearest, summed by profile."""

from __future__ import annotations

import numpy as np

from .compiler import loop
from .ranges import for_ranges
from .ranking import before, best
from .weights import SUMS, settled


def fill_similarities(out, own, other, locality, indptr, columns, counts, n_parts=None):
    """Fill with (c_ij·own[i]·other[j])^locality for each pair of items that share users."""
    rest = own, other, float(locality), indptr, columns, counts
    for_ranges(_fill_similarities, len(own), 20 * len(out), out, *rest)


@loop
def _fill_similarities(start, stop, out, own, other, locality, indptr, columns, counts):
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            out[k] = (counts[k] * own[i] * other[columns[k]]) ** locality


def keep_nearest(short, near, indptr, columns, values, kept_ptr, n_parts=None):
    """Keep the largest values of each row, as many as fit, equal ones by the lower number."""
    rest = indptr, columns, values, kept_ptr
    for_ranges(_keep_nearest, len(indptr) - 1, 4 * len(values), short, near, *rest)


@loop
def _keep_nearest(start, stop, short, near, indptr, columns, values, kept_ptr):
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


def add_up_sparse(out, indptr, columns, values, start, items):
    """Fill ``out`` with the settled sums of the rows of each profile."""
    work = out.size + len(items) * (len(values) // (len(indptr) - 1))
    for_ranges(_add_up_sparse, len(out), work, out, indptr, columns, values, start, items)


@loop
def _add_up_sparse(begin, end, out, indptr, columns, values, start, items):
    for k in range(begin, end):
        row = out[k]
        for j in range(len(row)):
            row[j] = 0.0
        for s in range(start[k], start[k + 1]):
            for t in range(indptr[items[s]], indptr[items[s] + 1]):
                row[columns[t]] += values[t]
        for j in range(len(row)):
            row[j] = settled(row[j], row[j], SUMS)
