"""Many profiles at once, in parallel: their weights, their scores, their best items.

Profile k has the items ``items[start[k]:start[k + 1]]``, in order. Profiles are dealt out in parts,
and nothing is added across them, so the results do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .loops import parallel
from .matrix import base_scores, fill_row, fill_scores, own_of, pull_of
from .ranking import best
from .simplex import solve

# Scores that differ by less than this, relative to the terms they are made of, are equal: what the
# last digits of sums may differ by where the terms are the same. More would tie what differs by
# right: to a long disjunction all items with many users are nearly alike.
NOISE = 2.0**-50


@parallel
def weights(matrix, start, items, reg, against_others, tolerance, n_parts):
    """Weights on the items of each profile, and the gap of each problem.

    They are against the mean of all items, or of those that the profile does not have.
    Gaps, and the tolerance, are relative to the largest value of an item with itself.
    """
    profiles = len(start) - 1
    alpha = np.empty(start[-1])
    gaps = np.zeros(profiles)
    longest = 0
    for k in range(profiles):
        longest = max(longest, start[k + 1] - start[k])
    for part in prange(n_parts):
        room = np.empty(2 * longest * longest)
        b = np.empty(longest)
        for k in range(part, profiles, n_parts):
            first, last = start[k], start[k + 1]
            if first == last:
                continue
            own, unit = items[first:last], 0.0
            for s in range(len(own)):
                b[s] = pull_of(matrix, own[s])
                unit = max(unit, own_of(matrix, own[s]) + reg)
            if against_others:
                _leave_out_own(b, matrix, own, room)
            problem = own, reg, b[: len(own)], tolerance * unit, unit
            gaps[k] = solve(matrix, *problem, alpha[first:last], room) / unit
    return alpha, gaps


@njit(cache=True)
def _leave_out_own(b, matrix, own, room):
    """From means over all items to those over what is not in a profile; 0 where it has all."""
    size, others = len(own), len(matrix.pull) - len(own)
    A, ready = room[: size * size].reshape((size, size)), np.zeros(size, np.bool_)
    for s in range(size):
        # Seen from another origin, the diagonal is part of the mean.
        among = own_of(matrix, own[s]) if len(matrix.distance) > 0 else 0.0
        fill_row(A, ready, matrix, own, s)
        for t in range(size):
            if t != s:
                among += A[s, t]
        b[s] = (len(matrix.pull) * b[s] - among) / others if others > 0 else 0.0


@parallel
def rank(matrix, negative_weight, start, items, alpha, allowed, hide_own, n, order, n_parts):
    """The n best allowed items of each profile: numbers (-1 where there are fewer) and scores.

    Profiles are taken in the order given: next to each other those that read the same long rows.
    """
    profiles = len(start) - 1
    chosen = np.full((profiles, n), -1, np.int32)
    scores = np.full((profiles, n), np.nan)
    hidden = np.flatnonzero(~allowed)
    # In the log domain scores that differ do so by right.
    noise = NOISE if len(matrix.exponents) == 0 else 0.0
    base = base_scores(matrix, negative_weight)
    for part in prange(n_parts):
        row = np.empty(len(base))
        for k in order[part::n_parts]:
            own = slice(start[k], start[k + 1])
            if start[k] == start[k + 1]:
                continue
            fill_scores(row, matrix, base, negative_weight, items[own], alpha[own])
            row[hidden] = -np.inf
            if hide_own:
                row[items[own]] = -np.inf
            best(row, base, noise, n, chosen[k], scores[k])
    return chosen, scores


@parallel
def score(out, matrix, negative_weight, start, items, alpha):
    """Fill `out` with the scores of all items for each profile."""
    base = base_scores(matrix, negative_weight)
    for k in prange(len(start) - 1):
        own = slice(start[k], start[k + 1])
        fill_scores(out[k], matrix, base, negative_weight, items[own], alpha[own])
