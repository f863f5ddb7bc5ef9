"""Items and users as means of each other: products with the interactions, a few columns at a time.

Each number is written by one thread and added up in the order of the rows, so the number of threads
changes no bit.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from .loops import parallel

# Columns that are worked on at a time: 8 lines of a cache.
_WIDTH = 64


@parallel
def squared_lengths(out, kernel, start, items):
    """Fill with Σ kernel[i, j] over the items i and j of each user."""
    for user in prange(len(out)):
        own = items[start[user] : start[user + 1]]
        total = 0.0
        for i in own:
            row = kernel[i]
            for j in own:
                total += row[j]
        out[user] = total


@parallel
def carried(out, kernel, start, items, scale, item_start, users):
    """Fill with (A·kernel)ᵀ, A = Xᵀ·H·diag(scale)·X: X has users by items, H takes off the mean."""
    m, n = len(kernel), len(scale)
    for block in prange((m + _WIDTH - 1) // _WIDTH):
        first = block * _WIDTH
        width = min(_WIDTH, m - first)
        of_users, mean = np.zeros((n, width)), np.zeros(width)
        for user in range(n):
            mine = of_users[user]
            for k in range(start[user], start[user + 1]):
                row = kernel[items[k]]
                for j in range(width):
                    mine[j] += row[first + j]
            for j in range(width):
                mine[j] *= scale[user]
                mean[j] += mine[j]
        mean /= n
        of_items = np.empty((_WIDTH, width))
        for begin in range(0, m, _WIDTH):
            end = min(begin + _WIDTH, m)
            for item in range(begin, end):
                total = of_items[item - begin]
                total[:] = 0.0
                for k in range(item_start[item], item_start[item + 1]):
                    mine = of_users[users[k]]
                    for j in range(width):
                        total[j] += mine[j] - mean[j]
            # A tile at a time: single numbers of far rows would each fetch a line of the cache.
            for j in range(width):
                for item in range(begin, end):
                    out[first + j, item] = of_items[item - begin, j]
