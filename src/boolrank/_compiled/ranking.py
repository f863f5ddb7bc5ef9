"""The best of many scores, ties broken by the lower number; and scores too small for doubles."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Scores that are looked at together.
_CHUNK = 64
# Steps down a run of equal scores before all of them are put in order.
_FEW = 16


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


@njit(cache=True, fastmath={"nnan", "nsz"})
def best(scores, base, noise, n, items, values):
    """Fill `items` and `values` with the n best items, best first; -inf is never among them.

    Scores are sums on top of a base. Two next to each other that differ by less than ``noise``
    times the two terms differ by rounding, and count as equal: the lower number comes first. So
    the list does not depend on how the sums were added up.
    """
    chunks = (len(scores) + _CHUNK - 1) // _CHUNK
    most = np.empty(chunks)
    for c in range(chunks):
        top = -np.inf
        for item in range(c * _CHUNK, min((c + 1) * _CHUNK, len(scores))):
            top = max(top, scores[item])
        most[c] = top
    size = _highest(scores, most, n, items, values)
    if noise == 0:
        return
    first = 0
    for k in range(1, size + 1):
        if k == size and size == n:
            low = _end_of_run(scores, most, base, noise, values[-1])
            _lowest_numbers(scores, most, low, first, items, values)
        elif k == size or not _equal(scores, base, noise, items[k - 1], items[k]):
            _by_number(items[first:k], values[first:k])
            first = k


@njit(inline="always")
def _equal(scores, base, noise, item, following):
    """Whether the score of the item that follows another one differs from it by rounding alone."""
    if scores[following] == -np.inf:
        return False
    here = abs(scores[item] - base[item]) + abs(base[item])
    there = abs(scores[following] - base[following]) + abs(base[following])
    return scores[item] - scores[following] <= noise * max(here, there)


@njit(cache=True)
def _highest(scores, most, n, items, values):
    """The n highest scores, in order; returns how many. A heap with the lowest of them on top."""
    size = 0
    for c in range(len(most) if n > 0 else 0):
        if most[c] == -np.inf or (size == n and most[c] <= values[0]):
            continue
        for item in range(c * _CHUNK, min((c + 1) * _CHUNK, len(scores))):
            score = scores[item]
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
    return size


@njit(cache=True)
def _end_of_run(scores, most, base, noise, low):
    """The lowest score that is equal to ``low``, or to one that is, and so on."""
    for _ in range(_FEW):
        last, following = -1, -1
        for c in range(len(most)):
            if following >= 0 and most[c] <= scores[following]:
                continue
            for item in range(c * _CHUNK, min((c + 1) * _CHUNK, len(scores))):
                if scores[item] == low:
                    last = item
                elif scores[item] < low and (following < 0 or scores[item] > scores[following]):
                    following = item
        if following < 0 or not _equal(scores, base, noise, last, following):
            return low
        low = scores[following]
    # A long ladder: in order, its steps are next to each other.
    order = np.argsort(-scores, kind="mergesort")
    for k in range(1, len(order)):
        if scores[order[k - 1]] <= low:
            if not _equal(scores, base, noise, order[k - 1], order[k]):
                return low
            low = scores[order[k]]
    return low


@njit(cache=True)
def _lowest_numbers(scores, most, low, first, items, values):
    """From a place on, those of the scores from the one that stands there down to a low one."""
    high, at = values[first], first
    for c in range(len(most)):
        if most[c] >= low:
            for item in range(c * _CHUNK, min((c + 1) * _CHUNK, len(scores))):
                if low <= scores[item] <= high and at < len(items):
                    items[at], values[at] = item, scores[item]
                    at += 1


@njit(cache=True)
def _by_number(items, values):
    """Put a few items in the order of their numbers."""
    for k in range(1, len(items)):
        item, value, at = items[k], values[k], k
        while at > 0 and items[at - 1] > item:
            items[at], values[at] = items[at - 1], values[at - 1]
            at -= 1
        items[at], values[at] = item, value


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
