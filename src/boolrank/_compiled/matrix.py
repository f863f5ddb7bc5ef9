"""A kernel matrix as compiled loops see it: rows of a profile's problem, scores of all items.

Dense, all values stand in ``dense``. Compressed, ``dense`` is empty and

    K[i, j] = B[class(i), class(j)]·share[j] + S[i, j]   for i != j,   K[i, i] = 1

with all shares 1. Scaled, where values are too small for doubles, each column j is split into its
largest value, ``lead[j]·2^lead_exp[j]`` at row ``nearest[j]``, and the rest, which stands in K (or
B and S) and in ``pull``, the means of columns, times 2^exponents[j]; the diagonal is left out then.

Where values crowd near 1, the origin is moved, ``distance`` is that of each item from it, and held
is K[i, j] - 1 + distance[i] + distance[j].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .linear import add_rows
from .ranking import finish_scaled


class Arrays(NamedTuple):
    """Everything that weights and scores follow from."""

    dense: NDArray[np.float64]
    background: NDArray[np.float64]
    share: NDArray[np.float64]
    classes: NDArray[np.uint32]
    indptr: NDArray[np.int64]
    columns: NDArray[np.uint32]
    values: NDArray[np.float64]
    pull: NDArray[np.float64]
    distance: NDArray[np.float64]
    exponents: NDArray[np.float64]
    nearest: NDArray[np.int32]
    lead: NDArray[np.float64]
    lead_exp: NDArray[np.float64]
    floor: float


@njit(inline="always")
def _place(columns, low, high, column):
    """Where a column is in a sorted sparse row, or would be."""
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def fill_row(A, ready, matrix, items, at):
    """Row ``at`` of a profile's matrix: one of its items with all of them; not the diagonal.

    Rows that are ready already have the value of the same pair.
    """
    row, out = items[at], A[at]
    if len(matrix.dense) > 0:
        source = matrix.dense[row]
        for t in range(len(items)):
            out[t] = source[np.uint32(items[t])]
    else:
        background = matrix.background[matrix.classes[row]]
        low, high = matrix.indptr[row], matrix.indptr[row + 1]
        for t in range(len(items)):
            if ready[t]:
                out[t] = A[t, at]
                continue
            column = items[t]
            out[t] = background[matrix.classes[column]] * matrix.share[column]
            low = _place(matrix.columns, low, high, column)
            if low < high and matrix.columns[low] == column:
                out[t] += matrix.values[low]
    if len(matrix.exponents) > 0:
        for t in range(len(items)):
            if len(matrix.dense) > 0 or not ready[t]:
                column = items[t]
                out[t] *= np.exp2(matrix.exponents[column])
                if matrix.nearest[column] == row:
                    out[t] += matrix.lead[column] * np.exp2(matrix.lead_exp[column])


@njit(cache=True)
def pull_of(matrix, item):
    """What counts against an item, as a double."""
    pull = matrix.pull[item]
    if len(matrix.exponents) > 0:
        largest = matrix.lead[item] * np.exp2(matrix.lead_exp[item])
        pull = pull * np.exp2(matrix.exponents[item]) + largest / len(matrix.pull)
    return pull


@njit(cache=True)
def own_of(matrix, item):
    """The value of an item with itself."""
    return 1.0 if len(matrix.distance) == 0 else 2 * matrix.distance[item]


@njit(cache=True)
def base_scores(matrix, negative_weight):
    """Scores of all items, before anything speaks for them.

    From another origin, a weight that is not 1 leaves a part of the items' distances from it.
    """
    base = -negative_weight * matrix.pull
    if len(matrix.distance) > 0:
        base -= (1.0 - negative_weight) * matrix.distance
    return base


@njit(cache=True)
def fill_scores(scores, matrix, base, negative_weight, items, alpha):
    """Scores of all items for one profile, from their base."""
    used = np.flatnonzero(alpha)
    rows, weights = items[used], alpha[used]
    if len(matrix.dense) > 0:
        scores[:] = base
        add_rows(scores, matrix.dense, rows, weights)
    else:
        _fill_by_class(scores, matrix, base, rows, weights)
    if len(matrix.exponents) > 0:
        finish_scaled(scores, matrix, negative_weight, items, alpha)


@njit(cache=True)
def _fill_by_class(scores, matrix, base, rows, weights):
    """The background, once for each class, and the entries of the correction."""
    by_class = np.zeros(len(matrix.background))
    add_rows(by_class, matrix.background, matrix.classes[rows], weights)
    if len(matrix.exponents) > 0:
        for j in range(len(scores)):
            scores[j] = by_class[matrix.classes[j]] * matrix.share[j] + base[j]
    else:  # shares are 1, and not to read them saves a tenth of the time
        for j in range(len(scores)):
            scores[j] = by_class[matrix.classes[j]] + base[j]
    # The diagonal is known, whatever the background says; scaled, it comes in the log domain.
    for s in range(len(rows)):
        row, weight = rows[s], weights[s]
        under = matrix.background[matrix.classes[row], matrix.classes[row]]
        own = own_of(matrix, row) if len(matrix.exponents) == 0 else 0.0
        scores[row] += weight * (own - under * matrix.share[row])
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            scores[matrix.columns[k]] += weight * matrix.values[k]
