"""Scores of an operator that is sparse + low rank, and the best of them.

A profile's score of item j is the sum of ``values`` of its sparse rows in column j, and the product
of ``y``, the sum of its rows of the left factors, with row j of the right factors. Each number is
summed in one fixed order by one thread, so a score is the same alone and among all.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .ranking import best
from .weights import factor_of, factors_of, settled

# Columns that are worked on at a time: those of all factors fit into a cache.
_WIDTH = 256
# Scores are rounded to 2^-36 of their terms: digits of singular vectors beyond that depend on BLAS.
_GRID = 2.0**16


@ranged(lambda out, _left, _start, items, _: (len(out), out.shape[1] * len(items)))
def sum_rows(begin, end, out, left, start, items, factors):
    """Fill with the sums of the rows of each profile."""
    for k in range(begin, end):
        for t in range(out.shape[1]):
            out[k, t] = 0.0
        for s in range(start[k], start[k + 1]):
            row, factor = left[items[s]], factor_of(factors, s)
            for t in range(len(row)):
                out[k, t] += factor * row[t]


@ranged(lambda out, *_: (len(out), 2 * out.size))
def add_sparse(begin, end, out, sparse, start, items, factors):
    """Set the scores of each profile to the sums of its sparse rows."""
    for k in range(begin, end):
        row = out[k]
        for j in range(len(row)):
            row[j] = 0.0
        own, of_own = items[start[k] : start[k + 1]], factors_of(factors, start[k], start[k + 1])
        _add_rows(row, sparse, own, of_own)


@loop
def _add_rows(sums, sparse, items, factors):
    indptr, columns, values, own = sparse
    for s in range(len(items)):
        item, factor = items[s], factor_of(factors, s)
        sums[item] += factor * own[item]
        for at in range(indptr[item], indptr[item + 1]):
            sums[columns[at]] += factor * values[at]


@loop
def _clear_rows(sums, sparse, items):
    indptr, columns, _, _ = sparse
    for s in range(len(items)):
        item = items[s]
        sums[item] = 0.0
        for at in range(indptr[item], indptr[item + 1]):
            sums[columns[at]] = 0.0


@ranged(lambda out, y, *_: (-(-out.shape[1] // _WIDTH), out.size * (y.shape[1] + 1)))
def add_products(begin, end, out, y, across, norms):
    """Add the products with the right factors, which lie ``across``; settle the scores."""
    products = np.empty(_WIDTH)
    for block in range(begin, end):
        low = block * _WIDTH
        high = min(low + _WIDTH, out.shape[1])
        for k in range(len(out)):
            for j in range(high - low):
                products[j] = 0.0
            _add_rows_of(products[: high - low], y[k], across, low)
            length = _norm(y[k])
            for j in range(low, high):
                total = out[k, j] + products[j - low]
                out[k, j] = settled(total, abs(total) + length * norms[j], _GRID)


@loop
def _add_rows_of(products, y, across, low):
    """Add weighted rows, four at a time, in the order of `_product`."""
    high, whole = low + len(products), len(y) - len(y) % 4
    for t in range(0, whole, 4):
        a, b = across[t, low:high], across[t + 1, low:high]
        c, d = across[t + 2, low:high], across[t + 3, low:high]
        of_a, of_b, of_c, of_d = y[t], y[t + 1], y[t + 2], y[t + 3]
        for j in range(len(products)):
            products[j] += (of_a * a[j] + of_b * b[j]) + (of_c * c[j] + of_d * d[j])
    for t in range(whole, len(y)):
        a, of_a = across[t, low:high], y[t]
        for j in range(len(products)):
            products[j] += of_a * a[j]


@loop
def _product(y, row):
    """Return the product of two vectors, summed in the order of `_add_rows_of`."""
    product, whole = 0.0, len(y) - len(y) % 4
    for t in range(0, whole, 4):
        first = y[t] * row[t] + y[t + 1] * row[t + 1]
        product += first + (y[t + 2] * row[t + 2] + y[t + 3] * row[t + 3])
    for t in range(whole, len(y)):
        product += y[t] * row[t]
    return product


@loop
def _norm(values):
    total = 0.0
    for t in range(len(values)):
        total += values[t] * values[t]
    return np.sqrt(total)


@ranged(lambda _out, near, *_: (len(near), 4 * near.size))
def rank_near(begin, end, out, near, y, operator, profiles, request):
    """Fill with the n best items of each profile, by scores that are computed for a few.

    ``near`` has products in single precision, (u, m). An item is looked at if twice the error of
    single precision and of `settled` could lift it into the list.
    """
    chosen, scores = out
    sparse, right, norms = operator
    (start, items, factors), (hidden, hide_own) = profiles, request
    size = near.shape[1]
    row, sums = np.empty(size), np.zeros(size)
    largest = 0.0
    for j in range(size):
        largest = max(largest, norms[j])
    for k in range(begin, end):
        own = items[start[k] : start[k + 1]]
        _add_rows(sums, sparse, own, factors_of(factors, start[k], start[k + 1]))
        for j in range(size):
            row[j] = near[k, j] + sums[j]
        for h in range(len(hidden)):
            row[hidden[h]] = -np.inf
        if hide_own:
            for s in range(len(own)):
                row[own[s]] = -np.inf
        # Each factor adds a rounding of its product and of the sum, 2^-24 of the terms.
        error = (y.shape[1] + 4) * 2.0**-23 * _norm(y[k]) * largest
        _rank_few(chosen[k], scores[k], row, error, sums, y[k], right, norms, largest)
        _clear_rows(sums, sparse, own)


@loop
def _rank_few(chosen, scores, row, error, sums, y, right, norms, largest):
    """Compute the scores of items whose near score allows a place in the list; rank these."""
    n, length = len(chosen), _norm(y)
    found, highest, same = np.empty(n, np.int32), np.full(n, -np.inf), np.zeros(len(row))
    best(row, same, 0.0, n, found, highest)
    limit = np.inf
    if n > 0:  # unequal scores can be equal when settled
        grid = _GRID * 2.0**-50 * (abs(highest[n - 1]) + length * largest + error)
        limit = highest[n - 1] - 2 * (error + grid)
    few, used = np.empty(len(row), np.int32), 0
    for j in range(len(row)):
        if row[j] >= limit and row[j] > -np.inf:
            few[used] = j
            used += 1
    exact = np.empty(used)
    for c in range(used):
        j = few[c]
        total = sums[j] + _product(y, right[j])
        exact[c] = settled(total, abs(total) + length * norms[j], _GRID)
    found[:] = -1
    best(exact, same[:used], 0.0, n, found, scores)
    for place in range(n):
        if found[place] >= 0:
            chosen[place] = few[found[place]]
