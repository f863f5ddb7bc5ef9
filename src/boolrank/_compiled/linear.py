"""Weighted sums of the rows of a matrix."""

from __future__ import annotations

from .compiler import loop


@loop(fastmath={"contract"})
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
