"""Compressed sparse rows: build them from pairs, and transpose them, in linear time."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def sorted_rows(rows, columns, n_rows, n_columns):
    """Compressed rows of pairs, columns in order and each pair once: two counting sorts."""
    by_column = np.zeros(n_columns + 1, np.int64)
    for k in range(len(columns)):
        by_column[columns[k] + 1] += 1
    for j in range(n_columns):
        by_column[j + 1] += by_column[j]
    order = np.empty(len(columns), np.int64)
    for k in range(len(columns)):
        j = columns[k]
        order[by_column[j]] = k
        by_column[j] += 1

    start = np.zeros(n_rows + 1, np.int64)
    for k in range(len(rows)):
        start[rows[k] + 1] += 1
    for i in range(n_rows):
        start[i + 1] += start[i]
    fill = start[:-1].copy()
    indices = np.empty(len(rows), np.int32)
    for k in order:
        i, j = rows[k], columns[k]
        at = fill[i]
        if at == start[i] or indices[at - 1] != j:
            indices[at] = j
            fill[i] = at + 1

    indptr = np.zeros(n_rows + 1, np.int64)
    for i in range(n_rows):
        indptr[i + 1] = indptr[i] + fill[i] - start[i]
    packed = np.empty(indptr[n_rows], np.int32)
    for i in range(n_rows):
        packed[indptr[i] : indptr[i + 1]] = indices[start[i] : fill[i]]
    return indptr, packed


@njit(cache=True)
def transposed(indptr, indices, n_columns):
    """Compressed rows of the transpose, and where each of its entries was."""
    start = np.zeros(n_columns + 1, np.int64)
    for k in range(len(indices)):
        start[indices[k] + 1] += 1
    for j in range(n_columns):
        start[j + 1] += start[j]
    fill = start[:-1].copy()
    rows = np.empty(len(indices), np.int32)
    order = np.empty(len(indices), np.int64)
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            at = fill[indices[k]]
            rows[at] = i
            order[at] = k
            fill[indices[k]] = at + 1
    return start, rows, order


@njit(cache=True)
def column_sums(indptr, indices, n_columns):
    """A number for each column, from its rows: equal columns have the same, others hardly ever."""
    sums = np.zeros(n_columns, np.uint64)
    for i in range(len(indptr) - 1):
        row = _mixed(np.uint64(i + 1))
        for k in range(indptr[i], indptr[i + 1]):
            sums[indices[k]] += row
    return sums


@njit(inline="always")
def _mixed(number):
    """A number whose bits look drawn; sums of such tell sets apart."""
    number *= np.uint64(0x9E3779B97F4A7C15)
    number ^= number >> np.uint64(32)
    number *= np.uint64(0xD1342543DE82EF95)
    return number ^ (number >> np.uint64(29))
