"""Transpose compressed sparse rows in linear time."""

from __future__ import annotations

import numpy as np

from .compiler import loop


@loop
def _starts(numbers, size):
    """Return where the entries of each number begin once they are sorted."""
    start = np.zeros(size + 1, np.int64)
    for k in range(len(numbers)):
        start[numbers[k] + 1] += 1
    for j in range(size):
        start[j + 1] += start[j]
    return start


@loop
def transposed(indptr, indices, n_columns):
    """Return compressed rows of the transpose, and the former place of each of its entries."""
    start, fill = _starts(indices, n_columns), _starts(indices, n_columns)
    rows = np.empty(len(indices), np.int32)
    order = np.empty(len(indices), np.int64)
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            at = fill[indices[k]]
            rows[at] = i
            order[at] = k
            fill[indices[k]] = at + 1
    return start, rows, order


@loop
def transposed_range(indptr, indices, first, last):
    """Return compressed rows of the transpose for a range of columns; rows are ascending."""
    start = np.zeros(last - first + 1, np.int64)
    begin, end = indptr[:-1].copy(), indptr[1:].copy()
    for i in range(len(begin)):
        row = indices[begin[i] : end[i]]
        if len(row) > 0 and row[-1] >= last:
            end[i] = begin[i] + np.searchsorted(row, last)
        if len(row) > 0 and row[0] < first:
            begin[i] += np.searchsorted(row, first)
        for k in range(begin[i], end[i]):
            start[indices[k] - first + 1] += 1
    for j in range(last - first):
        start[j + 1] += start[j]
    fill, rows = start[:-1].copy(), np.empty(start[-1], np.int32)
    for i in range(len(begin)):
        for k in range(begin[i], end[i]):
            rows[fill[indices[k] - first]] = i
            fill[indices[k] - first] += 1
    return start, rows


@loop
def column_sums(indptr, indices, n_columns):
    """Return a hash of each column's rows: equal columns have the same, others hardly ever."""
    sums = np.zeros(n_columns, np.uint64)
    for i in range(len(indptr) - 1):
        row = _mixed(np.uint64(i + 1))
        for k in range(indptr[i], indptr[i + 1]):
            sums[indices[k]] += row
    return sums


@loop
def _mixed(number):
    """Return a number whose bits look random: sums of such tell sets apart."""
    number *= np.uint64(0x9E3779B97F4A7C15)
    number ^= number >> np.uint64(32)
    number *= np.uint64(0xD1342543DE82EF95)
    return number ^ (number >> np.uint64(29))
