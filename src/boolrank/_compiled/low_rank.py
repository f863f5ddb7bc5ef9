"""Scores of an operator that is sparse + low rank, and the best of them.

A profile's score of item j is the sum of ``values`` of its sparse rows in column j, and the product
of ``y``, the sum of its rows of the left factors, with row j of the right factors. Each number is
summed in one fixed order by one thread, so a score is the same alone and among all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler import loop, ranged
from .ranking import best
from .weights import factor_of, factors_of, settled

# Columns that are worked on at a time: those of all factors fit into a cache.
_WIDTH = 256
# Scores are rounded to 2^-36 of their terms: digits of singular vectors beyond that depend on BLAS.
_GRID = 2.0**16
# Columns of the factors that are multiplied for all items when ranking. On Gowalla the others are
# multiplied for one item in fifty.
_HEAD = 16


class Outline(NamedTuple):
    """What bounds products with the right factors.

    ``head`` are their first columns, (16, m); ``bytes`` times ``scales`` are about the others.
    ``tails`` are the norms of rows without the head, and ``missing`` those of what bytes miss.
    """

    head: NDArray[np.float32]
    bytes: NDArray[np.int8]
    scales: NDArray[np.float32]
    tails: NDArray[np.float64]
    missing: NDArray[np.float64]

    @staticmethod
    def of(right):
        """Return the outline of right factors."""
        head, tail = np.zeros((_HEAD, len(right)), np.float32), right[:, _HEAD:]
        head[: right.shape[1]] = right[:, :_HEAD].T
        scales = abs(tail).max(axis=1, initial=1e-30) / np.float32(127)
        small = np.rint(tail / scales[:, None]).astype(np.int8)
        tails = np.sqrt(np.einsum("ij,ij->i", tail, tail, dtype=np.float64))
        rest = tail - small * scales[:, None]
        missing = np.sqrt(np.einsum("ij,ij->i", rest, rest, dtype=np.float64))
        # The margins are for roundings in single precision.
        return Outline(head, small, scales, 1.001 * tails, 1.001 * missing + 1e-4 * tails)


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


@loop(fastmath={"nsz", "reassoc", "contract"})
def _coarse_product(tail, row):
    """Return the product of singles with a row of bytes."""
    product = np.float32(0.0)
    for t in range(len(row)):
        product += tail[t] * np.float32(row[t])
    return product


@loop(fastmath={"contract"})
def _add_head(row, y, head):
    """Add the products of the head, four columns at a time."""
    for t in range(0, len(head), 4):
        a, b, c, d = head[t], head[t + 1], head[t + 2], head[t + 3]
        of_a, of_b, of_c, of_d = y[t], y[t + 1], y[t + 2], y[t + 3]
        for j in range(len(row)):
            row[j] += (of_a * a[j] + of_b * b[j]) + (of_c * c[j] + of_d * d[j])


@ranged(lambda _out, y, operator, *_: (len(y), 4 * len(y) * len(operator[1])))
def rank_near(begin, end, out, y, operator, profiles, request):
    """Fill with the n best items of each profile, by scores that are computed for a few.

    The first columns of the factors, the head, are multiplied for all items. What is missing is at
    most the product of two norms. Items that it could lift into the list are multiplied in bytes;
    what is missing then is a hundredth. Only those that it could lift into the list are scored.
    ``operator`` has the sparse part, the right factors, the norms of their rows, and `Outline`.
    """
    chosen, scores = out
    sparse, right, norms, outline = operator
    (start, items, factors), (hidden, hide_own) = profiles, request
    largest, size, width = norms.max(), len(norms), y.shape[1]
    row, of_sparse, few = np.empty(size), np.empty(size), np.empty(size, np.int32)
    single = np.zeros(len(outline.head) + width, np.float32)
    for k in range(begin, end):
        own, list_, values = items[start[k] : start[k + 1]], chosen[k], scores[k]
        of_sparse[:] = 0.0
        _add_rows(of_sparse, sparse, own, factors_of(factors, start[k], start[k + 1]))
        row[:] = of_sparse
        single[:width] = y[k]
        _add_head(row, single, outline.head)
        for h in range(len(hidden)):
            row[hidden[h]] = -np.inf
        if hide_own:
            for s in range(len(own)):
                row[own[s]] = -np.inf
        best(row, row, 0.0, len(values), list_, values)
        # Each factor adds a rounding of its product and of the sum, 2^-24 of the terms; unequal
        # scores can be equal when settled.
        length, tail = _norm(y[k]), single[len(outline.head) : width]
        error = (width + 4) * 2.0**-23 * length * largest
        reach = _norm(tail) * (1 + 2.0**-20)
        limit = np.inf
        for place in range(len(values)):
            lowest = -np.inf
            if list_[place] >= 0:
                lowest = row[list_[place]] + _bound(list_[place], tail, -reach, outline)
            limit = min(limit, lowest)
        limit -= 2 * (error + _GRID * 2.0**-50 * (abs(limit) + length * largest + error))
        used = _fill_few(few, row, limit - error, tail, reach, outline)
        exact = np.empty(used)
        for c in range(used):
            j = few[c]
            total = of_sparse[j] + _product(y[k], right[j])
            exact[c] = settled(total, abs(total) + length * norms[j], _GRID)
        list_[:] = -1
        best(exact, exact, 0.0, len(values), list_, values)
        for place in range(len(values)):
            if list_[place] >= 0:
                list_[place] = few[list_[place]]


@loop
def _bound(j, tail, reach, outline):
    """Return a bound of the product without the head: an upper one, or with -reach a lower one."""
    coarse = outline.scales[j] * _coarse_product(tail, outline.bytes[j])
    return coarse + reach * outline.missing[j]


@loop
def _fill_few(few, row, limit, tail, reach, outline):
    """Fill with the items that may reach the limit, by the norms and then by the bytes."""
    used, left = 0, 0
    for j in range(len(row)):
        if row[j] + reach * outline.tails[j] >= limit and row[j] > -np.inf:
            few[used] = j
            used += 1
    for c in range(used):
        j = few[c]
        if row[j] + _bound(j, tail, reach, outline) >= limit:
            few[left] = j
            left += 1
    return left
