"""Items and users as means of each other: products with the interactions, a few columns at a time.

Each number is summed in the order of the rows by one thread.
"""

from __future__ import annotations

import numpy as np

from .compiler import ranged

# Columns that are worked on at a time: 8 lines of a cache.
_WIDTH = 64


@ranged(lambda out, _kernel, start, _items: (len(out), (np.diff(start) ** 2).sum()))
def squared_lengths(begin, end, out, kernel, start, items):
    """Fill with Σ kernel[i, j] over the items i and j of each user."""
    for user in range(begin, end):
        total = 0.0
        for s in range(start[user], start[user + 1]):
            row = kernel[items[s]]
            for t in range(start[user], start[user + 1]):
                total += row[items[t]]
        out[user] = total


@ranged(lambda out, _kernel, _start, items, *_: (-(-len(out) // _WIDTH), len(items) * len(out)))
def carried(start_block, stop_block, out, kernel, start, items, scale, item_start, users):
    """Fill with (A·kernel)ᵀ, A = Xᵀ·H·diag(scale)·X: X has users by items, H subtracts the mean."""
    m, n = len(kernel), len(scale)
    of_users, mean, of_items = np.empty((n, _WIDTH)), np.empty(_WIDTH), np.empty((_WIDTH, _WIDTH))
    for block in range(start_block, stop_block):
        first = block * _WIDTH
        width = min(_WIDTH, m - first)
        for j in range(width):
            mean[j] = 0.0
        for user in range(n):
            mine = of_users[user]
            for j in range(width):
                mine[j] = 0.0
            for k in range(start[user], start[user + 1]):
                row = kernel[items[k]]
                for j in range(width):
                    mine[j] += row[first + j]
            for j in range(width):
                mine[j] *= scale[user]
                mean[j] += mine[j]
        for j in range(width):
            mean[j] /= n
        for begin in range(0, m, _WIDTH):
            end = min(begin + _WIDTH, m)
            for item in range(begin, end):
                total = of_items[item - begin]
                for j in range(width):
                    total[j] = 0.0
                for k in range(item_start[item], item_start[item + 1]):
                    mine = of_users[users[k]]
                    for j in range(width):
                        total[j] += mine[j] - mean[j]
            # A tile at a time: single numbers of far rows would each fetch a line of the cache.
            for j in range(width):
                for item in range(begin, end):
                    out[first + j, item] = of_items[item - begin, j]
