"""Dot products, weighted sums of rows, copies, and a search in a sorted row."""

from __future__ import annotations

from .compiler import loop


@loop
def product(x, y):
    """Return the dot product of two vectors, as four independent sums.

    The order is fixed here. A compiler that may reorder (``reassoc``) does it differently in the
    process that compiles a loop and in those that load it from the cache.
    """
    a = b = c = d = 0.0
    whole = len(x) - len(x) % 4
    for t in range(0, whole, 4):
        a += x[t] * y[t]
        b += x[t + 1] * y[t + 1]
        c += x[t + 2] * y[t + 2]
        d += x[t + 3] * y[t + 3]
    for t in range(whole, len(x)):
        a += x[t] * y[t]
    return (a + b) + (c + d)


@loop
def add_rows(out, matrix, rows, weights):
    """Add the weighted rows to out, four at a time: out is read and written less often."""
    whole = len(rows) - len(rows) % 4
    for s in range(0, whole, 4):
        a, b, c, d = matrix[rows[s]], matrix[rows[s + 1]], matrix[rows[s + 2]], matrix[rows[s + 3]]
        of_a, of_b, of_c, of_d = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
        for j in range(len(out)):
            out[j] += (of_a * a[j] + of_b * b[j]) + (of_c * c[j] + of_d * d[j])
    for s in range(whole, len(rows)):
        a, of_a = matrix[rows[s]], weights[s]
        for j in range(len(out)):
            out[j] += of_a * a[j]


@loop
def copy_to(target, source):
    """Copy to the beginning of the target. numba takes 2.4 s to compile ``target[:] = source``."""
    for t in range(len(source)):
        target[t] = source[t]


@loop
def place(columns, low, high, column):
    """Return where a column is in a sorted sparse row, or would be."""
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low
