"""Features of pairs in cells, as doubles: from tables, and clauses of the features in cells.

Tables are sums hi + lo of two doubles, so that differences keep their digits.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop
from .draws import add


@loop
def _sum(a, b, c):
    """Return a + b + c, given as pairs, as a double that is not negative."""
    hi, lo = add(a[0], a[1], b[0], b[1])
    hi, lo = add(hi, lo, c[0], c[1])
    return max(hi + lo, 0.0)


@loop
def _at(table, k):
    return table[0, k], table[1, k]


@loop
def _less(table, k):
    return -table[0, k], -table[1, k]


@loop
def leaf_cells(n, x, z, c, form, start, there, lacking, out):
    """Fill rows of `out` with features true of both, of x alone, of z alone, and of neither.

    Form 0 depends on common variables, 1 on the union, 2 on those on which the vectors agree.
    ``there`` has the features of vectors with themselves, ``lacking`` those that they lack; of form
    2, those of pairs, from ``start`` on. Form 3 counts variables. Return whether all counts are
    possible.
    """
    signs = np.int64(0)
    for j in range(len(c)):
        signs |= c[j] | (x[j] - c[j]) | (z[j] - c[j]) | (n - (x[j] + z[j] - c[j]))
    if signs < 0:
        return False
    nothing = (0.0, 0.0)
    for j in range(len(c)):
        # The smaller vector first: sums are the same to the last digit for (x, z) and (z, x).
        a, b, k = min(x[j], z[j]), max(x[j], z[j]), c[j]
        u = a + b - k
        if form == 0:
            out[0, j] = there[0, k]
            out[1, j] = _sum(_at(there, a), _less(there, k), nothing)
            out[2, j] = _sum(_at(there, b), _less(there, k), nothing)
            out[3, j] = _sum(_at(lacking, a), _less(there, b), _at(there, k))
        elif form == 1:
            out[0, j] = _sum(_at(there, a), _at(there, b), _less(there, u))
            out[1, j] = _sum(_at(lacking, b), _less(lacking, u), nothing)
            out[2, j] = _sum(_at(lacking, a), _less(lacking, u), nothing)
            out[3, j] = lacking[0, u]
        elif form == 2:
            s = n - u + k - start
            alone = _sum(_at(there, n - start), _less(there, s), nothing)
            out[0, j], out[1, j], out[2, j] = there[0, s], alone, alone
            out[3, j] = lacking[0, s]
        else:
            out[0, j], out[1, j], out[2, j], out[3, j] = k, a - k, b - k, n - u
    return True


# Pairs that are computed together, so that each step is one vector instruction for several.
_LANES = 64


@loop
def _binomials(k, inverse, rows):
    """Fill rows with C(k, j) for j = 0, 1, ...: falling powers, times 1/j!."""
    for p in range(_LANES):
        rows[0, p] = 1.0
    for j in range(1, len(rows)):
        for p in range(_LANES):
            rows[j, p] = rows[j - 1, p] * max(k[p] - (j - 1), 0.0)
    for j in range(2, len(rows)):
        for p in range(_LANES):
            rows[j, p] *= inverse[j]


@loop
def _add_products(total, a, i, b, j):
    for p in range(_LANES):
        total[p] += a[i, p] * b[j, p]


@loop
def _add_product(total, a, i, b):
    for p in range(_LANES):
        total[p] += a[i, p] * b[p]


@loop
def clause(cells, least, size, out):
    """Fill with the subsets of `size` things with at least `least` true of x, and as many of z.

    All terms are positive: i things are true of both, j of x alone, q of z alone.
    """
    factorial, inverse = 1.0, np.ones(size + 1)
    for j in range(2, size + 1):
        factorial *= j
        inverse[j] = 1.0 / factorial
    rows, others = np.empty((4, size + 1, _LANES)), np.empty((size - least + 1, _LANES))
    both, only_x, only_z, neither = rows[0], rows[1], rows[2], rows[3]
    counts, sums = np.zeros((5, _LANES)), np.empty((2, _LANES))
    not_both, total, ways = counts[4], sums[0], sums[1]
    most = size - least
    ending = np.empty((most + 1, _LANES))
    first = max(2 * least - size, 0)
    for start in range(0, len(out), _LANES):
        width = min(_LANES, len(out) - start)
        for cell in range(4):
            for p in range(width):
                counts[cell, p] = cells[cell, start + p]
        for p in range(width):
            not_both[p] = (counts[1, p] + counts[2, p]) + counts[3, p]
        _binomials(counts[0], inverse, both)
        _binomials(not_both, inverse, others)
        total[:] = 0.0
        for i in range(least, size + 1):
            _add_products(total, both, i, others, size - i)
        if first < least:
            for cell in range(1, 4):
                _binomials(counts[cell], inverse, rows[cell])
        ending[:] = 0.0
        for i in range(first, least):
            # With need things or more of z alone: from i to the next, need is one less.
            need, highest = least - i, least - i if i > first else most
            for rest in range(need, most + 1):
                for q in range(need, min(highest, rest) + 1):
                    _add_products(ending[rest], only_z, q, neither, rest - q)
            ways[:] = 0.0
            for j in range(need, most + 1):
                _add_products(ways, only_x, j, ending, size - i - j)
            _add_product(total, both, i, ways)
        for p in range(width):
            out[start + p] = total[p]
