"""Weights of items for items: filled from counts, made whole from a triangle, added up by profile.

An item of group g adds ``values[g, h]`` to the score of each item of group h, but for itself. Each
number is written by one thread and added up in the order of the profile, so the number of threads
changes no bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .loops import parallel

# Columns that are worked on at a time: of all rows, they fit into a cache.
_WIDTH = 256
_TILE = 64
# Sums of the same terms in another order differ by less than what this leaves: 2^-44 of them.
SUMS = 2.0**8


@njit(inline="always")
def settled(total, terms, grid):
    """A sum, rounded to a small part of its terms: sums that are equal by right come out equal."""
    return (total + terms * grid) - terms * grid


@parallel
def fill_from_dense(out, rows, columns, counts, triangle, n_parts):
    """Fill with the counts of some items with others from a dense matrix of all.

    Of a triangle, only what is right of the diagonal, and the diagonal.
    """
    for part in prange(n_parts):
        for i in range(part, len(rows), n_parts):
            row = counts[rows[i]]
            for j in range(i if triangle else 0, len(columns)):
                out[i, j] = row[columns[j]]


@parallel
def fill_from_rows(out, rows, places, sizes, indptr, columns, counts, triangle, n_parts):
    """The same from compressed sparse rows without a diagonal, and the sizes.

    ``places`` has the column of each item, or less than 0; that of a row has one.
    """
    for part in prange(n_parts):
        for i in range(part, len(rows), n_parts):
            item, first = rows[i], i if triangle else 0
            out[i, first:] = 0
            out[i, places[item]] = sizes[item]
            for k in range(indptr[item], indptr[item + 1]):
                if places[columns[k]] >= first:
                    out[i, places[columns[k]]] = counts[k]


@parallel
def write_block(out, row, column, values, n_parts):
    """Write a block of values from a row and a column on: by all threads, as pages are new."""
    for part in prange(n_parts):
        for i in range(part, len(values), n_parts):
            target = out[row + i]
            for j in range(values.shape[1]):
                target[column + j] = values[i, j]


@parallel
def spread(values, rows, columns, diagonal, n_parts):
    """From the upper triangle of a symmetric matrix P to P[i, j]·rows[i]·columns[j], everywhere.

    The diagonal is set. A tile and the one across are written together, as both are read then.
    """
    size = len(values)
    tiles = (size + _TILE - 1) // _TILE
    for part in prange(n_parts):
        for a in range(part, tiles, n_parts):
            for b in range(a, tiles):
                for i in range(a * _TILE, min((a + 1) * _TILE, size)):
                    for j in range(max(b * _TILE, i + 1), min((b + 1) * _TILE, size)):
                        value = values[i, j]
                        values[i, j] = value * (rows[i] * columns[j])
                        values[j, i] = value * (rows[j] * columns[i])
            for i in range(a * _TILE, min((a + 1) * _TILE, size)):
                values[i, i] = diagonal[i]


@parallel
def add_up(out, values, start, rows, group, first, members, grid):
    """Fill ``out`` with the sums of the rows of each profile, settled, for all items of a group."""
    size = len(values)
    for block in prange((size + _WIDTH - 1) // _WIDTH):
        low = block * _WIDTH
        width = min(_WIDTH, size - low)
        total, terms = np.empty(width), np.empty(width)
        for k in range(len(out)):
            total[:] = 0.0
            terms[:] = 0.0
            _add(total, terms, values[:, low : low + width], rows[start[k] : start[k + 1]])
            for j in range(width):
                total[j] = settled(total[j], terms[j], grid)
            for j in members[first[low] : first[low + width]]:
                out[k, j] = total[group[j] - low]


@parallel
def add_up_own(out, values, start, items, group, first, own, grid):
    """The same for the items of each profile that are not alone in their groups.

    What an item adds to itself, ``own``, is not what it adds to the others of its group.
    """
    for k in prange(len(out)):
        profile = items[start[k] : start[k + 1]]
        for item in profile:
            g = group[item]
            if first[g + 1] - first[g] > 1:
                total, terms, others = 0.0, 0.0, -1
                for i in profile:
                    if group[i] == g:
                        others += 1
                    else:
                        total += values[group[i], g]
                        terms += abs(values[group[i], g])
                alike = others * values[g, g]
                terms += abs(alike) + abs(own[g])
                out[k, item] = settled(total + alike + own[g], terms, grid)


@njit(cache=True)
def _add(total, terms, values, rows):
    """Four rows at a time, so that the sums are read and written less often."""
    whole = len(rows) - len(rows) % 4
    for s in range(0, whole, 4):
        a, b, c, d = values[rows[s]], values[rows[s + 1]], values[rows[s + 2]], values[rows[s + 3]]
        for j in range(len(total)):
            total[j] += (a[j] + b[j]) + (c[j] + d[j])
            terms[j] += (abs(a[j]) + abs(b[j])) + (abs(c[j]) + abs(d[j]))
    for s in range(whole, len(rows)):
        a = values[rows[s]]
        for j in range(len(total)):
            total[j] += a[j]
            terms[j] += abs(a[j])
