"""Many profiles at once: their weights, their scores, their best items.

Profile k has the items ``items[start[k]:start[k + 1]]``, in order.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .matrix import fill_row, own_of, pulls
from .ranking import best
from .reach import HIDDEN, OWN, entries_if_few, forget, hide, list_reached, reach, set_state
from .scores import add_background, fill_scores, support
from .simplex import solve
from .vectors import copy_to

# Scores that differ by less than this, relative to their terms, are equal: sums of the same terms
# in another order differ by less. A larger number would tie scores that do differ: with a long
# disjunction all items with many users are nearly equal.
NOISE = 2.0**-50


def weights(matrix, start, items, factors, reg, against_others, tolerance):
    """Return the weights on the items of each profile, and the duality gap of each problem.

    They are against the mean of all items, or of those that the profile does not have. Gaps, and
    the tolerance, are relative to the largest value of an item with itself. ``factors`` of the
    items, if any, multiply the weights, which then sum to 1 again.
    """
    b = pulls(matrix)[items]
    if against_others:
        _leave_out_own(b, start, items, matrix)
    alpha, gaps = np.empty(len(items)), np.zeros(len(start) - 1)
    _weights((alpha, gaps), start, items, b, factors, matrix, float(reg), float(tolerance))
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
def _weights(begin, end, out, start, items, b, factors, matrix, reg, tolerance):
    alpha, gaps = out
    longest = _longest(start, begin, end)
    room, pull = np.empty(2 * longest * longest), np.empty(longest)
    for k in range(begin, end):
        first, last = start[k], start[k + 1]
        if first < last:
            own, weights, mine = items[first:last], alpha[first:last], pull[: last - first]
            ready = np.zeros(len(own), np.bool_)
            copy_to(mine, b[first:last])  # not read-only, as in `_rank`: one compilation serves
            gaps[k] = solve_profile(matrix, own, reg, mine, tolerance, weights, room, ready)
            multiply_weights(weights, factors, first)


@loop
def multiply_weights(weights, factors, first):
    """Multiply the weights of a profile with factors, and scale them to the sum 1."""
    if len(factors) == 0:
        return
    total = 0.0
    for s in range(len(weights)):
        weights[s] *= factors[first + s]
        total += weights[s]
    for s in range(len(weights)):
        weights[s] /= total


@loop
def solve_profile(matrix, items, reg, b, tolerance, alpha, room, ready):
    """Fill alpha with the weights of one profile; return the gap relative to its unit.

    ``ready`` are the rows of the problem that stand in the room.
    """
    unit = 0.0
    for s in range(len(items)):
        unit = max(unit, own_of(matrix.distance, items[s]) + reg)
    gap = solve(matrix, items, reg, b, tolerance * unit, unit, alpha, room, ready)
    return gap / unit if gap > 0 and unit < np.inf else gap


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


def rank(matrix, base, layout, scoring, profiles, hidden, hide_own, n, order):
    """Return the n best items of each profile, -1 after the last, their scores, and the gaps.

    ``base`` are the scores for an empty profile, and ``layout`` is their `Layout` by class: only a
    compressed matrix that is not scaled has one. ``scoring`` is (negative_weight, reg, tolerance),
    and ``profiles`` (start, items, factors), as in `weights`; ``hidden`` are items to leave out.
    Profiles are taken in the order given: neighbours should read the same long rows. One loop
    solves and ranks, so that a request leaves Python once.
    """
    start = profiles[0]
    chosen = np.full((len(start) - 1, n), -1, np.int32)
    scores = np.full((len(start) - 1, n), np.nan)
    gaps = np.zeros(len(start) - 1)
    # In the log domain no scores differ by rounding alone.
    noise = NOISE if matrix.exponents is None else 0.0
    request = hidden, bool(hide_own), noise, order
    scoring = base, pulls(matrix), *map(float, scoring)
    _rank((chosen, scores, gaps), matrix, layout, tuple(profiles), scoring, request)
    return chosen, scores, gaps


def sums_of_rows(_out, matrix, _layout, profiles, scoring, *_):
    """Return the number of profiles, and the steps that it takes to sum their rows."""
    start, items = profiles[:2]
    size = len(scoring[0])
    length = size if matrix.dense is not None else len(matrix.columns) // size + 1
    return len(start) - 1, len(items) * length


@ranged(sums_of_rows)
def _rank(begin, end, out, matrix, layout, profiles, scoring, request):
    chosen, scores, gaps = out
    start, items, factors = profiles
    base, pull, negative_weight, reg, tolerance = scoring
    hidden, hide_own, noise, order = request
    longest = 0
    for at in range(begin, end):
        longest = max(longest, start[order[at] + 1] - start[order[at]])
    row, alpha, b = np.empty(len(base)), np.empty(longest), np.empty(longest)
    room = np.empty(2 * longest * longest)
    states = np.zeros(len(base), np.uint8)
    set_state(states, hidden, HIDDEN, True)
    for at in range(begin, end):
        k = order[at]
        first, last = start[k], start[k + 1]
        if first == last:
            continue
        own, weights = items[first:last], alpha[: last - first]
        for s in range(len(own)):
            b[s] = pull[own[s]]
        ready = np.zeros(len(own), np.bool_)
        gaps[k] = solve_profile(matrix, own, reg, b[: len(own)], tolerance, weights, room, ready)
        multiply_weights(weights, factors, first)
        set_state(states, own, OWN, hide_own)
        length = np.int64(-1)
        if layout is not None:
            length = entries_if_few(matrix.indptr, own, weights, len(base))
        if layout is not None and length >= 0:  # numba leaves the block out for a layout of None
            by_class, reached = (
                np.zeros(len(matrix.background)),
                np.empty(length + len(own), np.int32),
            )
            profile = own, weights
            reached = score_reached(
                reached, row, states, by_class, matrix, matrix.distance, layout, profile
            )
            list_reached(reached, row, states, by_class, layout, noise, chosen[k], scores[k])
            forget(states, reached)
        else:
            fill_scores(row, matrix, base, negative_weight, own, weights)
            hide(row, states)
            best(row, base, noise, chosen.shape[1], chosen[k], scores[k])
        set_state(states, own, OWN, False)


@loop
def score_reached(reached, scores, states, by_class, matrix, distance, layout, profile):
    """Score the items that share users with a profile, as `fill_scores`; return them."""
    rows, weights = support(*profile)
    of_class, used = add_background(by_class, matrix, rows, weights), np.int64(0)
    for s in range(len(rows)):
        row, weight, under = rows[s], weights[s], matrix.background[of_class[s], of_class[s]]
        used = reach(row, scores, states, reached, used, by_class, layout)
        scores[row] += weight * (own_of(distance, row) - under)
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            item = matrix.columns[k]
            used = reach(item, scores, states, reached, used, by_class, layout)
            scores[item] += weight * matrix.values[k]
    return reached[:used]


def score(out, matrix, base, negative_weight, start, items, alpha):
    """Fill `out` with the scores of all items for each profile."""
    _score(out, matrix, None, (start, items, alpha), (base, float(negative_weight)))


@ranged(sums_of_rows)
def _score(begin, end, out, matrix, _layout, profiles, scoring):
    start, items, alpha = profiles
    base, negative_weight = scoring
    for k in range(begin, end):
        own, of_own = items[start[k] : start[k + 1]], alpha[start[k] : start[k + 1]]
        row = out[k]
        fill_scores(row, matrix, base, negative_weight, own, of_own)
