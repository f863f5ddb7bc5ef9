"""Item-to-item weights, dense and sparse: filled from counts, summed by profile.

Dense, an item of group g adds ``values[g, h]`` to the score of each item of group h except itself.
``factors`` are weights of the entries of profiles; without any, all are 1. Each number is summed in
the order of the profile by one thread.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged

# Columns that are worked on at a time: those of all rows fit into a cache.
_WIDTH = 256
_TILE = 64
# Sums of the same terms in another order differ by less than this leaves: 2^-44 of them.
SUMS = 2.0**8


@loop
def settled(total, terms, grid):
    """Round a sum to a small part of its terms: equal sums come out equal in any order."""
    return (total + terms * grid) - terms * grid


@loop
def factor_of(factors, entry):
    """Return the weight of an entry of the profiles."""
    return factors[entry] if len(factors) > 0 else 1.0


@ranged(lambda out, *_: (len(out), out.size))
def fill_from_dense(start, stop, out, rows, columns, counts, triangle):
    """Fill with the counts of some items with others from a dense matrix of all.

    For a triangle, only the diagonal and the values to its right.
    """
    for i in range(start, stop):
        row = counts[rows[i]]
        for j in range(i if triangle else 0, len(columns)):
            out[i, j] = row[columns[j]]


@ranged(lambda out, *_: (len(out), out.size))
def fill_from_rows(start, stop, out, rows, places, sizes, indptr, columns, counts, triangle):
    """Do the same from compressed sparse rows without a diagonal, and the sizes.

    ``places`` has the column of each item, or -1; each row's item has one.
    """
    for i in range(start, stop):
        item, first = rows[i], i if triangle else 0
        for j in range(first, out.shape[1]):
            out[i, j] = 0
        out[i, places[item]] = sizes[item]
        for k in range(indptr[item], indptr[item + 1]):
            if places[columns[k]] >= first:
                out[i, places[columns[k]]] = counts[k]


@ranged(lambda values, *_: (-(-len(values) // _TILE), values.size))
def spread(start, stop, values, rows, columns, diagonal):
    """Turn the upper triangle of a symmetric matrix P into P[i, j]·rows[i]·columns[j], everywhere.

    The diagonal is set. A tile and the one across are written together, as both are read then.
    """
    size = len(values)
    tiles = (size + _TILE - 1) // _TILE
    for a in range(start, stop):
        for b in range(a, tiles):
            for i in range(a * _TILE, min((a + 1) * _TILE, size)):
                for j in range(max(b * _TILE, i + 1), min((b + 1) * _TILE, size)):
                    value = values[i, j]
                    values[i, j] = value * (rows[i] * columns[j])
                    values[j, i] = value * (rows[j] * columns[i])
        for i in range(a * _TILE, min((a + 1) * _TILE, size)):
            values[i, i] = diagonal[i]


@ranged(lambda _out, values, _start, rows, *_: (-(-len(values) // _WIDTH), rows.size * len(values)))
def add_up(begin, end, out, values, start, rows, factors, group, first, members, grid):
    """Fill ``out`` with the settled sums of the rows of each profile, for all items of a group."""
    total, terms = np.empty(_WIDTH), np.empty(_WIDTH)
    for block in range(begin, end):
        low = block * _WIDTH
        width = min(_WIDTH, len(values) - low)
        for k in range(len(out)):
            for j in range(width):
                total[j] = terms[j] = 0.0
            own, of_own = rows[start[k] : start[k + 1]], factors[start[k] : start[k + 1]]
            _add(total[:width], terms[:width], values, low, own, of_own)
            for j in range(width):
                total[j] = settled(total[j], terms[j], grid)
            for at in range(first[low], first[low + width]):
                j = members[at]
                out[k, j] = total[group[j] - low]


@loop
def _add(total, terms, values, low, rows, factors):
    """Add rows from a column on, four at a time: the sums are read and written less often."""
    high = low + len(total)
    if len(factors) > 0:
        for s in range(len(rows)):
            a, factor = values[rows[s], low:high], factors[s]
            for j in range(len(total)):
                total[j] += factor * a[j]
                terms[j] += factor * abs(a[j])
        return
    whole = len(rows) - len(rows) % 4
    for s in range(0, whole, 4):
        a, b = values[rows[s], low:high], values[rows[s + 1], low:high]
        c, d = values[rows[s + 2], low:high], values[rows[s + 3], low:high]
        for j in range(len(total)):
            total[j] += (a[j] + b[j]) + (c[j] + d[j])
            terms[j] += (abs(a[j]) + abs(b[j])) + (abs(c[j]) + abs(d[j]))
    for s in range(whole, len(rows)):
        a = values[rows[s], low:high]
        for j in range(len(total)):
            total[j] += a[j]
            terms[j] += abs(a[j])


@ranged(lambda out, _values, start, *_: (len(out), (np.diff(start) ** 2).sum()))
def add_up_own(begin, end, out, values, start, items, factors, group, first, own, grid):
    """Do the same for the items of each profile that are not alone in their groups.

    An item adds ``own`` to itself, which differs from what it adds to the others of its group.
    What other groups add is summed once per group: a profile may be one large group.
    """
    groups = len(first) - 1
    known, weight = np.full(groups, -1), np.empty(groups)
    totals, sums = np.empty(groups), np.empty(groups)
    for k in range(begin, end):
        low, high = start[k], start[k + 1]
        # Factors of the others of the group, before and after each item.
        others = np.zeros(high - low)
        weight[group[items[low:high]]] = 0.0
        for t in range(low, high):
            g = group[items[t]]
            others[t - low] = weight[g]
            weight[g] += factor_of(factors, t)
        weight[group[items[low:high]]] = 0.0
        for t in range(high - 1, low - 1, -1):
            g = group[items[t]]
            others[t - low] += weight[g]
            weight[g] += factor_of(factors, t)
        for s in range(low, high):
            g = group[items[s]]
            if first[g + 1] - first[g] == 1:
                continue
            if known[g] != k:
                known[g] = k
                totals[g] = sums[g] = 0.0
                for t in range(low, high):
                    h = group[items[t]]
                    if h != g:
                        totals[g] += factor_of(factors, t) * values[h, g]
                        sums[g] += factor_of(factors, t) * abs(values[h, g])
            alike, mine = others[s - low] * values[g, g], factor_of(factors, s) * own[g]
            terms = sums[g] + (abs(alike) + abs(mine))
            out[k, items[s]] = settled(totals[g] + alike + mine, terms, grid)


@ranged(lambda out, own, *_: (len(own), 20 * len(out)))
def fill_similarities(start, stop, out, own, other, locality, indptr, columns, counts):
    """Fill with (c_ij·own[i]·other[j])^locality for each pair of items that share users."""
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            value = counts[k] * own[i] * other[columns[k]]
            if locality != 1:  # a power takes ten times as long as the rest
                value = value**locality
            out[k] = value


@ranged(lambda out, *_: (len(out), 2 * out.size))
def add_up_sparse(begin, end, out, base, indptr, columns, values, start, items, factors):
    """Fill ``out`` with the settled sums of the rows of each profile, on top of a base."""
    for k in range(begin, end):
        row = out[k]
        for j in range(len(row)):
            row[j] = base[j]
        for s in range(start[k], start[k + 1]):
            factor = factor_of(factors, s)
            for t in range(indptr[items[s]], indptr[items[s] + 1]):
                row[columns[t]] += factor * values[t]
        for j in range(len(row)):
            row[j] = settled(row[j], row[j], SUMS)
