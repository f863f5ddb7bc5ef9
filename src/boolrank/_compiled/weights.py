"""Weights of items for items: filled from counts, made whole from a triangle, added up by profile.

Item i of a profile adds ``weights[i, j]`` to the score of item j. Each number is written by one
thread and added up in the order of the profile, so the number of threads changes no bit.
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
def fill_from_dense(out, counts, n_parts):
    """Fill the upper triangle from that of a dense matrix."""
    for part in prange(n_parts):
        for i in range(part, len(out), n_parts):
            for j in range(i, len(out)):
                out[i, j] = counts[i, j]


@parallel
def fill_from_rows(out, sizes, indptr, columns, counts, n_parts):
    """Fill the upper triangle from compressed sparse rows without a diagonal, and the sizes."""
    for part in prange(n_parts):
        for i in range(part, len(out), n_parts):
            out[i, i:] = 0
            out[i, i] = sizes[i]
            for k in range(indptr[i], indptr[i + 1]):
                if columns[k] > i:
                    out[i, columns[k]] = counts[k]


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
def add_up(out, values, start, items, grid):
    """Fill ``out`` with the sums of the rows of each profile, settled."""
    size = out.shape[1]
    for block in prange((size + _WIDTH - 1) // _WIDTH):
        low = block * _WIDTH
        width = min(_WIDTH, size - low)
        total, terms = np.empty(width), np.empty(width)
        for k in range(len(out)):
            total[:] = 0.0
            terms[:] = 0.0
            _add(total, terms, values[:, low : low + width], items[start[k] : start[k + 1]])
            for j in range(width):
                out[k, low + j] = settled(total[j], terms[j], grid)


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
