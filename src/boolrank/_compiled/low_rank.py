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
from .ranking import CHUNK, best, highest, nth_highest
from .vectors import copy_to
from .weights import factor_of, settled

# Columns that are worked on at a time: those of all factors fit into a cache.
_WIDTH = 256
# Scores are rounded to 2^-36 of their terms, so that sums which differ by rounding alone are ties.
GRID = 2.0**16
# Columns of the factors that are multiplied for all items when ranking, and the next ones, for
# items that could be in the list: one in fifty on Gowalla. A fifth of these need the others.
_HEAD, _NEXT = 16, 112
# Profiles, and items, whose heads are multiplied together: the head of all is larger than a cache.
_TOGETHER, _NEAR = 8, 1024
# Items, for each in a list, of which the best lower bounds are taken.
_LIKELY = 2
# Items that are ruled out at once.
_FEW = 16
# Roundings in single precision: of a few sums, of a product and its sum, and of what is too small.
_SUMS, _TERM, _TINY = 2.0**-21, 2.0**-23, 2.0**-126


class Outline(NamedTuple):
    """What bounds products with the right factors: their columns in three parts.

    ``head`` are the first, (16, m); ``next`` and ``last`` times ``scales`` are about the others.
    ``tails`` are the norms of rows without the head, ``ends`` those of the last part, and
    ``missing`` and ``missing_all`` those of what bytes miss of the next part and of both.
    """

    head: NDArray[np.float32]
    next: NDArray[np.int8]
    last: NDArray[np.int8]
    scales: NDArray[np.float32]
    tails: NDArray[np.float32]
    ends: NDArray[np.float64]
    missing: NDArray[np.float64]
    missing_all: NDArray[np.float64]

    @staticmethod
    def of(right):
        """Return the outline of right factors."""
        head, (m, width) = np.zeros((_HEAD, len(right)), np.float32), right.shape
        head[:width] = right[:, :_HEAD].T
        after = min(_NEXT, max(width - _HEAD, 0))
        next_ = np.empty((m, after), np.int8)
        last = np.empty((m, max(width - _HEAD - after, 0)), np.int8)
        scales, (tails, ends, missing, missing_all) = np.empty(m, np.float32), np.empty((4, m))
        for first in range(0, m, _NEAR):  # new memory is slow, and temporary blocks stay in a cache
            rows = slice(first, first + _NEAR)
            tail = right[rows, _HEAD:]
            scales[rows] = abs(tail).max(axis=1, initial=1e-30) / np.float32(127)
            small = np.rint(tail / scales[rows, None])
            next_[rows], last[rows] = small[:, :after], small[:, after:]
            rest = tail - small * scales[rows, None]
            tails[rows], ends[rows] = _norms(tail), _norms(tail[:, after:])
            missing[rows], missing_all[rows] = _norms(rest[:, :after]), _norms(rest)
        # The margins are for roundings in single precision.
        missing, missing_all = (1.001 * each + 1e-4 * tails for each in (missing, missing_all))
        bounds = (1.001 * tails).astype(np.float32), 1.001 * ends, missing, missing_all
        return Outline(head, next_, last, scales, *bounds)


def _norms(rows):
    return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


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
        own, of_own = items[start[k] : start[k + 1]], factors[start[k] : start[k + 1]]
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
def add_products(begin, end, out, y, across, norms, grid):
    """Add the products with the right factors, which lie ``across``; settle scores on a grid."""
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
                out[k, j] = settled(total, abs(total) + length * norms[j], grid)


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
        total += np.float64(values[t]) * values[t]  # the square of a single may be 0 in singles
    return np.sqrt(total)


@loop(fastmath={"nsz", "reassoc", "contract"})
def _coarse_product(tail, row):
    """Return the product of singles with a row of bytes."""
    product = np.float32(0.0)
    for t in range(len(row)):
        product += tail[t] * np.float32(row[t])
    return product


@loop(fastmath={"contract"})
def _fill_heads(near, y, head):
    """Fill with the products of the head, four of its columns and some items at a time."""
    for low in range(0, near.shape[1], _NEAR):
        high = min(low + _NEAR, near.shape[1])
        for k in range(len(y)):
            row = near[k, low:high]
            row[:] = 0.0
            for t in range(0, len(head), 4):
                a, b = head[t, low:high], head[t + 1, low:high]
                c, d = head[t + 2, low:high], head[t + 3, low:high]
                of_a, of_b, of_c, of_d = y[k, t], y[k, t + 1], y[k, t + 2], y[k, t + 3]
                for j in range(len(row)):
                    row[j] += (of_a * a[j] + of_b * b[j]) + (of_c * c[j] + of_d * d[j])


@ranged(lambda _out, y, operator, *_: (len(y), 4 * len(y) * len(operator[1])))
def rank_near(begin, end, out, y, operator, profiles, request):
    """Fill with the n best items of each profile, by scores that are computed for a few.

    Scores are bounded in three steps, and an item that cannot reach the list is dropped at each:

    1. The sparse part, plus the product of the first columns of the factors (the head), for all
       items. The rest of the product is at most the product of two norms.
    2. The product with the next columns, stored as bytes.
    3. The product with the last columns, stored as bytes.

    The items that remain are scored in double precision. The limit of a list is the n-th highest
    lower bound among the most likely items.

    ``operator`` has the sparse part, the right factors, the norms of their rows, and `Outline`.
    Profiles are taken in the order given: neighbours should read the same long rows.

    Bounds are in single precision, with u = 2^-24. Let N be a sum of the sparse part and the head,
    and P = |y|·|r| the largest product. N is off by u·|N| + 20u·P, the bounds that `_fill_few` adds
    to it by 4u·(|N| + 2P) and (width + 4)·2u·P. An item that can be listed has an N between the
    limit less P and the highest N, so |N| is at most ``most`` + P. Numbers below 2^-126 lose
    digits, at most that much for each factor of either side.
    """
    chosen, scores = out
    sparse, right, norms, outline = operator
    (start, items, factors), (hidden, hide_own, order) = profiles, request
    largest, size, width, n = norms.max(), len(norms), y.shape[1], chosen.shape[1]
    if n == 0:
        return
    likely, lowest = np.empty(_LIKELY * n, np.int32), np.empty(_LIKELY * n)
    of_sparse, few = np.empty(size), np.empty(size, np.int32)
    near, tops = np.empty(size, np.float32), np.empty(-(-size // CHUNK), np.float32)
    nothing = np.zeros(size)
    for h in range(len(hidden)):
        nothing[hidden[h]] = -np.inf
    heads = np.empty((_TOGETHER, size), np.float32)
    singles = np.zeros((_TOGETHER, len(outline.head) + width), np.float32)
    for number in range(begin, end):
        k, at = order[number], (number - begin) % _TOGETHER
        if at == 0:
            several = min(_TOGETHER, end - number)
            for s in range(several):
                copy_to(singles[s], y[order[number + s]])
            _fill_heads(heads[:several], singles[:several], outline.head)
        own, list_, values = items[start[k] : start[k + 1]], chosen[k], scores[k]
        copy_to(of_sparse, nothing)
        _add_rows(of_sparse, sparse, own, factors[start[k] : start[k + 1]])
        if hide_own:
            for s in range(len(own)):
                of_sparse[own[s]] = -np.inf
        _fill_near(near, tops, of_sparse, heads[at])
        found = highest(near, tops, len(likely), likely, lowest)
        most = abs(lowest[0]) if found > 0 else 0.0
        length, tail = _norm(y[k]), singles[at, len(outline.head) : width]
        reach = _norm(tail) * (1 + 2.0**-20)
        for place in range(found):
            j = likely[place]
            lowest[place] = near[j] + _at_least(j, tail, reach, outline)
        limit = nth_highest(lowest[:found], n)
        most = max(most, abs(limit)) if found > 0 else 0.0
        product = length * largest
        error = (width + 4) * (_TERM * product + _TINY * (length + largest + 1))
        error += _SUMS * (most + product)
        # Unequal scores can be equal when settled.
        limit -= 2 * (error + GRID * 2.0**-50 * (abs(limit) + product + error))
        used = _fill_few(few, near, limit - error, tail, reach, outline)
        exact = np.empty(used)
        for c in range(used):
            j = few[c]
            total = of_sparse[j] + _product(y[k], right[j])
            exact[c] = settled(total, abs(total) + length * norms[j], GRID)
        best(exact, exact, 0.0, n, list_, values)
        for place in range(n):
            if list_[place] >= 0:
                list_[place] = few[list_[place]]


@loop(fastmath={"nnan", "nsz", "contract"})  # as vectors
def _fill_near(near, tops, of_sparse, heads):
    """Fill with sums in single precision, and with the largest of each chunk."""
    for c in range(len(tops)):
        low, high = c * CHUNK, min((c + 1) * CHUNK, len(near))
        part, of_part, of_heads = near[low:high], of_sparse[low:high], heads[low:high]
        top = np.float32(-np.inf)
        for j in range(len(part)):
            value = np.float32(of_part[j] + of_heads[j])
            part[j] = value
            top = max(top, value)
        tops[c] = top


@loop
def _fill_few(few, row, limit, tail, reach, outline):
    """Fill with the items that may reach the limit: by norms, and by the two parts of bytes."""
    width = outline.next.shape[1]
    end, used, left = _norm(tail[width:]) * (1 + 2.0**-20), 0, 0
    single = np.float32(reach)
    for low in range(0, len(row), _FEW):
        high = min(low + _FEW, len(row))
        if _highest(row[low:high], outline.tails[low:high], single) >= limit:
            for j in range(low, high):
                if row[j] + single * outline.tails[j] >= limit and row[j] > -np.inf:
                    few[used] = j
                    used += 1
    for c in range(used):
        j = few[c]
        near = row[j] + outline.scales[j] * _coarse_product(tail[:width], outline.next[j])
        if near + reach * outline.missing[j] + end * outline.ends[j] >= limit:
            near += outline.scales[j] * _coarse_product(tail[width:], outline.last[j])
            if near + reach * outline.missing_all[j] >= limit:
                few[left] = j
                left += 1
    return left


@loop(fastmath={"nnan", "nsz", "contract"})  # as vectors
def _highest(row, tails, reach):
    top = np.float32(-np.inf)
    for j in range(len(row)):
        top = max(top, row[j] + reach * tails[j])
    return top


@loop
def _at_least(j, tail, reach, outline):
    """Return a lower bound of the product without the head."""
    width = outline.next.shape[1]
    coarse = _coarse_product(tail[:width], outline.next[j])
    coarse += _coarse_product(tail[width:], outline.last[j])
    return outline.scales[j] * coarse - reach * outline.missing_all[j]
