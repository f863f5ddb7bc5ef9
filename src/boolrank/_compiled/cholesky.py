"""The inverse Cholesky factor of a sparse positive definite matrix, row by row and approximately.

Row i of the factor Z has the regression of item i on neighbours N, some of the items before it:

    A[N, N]·y = A[N, i],   pivot = A[i, i] - A[i, N]·y,   Z[i, i] = 1/√pivot,   Z[i, N] = -y/√pivot.

Zᵀ·Z is the inverse of A if N is all that comes before, and the closest to it among factors with the
same zeros otherwise (Kolotilina and Yeremin, 1993). A[N, N] is a part of A itself, so no pivot
breaks down, and rows do not depend on each other.

The matrix is ``(indptr, columns, values, diagonal, classes, background, left, right, leading)``:
rows of the lower triangle, and the diagonal. Pairs that are not in the rows have the value of their
classes in the background, plus a product of their rows in left and right. From all of it, the
diagonal included, ``leading[i]·leading[j]`` is subtracted.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .ranking import best
from .vectors import place, product


@loop
def lower_triangle(indptr, columns, values, order):
    """Return rows of the lower triangle of a symmetric matrix, with its items in an order."""
    rank, start = np.empty(len(order), np.int32), np.zeros(len(order) + 1, np.int64)
    for i in range(len(order)):
        rank[order[i]] = i
    for i in range(len(order)):
        for k in range(indptr[i], indptr[i + 1]):
            start[rank[i] + 1] += rank[columns[k]] < rank[i]
    for i in range(len(order)):
        start[i + 1] += start[i]
    fill, below = start.copy(), np.empty(start[-1], np.int32)
    kept = np.empty(start[-1])
    for j in range(len(order)):  # column by column, so that rows come out sorted
        for k in range(indptr[order[j]], indptr[order[j] + 1]):
            i = rank[columns[k]]
            if i > j:
                below[fill[i]], kept[fill[i]] = j, values[k]
                fill[i] += 1
    return start, below, kept


@loop
def times(matrix, vector):
    """Return the product with a vector."""
    indptr, columns, values, diagonal, classes, background, left, right, leading = matrix
    by_class, product = np.zeros(len(background)), np.zeros(left.shape[1])
    along = 0.0
    for j in range(len(vector)):
        by_class[classes[j]] += vector[j]
        along += leading[j] * vector[j]
        for r in range(len(product)):
            product[r] += right[j, r] * vector[j]
    of_class = np.zeros(len(background))
    for a in range(len(background)):
        for b in range(len(background)):
            of_class[a] += background[a, b] * by_class[b]
    out = np.empty(len(vector))
    for i in range(len(vector)):
        own = diagonal[i] - _background(i, i, matrix)
        out[i] = of_class[classes[i]] + own * vector[i] - leading[i] * along
        for r in range(len(product)):
            out[i] += left[i, r] * product[r]
        for k in range(indptr[i], indptr[i + 1]):
            j = columns[k]
            value = values[k] - _background(i, j, matrix)
            out[i] += value * vector[j]
            out[j] += value * vector[i]
    return out


@loop
def _background(i, j, matrix):
    """Return the value of two items that share no users."""
    _, _, _, _, classes, background, left, right, _ = matrix
    total = background[classes[i], classes[j]]
    for r in range(left.shape[1]):
        total += left[i, r] * right[j, r]
    return total


@ranged(lambda _out, ptr, _matrix: (len(ptr) - 1, (np.diff(ptr) ** 3).sum() + 100 * ptr[-1]))
def fill_factor(start, stop, out, ptr, matrix):
    """Fill rows of the factor, and the smallest pivot of each as a part of its diagonal.

    Row i has ``ptr[i + 1] - ptr[i]`` values, the last of which is its own.
    """
    columns, values, pivots = out
    most = np.int64(0)
    for i in range(start, stop):
        most = max(most, ptr[i + 1] - ptr[i])
    square = np.empty((most, most))
    for i in range(start, stop):
        row, weights = columns[ptr[i] : ptr[i + 1]], values[ptr[i] : ptr[i + 1]]
        row[-1] = i
        _choose_neighbours(row[:-1], i, matrix)
        _fill_square(square, row, matrix)
        pivots[i] = _factorise(square, len(row))
        _solve(weights, square)


@loop
def _choose_neighbours(chosen, item, matrix):
    """Fill with the items before one that have the largest A[i, j]/√A[j, j]; or with all."""
    indptr, columns, values, diagonal = matrix[:4]
    leading = matrix[-1]
    if len(chosen) == item:
        for j in range(item):
            chosen[j] = j
        return
    first, last = indptr[item], indptr[item + 1]
    near, nearest = np.empty(last - first), np.empty(len(chosen))
    for k in range(last - first):
        j = columns[first + k]
        value = values[first + k] - leading[item] * leading[j]
        near[k] = abs(value) / np.sqrt(diagonal[j] - leading[j] ** 2)
    chosen[:] = 0
    best(near, near, 0.0, len(chosen), chosen, nearest)
    for k in range(len(chosen)):
        chosen[k] = columns[first + chosen[k]]
    chosen.sort()


@loop
def _fill_square(square, row, matrix):
    """Fill the upper triangle with the values of all pairs of some items, in ascending order."""
    indptr, columns, values, diagonal = matrix[:4]
    leading = matrix[-1]
    for a in range(len(row)):
        low, high = indptr[row[a]], indptr[row[a] + 1]
        for b in range(a):
            step = 1
            while low + step < high and columns[low + step] < row[b]:
                step *= 2
            low = place(columns, low, min(low + step, high), row[b])
            found = low < high and columns[low] == row[b]
            value = values[low] if found else _background(row[a], row[b], matrix)
            square[b, a] = value - leading[row[a]] * leading[row[b]]
        square[a, a] = diagonal[row[a]] - leading[row[a]] ** 2


@loop
def _factorise(square, size):
    """Put the transposed Cholesky factor in place of the upper triangle; return the least pivot.

    It is a part of the value on the diagonal, 0 for a singular matrix. Rows above are subtracted
    four at a time, element by element: the order of the sums is the same in every process.
    """
    least = np.inf
    for i in range(size):
        row, own, whole = square[i], square[i, i], i - i % 4
        for k in range(0, whole, 4):
            a, b, c, d = square[k], square[k + 1], square[k + 2], square[k + 3]
            of_a, of_b, of_c, of_d = a[i], b[i], c[i], d[i]
            for j in range(i, size):
                row[j] -= (of_a * a[j] + of_b * b[j]) + (of_c * c[j] + of_d * d[j])
        for k in range(whole, i):
            a, of_a = square[k], square[k, i]
            for j in range(i, size):
                row[j] -= of_a * a[j]
        if not row[i] > 0:
            return 0.0
        least = min(least, row[i] / own)
        root = np.sqrt(row[i])
        for j in range(i, size):
            row[j] /= root
    return least


@loop
def _solve(weights, square):
    """Fill with the last row of the inverse of the factor whose transpose is in the square."""
    size = len(weights)
    weights[size - 1] = 1 / square[size - 1, size - 1]
    for a in range(size - 2, -1, -1):
        weights[a] = -product(square[a, a + 1 : size], weights[a + 1 :]) / square[a, a]


@ranged(lambda _out, factor, *_: (len(factor[0]) - 1, 4 * (np.diff(factor[0]) ** 2).sum()))
def fill_weights(start, stop, out, factor, by_item, order, reserved, along, rows, columns, keys):
    """Fill with values rows[i]·P[i, j]·columns[j] of each row i, j ≠ i, where Z reaches.

    P is Zᵀ·Z minus ``along[i]·along[j]``. Those with the largest P[i, j]·keys[j] are kept.
    ``by_item`` is the transpose of the factor. The results have the numbers that items had before
    they were put in order, and row i the places from ``reserved[i]`` on.
    """
    used, kept, weights = out
    (ptr, items, values), (item_ptr, item_rows, places) = factor, by_item
    total, seen_by = np.zeros(len(order)), np.full(len(order), -1)
    reached = np.empty(len(order), np.int32)
    for i in range(start, stop):
        number = np.int64(0)
        seen_by[i] = i
        for k in range(item_ptr[i], item_ptr[i + 1]):
            row, value = item_rows[k], values[places[k]]
            for at in range(ptr[row], ptr[row + 1]):
                j = items[at]
                if seen_by[j] != i:
                    seen_by[j], total[j], reached[number] = i, 0.0, j
                    number += 1
                total[j] += value * values[at]
        amount = np.empty(number)
        for k in range(number):
            total[reached[k]] -= along[i] * along[reached[k]]
            amount[k] = abs(total[reached[k]]) * keys[reached[k]]
        first, last = reserved[order[i]], reserved[order[i] + 1]
        size = used[order[i]] = min(number, last - first)
        chosen = np.zeros(size, np.int32)
        best(amount, amount, 0.0, size, chosen, np.empty(size))
        for k in range(size):
            j = reached[chosen[k]]
            kept[first + k], weights[first + k] = order[j], rows[i] * total[j] * columns[j]
        by_number = np.argsort(kept[first : first + size])
        kept[first : first + size] = kept[first : first + size][by_number]
        weights[first : first + size] = weights[first : first + size][by_number]
