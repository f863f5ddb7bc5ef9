"""The best of many scores, ties broken by the lower item number."""

from __future__ import annotations

import numpy as np

from .compiler import loop

# Scores are skipped in chunks whose largest is too low.
CHUNK = 64
# Steps down a run of equal scores before all scores are sorted.
_FEW = 16


@loop
def before(score_a, item_a, score_b, item_b):
    """Return whether item a stands before item b."""
    return score_a > score_b or (score_a == score_b and item_a < item_b)


@loop
def _sift_down(values, items, at, size, score, item):
    """Put a score into a heap with the worst on top, from a free place down."""
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        other = down + 1
        if other < size and before(values[down], items[down], values[other], items[other]):
            down = other
        if before(values[down], items[down], score, item):
            break
        values[at], items[at] = values[down], items[down]
        at = down
    values[at], items[at] = score, item


@loop
def offer(values, items, size, score, item):
    """Put a score into a heap of the best with the worst on top; return the number in it."""
    if size < len(values):
        at = size
        while at > 0:
            up = (at - 1) >> 1
            if before(score, item, values[up], items[up]):
                break
            values[at], items[at] = values[up], items[up]
            at = up
        values[at], items[at] = score, item
        return size + 1
    if size > 0 and before(score, item, values[0], items[0]):
        _sift_down(values, items, np.int64(0), size, score, item)
    return size


@loop
def sort_heap(values, items, size):
    """Turn the heap into a list, best first."""
    for last in range(size - 1, 0, -1):
        value, item = values[last], np.int64(items[last])
        values[last], items[last] = values[0], items[0]
        _sift_down(values, items, np.int64(0), last, value, item)


@loop
def sort_best_first(values, items):
    """Sort scores in place, and their items with them."""
    size = len(values)
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(values, items, at, size, values[at], np.int64(items[at]))
    sort_heap(values, items, size)


@loop
def best(scores, base, noise, n, items, values):
    """Fill `items` and `values` with the n best items, best first.

    Scores of -inf are left out, and NaN is replaced by -inf in `scores`.

    Scores are sums on top of a base. Two neighbours in the list that differ by less than ``noise``
    times their terms differ by rounding alone and count as equal: the lower number comes first.
    The list thus does not depend on the order of summation. Return the lowest score that was
    compared with others; -inf if all were, or none.
    """
    low = -np.inf
    for item in range(len(scores)):
        if np.isnan(scores[item]):
            scores[item] = -np.inf
    tops = np.empty((len(scores) + CHUNK - 1) // CHUNK)
    _fill_tops(tops, scores)
    size = highest(scores, tops, n, items, values)
    if noise == 0:
        return low
    first = np.int64(0)
    for k in range(1, size + 1):
        if k == size and size == n:
            low = _end_of_run(scores, tops, base, noise, values[size - 1])
            _lowest_numbers(scores, tops, low, first, items, values)
        elif k == size or not _equal(scores, base, noise, items[k - 1], items[k]):
            _sort_by_number(items, values, first, k)
            first = k
    return low


@loop(fastmath={"nnan", "nsz"})  # there is no NaN left, and vectors can only do so
def _fill_tops(tops, scores):
    """Fill with the largest score of each chunk."""
    for c in range(len(tops)):
        top = -np.inf
        for item in range(c * CHUNK, min((c + 1) * CHUNK, len(scores))):
            top = max(top, scores[item])
        tops[c] = top


@loop
def _equal(scores, base, noise, item, following):
    """Return whether the next lower score differs by rounding alone."""
    if scores[following] == -np.inf:
        return False
    if scores[following] == scores[item]:  # infinite ones have no difference
        return True
    here = abs(scores[item] - base[item]) + abs(base[item])
    there = abs(scores[following] - base[following]) + abs(base[following])
    return scores[item] - scores[following] <= noise * max(here, there)


@loop
def highest(scores, tops, n, items, values):
    """Fill with the n highest scores, in order; return their number.

    ``tops`` are the largest of each chunk.
    """
    size, least = np.int64(0), nth_highest(tops, n)
    for c in range(len(tops) if n > 0 else 0):
        if tops[c] == -np.inf or tops[c] < least or (size == n and tops[c] <= values[0]):
            continue
        for item in range(c * CHUNK, min((c + 1) * CHUNK, len(scores))):
            if scores[item] >= least and scores[item] > (values[0] if size == n else -np.inf):
                size = offer(values, items, size, np.float64(scores[item]), item)
    sort_heap(values, items, size)
    return size


@loop
def nth_highest(scores, n):
    """Return the n-th highest score; -inf if there are fewer."""
    if n <= 0 or n > len(scores):
        return -np.inf
    heap, items, size = np.empty(n), np.empty(n, np.int32), np.int64(0)
    for k in range(len(scores)):
        if size < n or scores[k] > heap[0]:
            size = offer(heap, items, size, np.float64(scores[k]), np.int64(k))
    return heap[0]


@loop
def _end_of_run(scores, tops, base, noise, low):
    """Return the lowest score that equals ``low``, directly or through others."""
    for _ in range(_FEW):
        last = following = np.int64(-1)
        for c in range(len(tops)):
            if following >= 0 and tops[c] <= scores[following]:
                continue
            for item in range(c * CHUNK, min((c + 1) * CHUNK, len(scores))):
                if scores[item] == low:
                    last = item
                elif scores[item] < low and (following < 0 or scores[item] > scores[following]):
                    following = item
        if following < 0 or not _equal(scores, base, noise, last, following):
            return low
        low = scores[following]
    # A long ladder: sorted, its steps are neighbours.
    order, values = np.empty(len(scores), np.int32), np.empty(len(scores))
    size = highest(scores, tops, len(scores), order, values)
    for k in range(1, size):
        if values[k - 1] <= low:
            if not _equal(scores, base, noise, order[k - 1], order[k]):
                return low
            low = values[k]
    return low


@loop
def _lowest_numbers(scores, tops, low, first, items, values):
    """Fill from a place on with the lowest items of the scores from the one there to ``low``."""
    high, at = values[first], first
    for c in range(len(tops)):
        if tops[c] >= low:
            for item in range(c * CHUNK, min((c + 1) * CHUNK, len(scores))):
                if low <= scores[item] <= high and at < len(items):
                    items[at], values[at] = item, scores[item]
                    at += 1


@loop
def _sort_by_number(items, values, first, last):
    """Sort a few items by their numbers."""
    for k in range(first + 1, last):
        item, value, at = items[k], values[k], k
        while at > first and items[at - 1] > item:
            items[at], values[at] = items[at - 1], values[at - 1]
            at -= 1
        items[at], values[at] = item, value
