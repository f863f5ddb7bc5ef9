"""A kernel matrix in compiled loops: its arrays, and the rows of a profile's problem.

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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler import loop, ranged
from .ranges import frozen
from .vectors import place, product


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


def pulls(matrix):
    """Return the mean value of each item with all others, as doubles."""
    if matrix.exponents is None:
        return matrix.pull
    with np.errstate(all="ignore"):
        largest = matrix.lead * np.exp2(matrix.lead_exp)
        return frozen(matrix.pull * np.exp2(matrix.exponents) + largest / len(matrix.pull))


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
