"""Many profiles at once: their weights, their scores, their best items.

Profile k has the items ``items[start[k]:start[k + 1]]``, in order.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .matrix import base_scores, fill_row, fill_scores, own_of, pulls
from .ranking import best
from .simplex import solve

# Scores that differ by less than this, relative to their terms, are equal: sums of the same terms
# in another order differ by less. A larger number would tie scores that do differ: with a long
# disjunction all items with many users are nearly equal.
NOISE = 2.0**-50


def weights(matrix, start, items, reg, against_others, tolerance):
    """Return the weights on the items of each profile, and the duality gap of each problem.

    They are against the mean of all items, or of those that the profile does not have. Gaps, and
    the tolerance, are relative to the largest value of an item with itself.
    """
    b = pulls(matrix)[items]
    if against_others:
        _leave_out_own(b, start, items, matrix)
    alpha, gaps = np.empty(len(items)), np.zeros(len(start) - 1)
    _weights((alpha, gaps), start, items, b, matrix, float(reg), float(tolerance))
    return alpha, gaps


def _steps(start):
    """Estimate the steps to solve the problems of profiles."""
    return 10 * (np.diff(start) ** 2).sum()


@loop
def _longest(start, begin, end):
    longest = 0
    for k in range(begin, end):
        longest = max(longest, start[k + 1] - start[k])
    return longest


@ranged(lambda _out, start, *_: (len(start) - 1, _steps(start)))
def _weights(begin, end, out, start, items, b, matrix, reg, tolerance):
    alpha, gaps = out
    longest = _longest(start, begin, end)
    room = np.empty(2 * longest * longest)
    for k in range(begin, end):
        first, last = start[k], start[k + 1]
        if first == last:
            continue
        unit = 0.0
        for s in range(first, last):
            unit = max(unit, own_of(matrix.distance, items[s]) + reg)
        own, result = items[first:last], alpha[first:last]
        gap = solve(matrix, own, reg, b[first:last], tolerance * unit, unit, result, room)
        gaps[k] = gap / unit if gap > 0 and unit < np.inf else gap


@ranged(lambda _b, start, *_: (len(start) - 1, _steps(start)))
def _leave_out_own(begin, end, b, start, items, matrix):
    """Turn means over all items into means over those not in a profile; 0 if it has all."""
    longest = _longest(start, begin, end)
    row, ready, no_rows = np.empty(longest), np.zeros(longest, np.bool_), np.empty((0, 0))
    for k in range(begin, end):
        first, own = start[k], items[start[k] : start[k + 1]]
        others = len(matrix.pull) - len(own)
        for s in range(len(own)):
            # From another origin, the diagonal is part of the mean.
            among = _own_in_mean(matrix.distance, own[s])
            fill_row(row, no_rows, ready, matrix, own, s)
            for t in range(len(own)):
                if t != s:
                    among += row[t]
            total = len(matrix.pull) * b[first + s] - among
            b[first + s] = total / others if others > 0 else 0.0


@loop
def _own_in_mean(distance, item):
    if distance is None:
        return 0.0
    return own_of(distance, item)


def rank(matrix, negative_weight, start, items, alpha, allowed, hide_own, n, order):
    """Return the n best allowed items of each profile, -1 after the last, and their scores.

    Profiles are taken in the order given: neighbours should read the same long rows.
    """
    chosen = np.full((len(start) - 1, n), -1, np.int32)
    scores = np.full((len(start) - 1, n), np.nan)
    # In the log domain no scores differ by rounding alone.
    noise = NOISE if matrix.exponents is None else 0.0
    request = np.flatnonzero(~allowed), bool(hide_own), noise, order
    profiles, base = (start, items, alpha), base_scores(matrix, float(negative_weight))
    _rank((chosen, scores), matrix, profiles, base, float(negative_weight), request)
    return chosen, scores


def _sums(_out, matrix, profiles, base, *_):
    """Return the number of profiles, and the steps that it takes to sum their rows."""
    start, items, _ = profiles
    length = len(base) if matrix.dense is not None else len(matrix.columns) // len(base) + 1
    return len(start) - 1, len(items) * length


@ranged(_sums)
def _rank(begin, end, out, matrix, profiles, base, negative_weight, request):
    chosen, scores = out
    start, items, alpha = profiles
    hidden, hide_own, noise, order = request
    row = np.empty(len(base))
    for at in range(begin, end):
        k = order[at]
        first, last = start[k], start[k + 1]
        if first == last:
            continue
        own, of_own = items[first:last], alpha[first:last]
        fill_scores(row, matrix, base, negative_weight, own, of_own)
        for h in range(len(hidden)):
            row[hidden[h]] = -np.inf
        if hide_own:
            for s in range(len(own)):
                row[own[s]] = -np.inf
        best(row, base, noise, chosen.shape[1], chosen[k], scores[k])


def score(out, matrix, negative_weight, start, items, alpha):
    """Fill `out` with the scores of all items for each profile."""
    base = base_scores(matrix, float(negative_weight))
    _score(out, matrix, (start, items, alpha), base, float(negative_weight))


@ranged(_sums)
def _score(begin, end, out, matrix, profiles, base, negative_weight):
    start, items, alpha = profiles
    for k in range(begin, end):
        own, of_own = items[start[k] : start[k + 1]], alpha[start[k] : start[k + 1]]
        row = out[k]
        fill_scores(row, matrix, base, negative_weight, own, of_own)
