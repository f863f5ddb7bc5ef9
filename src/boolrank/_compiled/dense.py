"""A dense kernel matrix: the weights of users on their items, and the scores that follow.

Plain, K has 1 on its diagonal and q the mean of each column without it. Scaled, where values are
too small for doubles, each column j is split into its largest value, ``lead[j]·2^lead_exp[j]`` at
row ``nearest[j]``, and the rest, which stands in K and q times 2^exponents[j]; the diagonal is 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .ranking import best, finish_scaled
from .simplex import solve


@njit(cache=True)
def _fill_problem(A, own, b, K, q, exponents, nearest, lead, lead_exp, items, reg):
    """The matrix and the linear part of the problem of one profile."""
    size = len(items)
    for s in range(size):
        row = items[s]
        b[s] = q[row]
        for t in range(size):
            A[s, t] = K[row, items[t]]
    for t in range(size if len(nearest) > 0 else 0):
        column = items[t]
        unit = np.exp2(exponents[column])
        largest = lead[column] * np.exp2(lead_exp[column])
        b[t] = b[t] * unit + largest / len(q)
        for s in range(size):
            A[s, t] *= unit
            if items[s] == nearest[column]:
                A[s, t] += largest
    for s in range(size):
        own[s] = 1.0 + reg
        A[s, s] = own[s]


@njit(parallel=True, cache=True)
def weights(
    K,
    q,
    exponents,
    nearest,
    lead,
    lead_exp,
    floor,
    start,
    items,
    reg,
    tolerance,
    most_steps,
    n_parts,
):
    """Weights on the items of each profile; and gaps and steps of each problem."""
    profiles = len(start) - 1
    alpha = np.empty(start[-1])
    gaps = np.zeros(profiles)
    steps = np.zeros(profiles, np.int64)
    longest = 0
    for k in range(profiles):
        longest = max(longest, start[k + 1] - start[k])
    for part in prange(n_parts):
        A = np.empty((longest, longest))
        own, b, g = np.empty(longest), np.empty(longest), np.empty(longest)
        support = np.empty(longest + 1, np.int64)
        for k in range(part, profiles, n_parts):
            mine = items[start[k] : start[k + 1]]
            if len(mine) == 0:
                continue
            _fill_problem(A, own, b, K, q, exponents, nearest, lead, lead_exp, mine, reg)
            gaps[k], steps[k] = solve(
                A,
                own,
                b,
                len(mine),
                tolerance,
                most_steps,
                alpha[start[k] : start[k + 1]],
                g,
                support,
            )
    return alpha, gaps, steps


@njit(cache=True)
def _fill_scores(
    scores, K, q, exponents, nearest, lead, lead_exp, floor, negative_weight, items, alpha
):
    """Scores of all items for one profile; scaled ones in the log domain, all different."""
    for j in range(len(scores)):
        scores[j] = -negative_weight * q[j]
    for s in range(len(items)):
        weight = alpha[s]
        if weight != 0.0:
            row = K[items[s]]
            for j in range(len(scores)):
                scores[j] += weight * row[j]
    if len(nearest) == 0:
        return
    finish_scaled(scores, exponents, nearest, lead, lead_exp, floor, negative_weight, items, alpha)


@njit(parallel=True, cache=True)
def rank(
    K,
    q,
    exponents,
    nearest,
    lead,
    lead_exp,
    floor,
    negative_weight,
    start,
    items,
    alpha,
    allowed,
    hide_own,
    n,
    n_parts,
):
    """The n best allowed items of each profile: numbers (-1 where there are fewer) and scores."""
    profiles = len(start) - 1
    chosen = np.full((profiles, n), -1, np.int32)
    scores = np.full((profiles, n), np.nan)
    for part in prange(n_parts):
        row = np.empty(len(q))
        open_to = allowed.copy()
        for k in range(part, profiles, n_parts):
            own = items[start[k] : start[k + 1]]
            if len(own) == 0:
                continue
            _fill_scores(
                row,
                K,
                q,
                exponents,
                nearest,
                lead,
                lead_exp,
                floor,
                negative_weight,
                own,
                alpha[start[k] : start[k + 1]],
            )
            if hide_own:
                open_to[own] = False
            best(row, open_to, n, chosen[k], scores[k])
            if hide_own:
                open_to[own] = allowed[own]
    return chosen, scores


@njit(parallel=True, cache=True)
def score(
    out, K, q, exponents, nearest, lead, lead_exp, floor, negative_weight, start, items, alpha
):
    """Fill `out` with the scores of all items for each profile."""
    for k in prange(len(start) - 1):
        own = slice(start[k], start[k + 1])
        _fill_scores(
            out[k],
            K,
            q,
            exponents,
            nearest,
            lead,
            lead_exp,
            floor,
            negative_weight,
            items[own],
            alpha[own],
        )
