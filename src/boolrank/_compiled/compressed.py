"""A kernel matrix as a background by classes plus a sparse correction: weights and scores.

    K[i, j] = B[class(i), class(j)]·share[j] + S[i, j]   for i != j,   K[i, i] = 1

with all shares 1. Scaled, where values are too small for doubles, each column j is split into its
largest value, ``lead[j]·2^lead_exp[j]`` at row ``nearest[j]``, and the rest, which stands in B, S
and q times 2^exponents[j]; the diagonal is left out then.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .ranking import best, finish_scaled
from .simplex import solve


@njit(inline="always")
def _place(columns, low, high, column):
    """Where a column is in a sorted sparse row, or would be."""
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low


@njit(parallel=True, cache=True)
def weights(
    B,
    share,
    classes,
    indptr,
    columns,
    values,
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
            first = start[k]
            size = start[k + 1] - first
            if size == 0:
                continue
            for s in range(size):
                row = items[first + s]
                b[s] = q[row]
                low, high = indptr[row], indptr[row + 1]
                for t in range(s + 1, size):
                    column = items[first + t]
                    value = B[classes[row], classes[column]] * share[column]
                    low = _place(columns, low, high, column)
                    if low < high and columns[low] == column:
                        value += values[low]
                    if len(exponents) > 0:
                        value *= np.exp2(exponents[column])
                        if nearest[column] == row:
                            value += lead[column] * np.exp2(lead_exp[column])
                    A[s, t] = value
                    A[t, s] = value
                if len(exponents) > 0:
                    largest = lead[row] * np.exp2(lead_exp[row])
                    b[s] = b[s] * np.exp2(exponents[row]) + largest / len(q)
                own[s] = 1.0 + reg
                A[s, s] = own[s]
            gaps[k], steps[k] = solve(
                A, own, b, size, tolerance, most_steps, alpha[first : start[k + 1]], g, support
            )
    return alpha, gaps, steps


@njit(cache=True)
def _fill_scores(
    scores,
    by_class,
    B,
    share,
    classes,
    indptr,
    columns,
    values,
    q,
    exponents,
    nearest,
    lead,
    lead_exp,
    floor,
    negative_weight,
    items,
    alpha,
):
    """Scores of all items for one profile."""
    by_class[:] = 0.0
    for s in range(len(items)):
        weight = alpha[s]
        if weight != 0.0:
            background = B[classes[items[s]]]
            for a in range(len(by_class)):
                by_class[a] += weight * background[a]
    for j in range(len(scores)):
        scores[j] = by_class[classes[j]] * share[j] - negative_weight * q[j]
    for s in range(len(items)):
        weight = alpha[s]
        if weight != 0.0:
            row = items[s]
            # On the diagonal stands 1, whatever the background says.
            diagonal = 1.0 if len(exponents) == 0 else 0.0  # added in the log domain
            scores[row] += weight * (diagonal - B[classes[row], classes[row]] * share[row])
            for k in range(indptr[row], indptr[row + 1]):
                scores[columns[k]] += weight * values[k]
    if len(exponents) > 0:
        finish_scaled(
            scores, exponents, nearest, lead, lead_exp, floor, negative_weight, items, alpha
        )


@njit(parallel=True, cache=True)
def rank(
    B,
    share,
    classes,
    indptr,
    columns,
    values,
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
        by_class = np.empty(len(B))
        open_to = allowed.copy()
        for k in range(part, profiles, n_parts):
            own = items[start[k] : start[k + 1]]
            if len(own) == 0:
                continue
            _fill_scores(
                row,
                by_class,
                B,
                share,
                classes,
                indptr,
                columns,
                values,
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
    out,
    B,
    share,
    classes,
    indptr,
    columns,
    values,
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
):
    """Fill `out` with the scores of all items for each profile."""
    for k in prange(len(start) - 1):
        own = slice(start[k], start[k + 1])
        _fill_scores(
            out[k],
            np.empty(len(B)),
            B,
            share,
            classes,
            indptr,
            columns,
            values,
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
