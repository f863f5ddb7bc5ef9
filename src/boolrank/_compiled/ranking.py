"""The best of many scores, ties broken by the lower number; and scores too small for a double."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Scores that are looked at together.
_CHUNK = 64


@njit(inline="always")
def _before(score_a, item_a, score_b, item_b):
    return score_a > score_b or (score_a == score_b and item_a < item_b)


@njit(inline="always")
def _sift_down(values, items, at, size, score, item):
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        other = down + 1
        if other < size and _before(values[down], items[down], values[other], items[other]):
            down = other
        if _before(values[down], items[down], score, item):
            break
        values[at], items[at] = values[down], items[down]
        at = down
    values[at], items[at] = score, item


@njit(cache=True, fastmath={"nnan"})
def best(scores, n, items, values):
    """Fill `items` and `values` with the n best items, best first; -inf is never among them.

    A heap with the worst of the best on top; most chunks of scores cost their maximum alone.
    """
    size = 0
    for first in range(0, len(scores) if n > 0 else 0, _CHUNK):
        chunk = scores[first : first + _CHUNK]
        most = -np.inf
        for k in range(len(chunk)):
            most = max(most, chunk[k])
        if most == -np.inf or (size == n and most <= values[0]):
            continue
        for k in range(len(chunk)):
            score, item = chunk[k], first + k
            if size < n and score > -np.inf:
                at = size
                size += 1
                while at > 0:
                    up = (at - 1) >> 1
                    if _before(score, item, values[up], items[up]):
                        break
                    values[at], items[at] = values[up], items[up]
                    at = up
                values[at], items[at] = score, item
            elif size == n and score > values[0]:
                _sift_down(values, items, 0, size, score, item)
    for last in range(size - 1, 0, -1):
        value, item = values[last], items[last]
        values[last], items[last] = values[0], items[0]
        _sift_down(values, items, 0, last, value, item)


@njit(inline="always")
def _in_log_domain(s, exponent, floor):
    """sign(s)·(floor + log2|s| + exponent): keeps the order of s·2^exponent and fits a double."""
    if s == 0.0:
        return 0.0
    return math.copysign(max(floor + math.log2(abs(s)) + exponent, 0.0), s)


@njit(cache=True)
def _split_ties(scores, then):
    """Move scores that are equal apart by least steps, in the order of what they stand for next."""
    order = np.argsort(scores)
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and scores[order[stop]] == scores[order[start]]:
            stop += 1
        if stop - start > 1:
            run = order[start:stop]
            run = run[np.argsort(then[run])]
            value = scores[run[0]]
            for k in range(1, len(run)):
                if then[run[k]] > then[run[k - 1]]:
                    value = np.nextafter(value, np.inf)
                scores[run[k]] = value
        start = stop


@njit(cache=True)
def finish_scaled(scores, matrix, negative_weight, items, alpha):
    """From the scaled rest of scores to whole ones, in the log domain and all different.

    Two items that are nearest to each other have the same largest term in their scores, so that the
    rest decides their order, however small it is.
    """
    size, floor = len(scores), matrix.floor
    mine = np.zeros(size)
    mine[items] = alpha
    rest = np.empty(size)
    for j in range(size):
        rest[j] = _in_log_domain(scores[j], matrix.exponents[j], floor)
        lead_exp, near = matrix.lead_exp[j], matrix.nearest[j]
        total = scores[j] * np.exp2(matrix.exponents[j] - lead_exp)
        if near >= 0:
            total += (mine[near] - negative_weight / size) * matrix.lead[j]
        if mine[j] == 0.0:
            scores[j] = _in_log_domain(total, lead_exp, floor)
        else:  # with itself an item has 1, which might not fit the scale of its column
            scores[j] = _in_log_domain(mine[j] + total * np.exp2(lead_exp), 0.0, floor)
    _split_ties(scores, rest)
