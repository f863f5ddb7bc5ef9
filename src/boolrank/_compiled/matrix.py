"""A kernel matrix in compiled loops: rows of a profile's problem, scores of all items.

Dense, all values stand in ``dense``. Compressed,

    K[i, j] = B[class(i), class(j)]·share[j] + L[i]·R[j] + V[set(i), set(j)] + S[i, j]   for i != j

and K[i, i] = 1, with all shares 1, L and R only for weighted users, and V only for tags. Scaled,
for values too small for doubles, each column j is split into its largest value,
``lead[j]·2^lead_exp[j]`` at row ``nearest[j]``, and the rest, which stands in K (or B and S) and in
``pull``, the means of columns, times 2^exponents[j]. The diagonal is left out then.

If values crowd near 1, the origin is moved: ``distance`` is the distance of each item from it, and
the values held are K[i, j] - 1 + distance[i] + distance[j].

Parts that a matrix does not have are None in loops. Functions that branch on a part take it as an
argument of its own and ask ``part is not None``: numba leaves out the branch for an argument None
before it compiles. Scaled matrices would otherwise double the time to compile for all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler import loop, ranged
from .ranges import frozen
from .ranking import sort_best_first


class Arrays(NamedTuple):
    """The arrays that weights and scores follow from, read-only; None for absent parts."""

    pull: NDArray[np.float64]
    dense: NDArray[np.float64] | None = None
    background: NDArray[np.float64] | None = None
    share: NDArray[np.float64] | None = None
    classes: NDArray[np.uint32] | None = None
    indptr: NDArray[np.int64] | None = None
    columns: NDArray[np.uint32] | None = None
    values: NDArray[np.float64] | None = None
    distance: NDArray[np.float64] | None = None
    exponents: NDArray[np.float64] | None = None
    nearest: NDArray[np.int32] | None = None
    lead: NDArray[np.float64] | None = None
    lead_exp: NDArray[np.float64] | None = None
    left: NDArray[np.float64] | None = None
    right: NDArray[np.float64] | None = None
    sets: NDArray[np.uint32] | None = None
    set_values: NDArray[np.float64] | None = None
    floor: float = 0.0

    @staticmethod
    def of(floor: float = 0.0, **parts: NDArray[Any] | None) -> Arrays:
        """Return arrays from parts of any origin, so that all have the types of one compilation."""
        present = {name: part for name, part in parts.items() if part is not None}
        for name in {"classes", "columns", "sets"} & present.keys():
            # Unsigned indices need no test for counting from the end: 10 % faster.
            present[name] = present[name].view(np.uint32)
        arrays = {name: frozen(np.ascontiguousarray(part)) for name, part in present.items()}
        return Arrays(**arrays, floor=float(floor))


@ranged(lambda out, *_: (len(out[0]), len(out[0])))
def of_pairs(start, stop, out, first, indptr, columns, numbers):
    """Fill two arrays with the numbers of the items of each pair of a chunk.

    ``first`` is the place of the chunk in the rows, and ``columns`` are its second items.
    """
    x, z = out
    row = np.searchsorted(indptr, first + start, side="right") - 1
    for k in range(start, stop):
        while indptr[row + 1] <= first + k:
            row += 1
        x[k], z[k] = numbers[row], numbers[columns[k]]


@ranged(lambda values, *_: (len(values), len(values)))
def subtract_background(start, stop, values, first, indptr, columns, classes, background, share):
    """Subtract from each value of a chunk the background of the classes of its row and column."""
    row, k = np.searchsorted(indptr, first + start, side="right") - 1, start
    while k < stop:
        while indptr[row + 1] <= first + k:
            row += 1
        under, end = background[classes[row]], min(indptr[row + 1] - first, stop)
        for t in range(k, end):
            values[t] -= under[classes[columns[t]]] * share[columns[t]]
        k = end


@ranged(lambda values, *_: (len(values), len(values)))
def subtract_product(start, stop, values, first, indptr, columns, left, right):
    """Subtract from each value of a chunk the product of the factors of its row and column."""
    row = np.searchsorted(indptr, first + start, side="right") - 1
    for k in range(start, stop):
        while indptr[row + 1] <= first + k:
            row += 1
        values[k] -= product(left[row], right[columns[k]])


@loop
def product(x, y):
    """Return the product of two vectors: four sums, of which none waits for the other.

    Their order is written out because a compiler that may choose it (``reassoc``) chooses one in
    the process that compiles a loop and another in those that find the loop in the cache.
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


@np.errstate(all="ignore")
def pulls(matrix):
    """Return the mean value of each item with all others, as doubles."""
    if matrix.exponents is None:
        return matrix.pull
    largest = matrix.lead * np.exp2(matrix.lead_exp)
    return frozen(matrix.pull * np.exp2(matrix.exponents) + largest / len(matrix.pull))


@np.errstate(all="ignore")
def base_scores(matrix, negative_weight):
    """Return the scores of all items for an empty profile.

    From another origin, a weight other than 1 leaves a part of the distances.
    """
    base = -negative_weight * matrix.pull
    if matrix.distance is not None:
        base -= (1.0 - negative_weight) * matrix.distance
    return base


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


@loop
def fill_row(out, A, ready, matrix, items, at):
    """Fill with the values of one item of a profile with all of them, except the diagonal.

    Rows of A that are ready have the value of the same pair.
    """
    dense, background, exponents = matrix.dense, matrix.background, matrix.exponents
    parts = dense, background, exponents, matrix.left, matrix.sets
    _fill_row(out, A, ready, *parts, matrix, items, at)


@loop
def _fill_row(out, A, ready, dense, background, exponents, left, sets, matrix, items, at):
    row = items[at]
    if dense is not None:
        source = dense[row]
        for t in range(len(items)):
            out[t] = source[np.uint32(items[t])]
    if background is not None:
        under = background[matrix.classes[row]]
        low, high = matrix.indptr[row], matrix.indptr[row + 1]
        for t in range(len(items)):
            if ready[t]:
                out[t] = A[t, at]
                continue
            column = items[t]
            out[t] = under[matrix.classes[column]] * matrix.share[column]
            if left is not None:
                out[t] += product(left[row], matrix.right[column])
            if sets is not None:
                out[t] += matrix.set_values[sets[row], sets[column]]
            low = place(matrix.columns, low, high, column)
            if low < high and matrix.columns[low] == column:
                out[t] += matrix.values[low]
    if exponents is not None:
        for t in range(len(items)):
            if dense is not None or not ready[t]:
                column = items[t]
                out[t] *= np.exp2(exponents[column])
                if matrix.nearest[column] == row:
                    out[t] += matrix.lead[column] * np.exp2(matrix.lead_exp[column])


@loop
def own_of(distance, item):
    """Return the value of an item with itself."""
    if distance is None:
        return 1.0
    return 2 * distance[item]


@loop
def fill_scores(scores, matrix, base, negative_weight, items, alpha):
    """Fill with the scores of all items for one profile."""
    dense, background, exponents = matrix.dense, matrix.background, matrix.exponents
    rest = base, negative_weight, items, alpha
    _fill_scores(scores, dense, background, exponents, matrix, *rest)


@loop
def _fill_scores(scores, dense, background, exponents, matrix, base, negative_weight, items, alpha):
    rows, weights = support(items, alpha)
    if dense is not None:
        for j in range(len(scores)):
            scores[j] = base[j]
        add_rows(scores, dense, rows, weights)
    if background is not None:
        _fill_by_class(scores, exponents, matrix.distance, matrix, base, rows, weights)
        _add_product(scores, matrix.left, matrix, rows, weights)
        _add_tags(scores, matrix.sets, matrix, rows, weights)
    if exponents is not None:
        _finish_scaled(scores, matrix, negative_weight, items, alpha)


@loop
def support(items, alpha):
    """Return the items of a profile that have weight, and the weights."""
    rows, weights, used = np.empty(len(items), np.int32), np.empty(len(items)), 0
    for s in range(len(items)):
        if alpha[s] != 0:
            rows[used], weights[used] = items[s], alpha[s]
            used += 1
    return rows[:used], weights[:used]


@loop
def add_background(by_class, matrix, rows, weights):
    """Add the background of rows, once for each class; return the classes of the rows."""
    return _add_by_class(by_class, matrix.background, matrix.classes, rows, weights)


@loop
def _add_by_class(by_class, values, classes, rows, weights):
    of_class = np.empty(len(rows), np.int32)
    for s in range(len(rows)):
        of_class[s] = classes[rows[s]]
    add_rows(by_class, values, of_class, weights)
    return of_class


@loop
def _fill_by_class(scores, exponents, distance, matrix, base, rows, weights):
    """Fill with the background, once for each class, and add the entries of the correction."""
    by_class = np.zeros(len(matrix.background))
    of_class = add_background(by_class, matrix, rows, weights)
    if exponents is not None:
        for j in range(len(scores)):
            scores[j] = by_class[matrix.classes[j]] * matrix.share[j] + base[j]
    else:  # shares are 1: not reading them saves a tenth of the time
        for j in range(len(scores)):
            scores[j] = by_class[matrix.classes[j]] + base[j]
    for s in range(len(rows)):
        row, weight = rows[s], weights[s]
        under = matrix.background[of_class[s], of_class[s]] * matrix.share[row]
        if exponents is None:  # scaled, the diagonal is added in the log domain
            scores[row] += weight * (own_of(distance, row) - under)
        else:
            scores[row] -= weight * under
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            scores[matrix.columns[k]] += weight * matrix.values[k]


@loop
def _add_product(scores, left, matrix, rows, weights):
    """Add the background of low rank, if any, except on the diagonal."""
    if left is not None:
        total = np.zeros(left.shape[1])
        for s in range(len(rows)):
            row, weight = left[rows[s]], weights[s]
            for t in range(len(total)):
                total[t] += weight * row[t]
            scores[rows[s]] -= weight * product(row, matrix.right[rows[s]])
        for j in range(len(scores)):
            scores[j] += product(total, matrix.right[j])


@loop
def _add_tags(scores, sets, matrix, rows, weights):
    """Add the part over tags, if any, except on the diagonal."""
    if sets is not None:
        by_set = np.zeros(len(matrix.set_values))
        of_set = _add_by_class(by_set, matrix.set_values, sets, rows, weights)
        for s in range(len(rows)):
            scores[rows[s]] -= weights[s] * matrix.set_values[of_set[s], of_set[s]]
        for j in range(len(scores)):
            scores[j] += by_set[sets[j]]


@loop
def _in_log_domain(s, exponent, floor):
    """Return sign(s)·(floor + log2|s| + exponent): it has the order of s·2^exponent."""
    if s == 0.0:
        return 0.0
    return math.copysign(max(floor + math.log2(abs(s)) + exponent, 0.0), s)


@loop
def _split_ties(scores, then):
    """Move equal scores apart by the smallest steps, in the order of ``then``."""
    size = len(scores)
    order, keys = np.empty(size, np.int32), np.empty(size)
    for j in range(size):
        order[j], keys[j] = j, then[j]
    sort_best_first(keys, order)
    places = np.empty(size, np.int32)
    for k in range(size):
        places[k], keys[k] = k, scores[order[k]]
    sort_best_first(keys, places)
    value = 0.0
    for k in range(size - 1, -1, -1):  # from the lowest score up
        item = order[places[k]]
        if k == size - 1 or keys[k] != keys[k + 1]:
            value = keys[k]
        elif then[item] > then[order[places[k + 1]]]:
            value = np.nextafter(value, np.inf)
        scores[item] = value


@loop
def _finish_scaled(scores, matrix, negative_weight, items, alpha):
    """Turn the scaled rest of scores into whole ones, in the log domain and all different.

    Two items that are nearest to each other have the same largest term in their scores: the rest
    decides their order, however small it is.
    """
    size, floor = len(scores), matrix.floor
    mine, rest = np.zeros(size), np.empty(size)
    for s in range(len(items)):
        mine[items[s]] = alpha[s]
    for j in range(size):
        rest[j] = _in_log_domain(scores[j], matrix.exponents[j], floor)
        lead_exp, near = matrix.lead_exp[j], matrix.nearest[j]
        total = scores[j] * np.exp2(matrix.exponents[j] - lead_exp)
        if near >= 0:
            total += (mine[near] - negative_weight / size) * matrix.lead[j]
        if mine[j] == 0.0:
            scores[j] = _in_log_domain(total, lead_exp, floor)
        else:  # an item has 1 with itself, which might not fit the scale of its column
            scores[j] = _in_log_domain(mine[j] + total * np.exp2(lead_exp), 0.0, floor)
    _split_ties(scores, rest)
