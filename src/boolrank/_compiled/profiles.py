"""Many profiles at once: their weights, their scores, their best items.

Profile k has the items ``items[start[k]:start[k + 1]]``, in order.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop
from .matrix import base_scores, fill_row, fill_scores, own_of, prepared, pulls
from .ranges import for_ranges, frozen
from .ranking import best
from .simplex import solve

# Scores that differ by less than this, relative to their terms, are equal: sums of the same terms
# in another order differ by less. A larger number would tie scores that do differ: with a long
# disjunction all items with many users are nearly equal.
NOISE = 2.0**-50


def weights(matrix, start, items, reg, against_others, tolerance, n_parts=None):
    """Return the weights on the items of each profile, and the duality gap of each problem.

    They are against the mean of all items, or of those that the profile does not have. Gaps, and
    the tolerance, are relative to the largest value of an item with itself.
    """
    matrix, start, items = prepared(matrix), frozen(start), frozen(items)
    n, work = len(start) - 1, 10 * (np.diff(start) ** 2).sum()
    alpha, gaps, b = np.empty(start[-1]), np.zeros(n), pulls(matrix)[items]
    if against_others:
        for_ranges(_leave_out_own, n, work, b, matrix, start, items)
    rest = matrix, start, items, float(reg), float(tolerance)
    for_ranges(_weights, n, work, alpha, gaps, b, *rest)
    return alpha, gaps


@loop
def _longest(start, begin, end):
    longest = 0
    for k in range(begin, end):
        longest = max(longest, start[k + 1] - start[k])
    return longest


@loop
def _weights(begin, end, alpha, gaps, b, matrix, start, items, reg, tolerance):
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
        gaps[k] = gap / unit


@loop
def _leave_out_own(begin, end, b, matrix, start, items):
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


def rank(matrix, negative_weight, start, items, alpha, allowed, hide_own, n, order, n_parts=None):
    """Return the n best allowed items of each profile, -1 after the last, and their scores.

    Profiles are taken in the order given: neighbours should read the same long rows.
    """
    matrix, start, items = prepared(matrix), frozen(start), frozen(items)
    chosen = np.full((len(start) - 1, n), -1, np.int32)
    scores = np.full((len(start) - 1, n), np.nan)
    # In the log domain no scores differ by rounding alone.
    noise = NOISE if matrix.exponents is None else 0.0
    base = base_scores(matrix, float(negative_weight))
    asked = np.flatnonzero(~allowed), bool(hide_own), noise, frozen(order)
    rest = matrix, base, float(negative_weight), start, items, frozen(alpha)
    for_ranges(_rank, len(order), _work(matrix, items), chosen, scores, *asked, *rest)
    return chosen, scores


def _work(matrix, items):
    """Estimate the steps that it takes to add up the rows of items."""
    m = len(matrix.pull)
    return len(items) * (m if matrix.dense is not None else len(matrix.columns) // m + 1)


@loop
def _rank(
    begin,
    end,
    chosen,
    scores,
    hidden,
    hide_own,
    noise,
    order,
    matrix,
    base,
    negative_weight,
    start,
    items,
    alpha,
):
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
    matrix, start, items = prepared(matrix), frozen(start), frozen(items)
    base = base_scores(matrix, float(negative_weight))
    rest = matrix, base, float(negative_weight), start, items, frozen(alpha)
    for_ranges(_score, len(start) - 1, _work(matrix, items), out, *rest)


@loop
def _score(begin, end, out, matrix, base, negative_weight, start, items, alpha):
    for k in range(begin, end):
        own, of_own = items[start[k] : start[k + 1]], alpha[start[k] : start[k + 1]]
        row = out[k]
        fill_scores(row, matrix, base, negative_weight, own, of_own)
