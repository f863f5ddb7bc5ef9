"""Products of a kernel matrix with many vectors at once, one in each lane."""

from __future__ import annotations

import numpy as np

from .compiler import loop
from .weights import factor_of

# Rows of a dense matrix's factor that stay in the first-level cache.
_TILE = 64


@loop
def room_of(factor, width):
    """Return scratch memory for `multiply`."""
    if factor is None:
        return None
    return np.zeros((len(factor[0]) - 1, width)), np.zeros((len(factor[2]) - 1, width))


@loop
def multiply(out, weights, matrix, factor, room):
    """Fill with the products of the matrix and the weights of all lanes.

    The linear kernel is scale·Xᵀ·X·scale, with far fewer entries than K has: ``factor`` is rows of
    X and of its transpose, and the scale; or None.
    """
    if factor is None:
        _multiply_plain(out, weights, matrix.dense, matrix.background, matrix)
    else:
        start, items, item_start, users, scale = factor
        of_users, scaled = room
        of_users[:] = 0.0
        for j in range(len(out)):
            for lane in range(out.shape[1]):
                scaled[j, lane] = scale[j] * weights[j, lane]
                out[j, lane] = 0.0
        _add_rows(of_users, scaled, start, items, scale[:0])
        _add_rows(out, of_users, item_start, users, scale[:0])
        for j in range(len(out)):
            own = 1.0 if scale[j] == 0 else 0.0  # a null vector has 1 with itself
            for lane in range(out.shape[1]):
                out[j, lane] = scale[j] * out[j, lane] + own * weights[j, lane]


@loop
def _multiply_plain(out, weights, dense, background, matrix):
    if dense is not None:
        out[:] = 0.0
        for first in range(0, len(dense), _TILE):
            last = min(first + _TILE, len(dense))
            for i in range(len(out)):
                _add_sum(out[i], weights[first:last], dense[i, first:last])
    if background is not None:
        _multiply_background(out, weights, background, matrix.classes)
        _add_rows(out, weights, matrix.indptr, matrix.columns, matrix.values)


@loop
def _add_sum(out, rows, weights):
    """Add the weighted rows, four at a time."""
    whole = len(rows) - len(rows) % 4
    for t in range(0, whole, 4):
        a, b, c, d = rows[t], rows[t + 1], rows[t + 2], rows[t + 3]
        of_a, of_b, of_c, of_d = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
        for lane in range(len(out)):
            out[lane] += (of_a * a[lane] + of_b * b[lane]) + (of_c * c[lane] + of_d * d[lane])
    for t in range(whole, len(rows)):
        for lane in range(len(out)):
            out[lane] += weights[t] * rows[t, lane]


@loop
def _multiply_background(out, weights, background, classes):
    """Fill with the products of the background, and of the diagonal."""
    width = out.shape[1]
    of_class, under = np.zeros((len(background), width)), np.zeros((len(background), width))
    for j in range(len(out)):
        to = of_class[classes[j]]
        for lane in range(width):
            to[lane] += weights[j, lane]
    for a in range(len(background)):
        to = under[a]
        for c in range(len(background)):
            value = background[a, c]
            if value != 0:
                for lane in range(width):
                    to[lane] += value * of_class[c, lane]
    for j in range(len(out)):
        own = 1.0 - background[classes[j], classes[j]]
        for lane in range(width):
            out[j, lane] = under[classes[j], lane] + own * weights[j, lane]


@loop
def _add_rows(out, source, start, columns, values):
    """Add to each row of out the rows of the source in a sparse row, four at a time."""
    for i in range(len(out)):
        to, first, last = out[i], start[i], start[i + 1]
        whole = last - (last - first) % 4
        for t in range(first, whole, 4):
            a, b = source[columns[t]], source[columns[t + 1]]
            c, d = source[columns[t + 2]], source[columns[t + 3]]
            of_a, of_b = factor_of(values, t), factor_of(values, t + 1)
            of_c, of_d = factor_of(values, t + 2), factor_of(values, t + 3)
            for lane in range(len(to)):
                to[lane] += (of_a * a[lane] + of_b * b[lane]) + (of_c * c[lane] + of_d * d[lane])
        for t in range(whole, last):
            a, of_a = source[columns[t]], factor_of(values, t)
            for lane in range(len(to)):
                to[lane] += of_a * a[lane]
