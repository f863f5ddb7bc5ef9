"""Scores of all items for one profile, from the arrays of a kernel matrix.

Functions that branch on a part of the matrix take it as an argument: see `matrix`.
"""

from __future__ import annotations

import math

import numpy as np

from .compiler import loop
from .matrix import own_of
from .ranking import sort_best_first
from .vectors import add_rows, product


@np.errstate(all="ignore")
def base_scores(matrix, negative_weight):
    """Return the scores of all items for an empty profile.

    From another origin, a weight other than 1 leaves a part of the distances.
    """
    base = -negative_weight * matrix.pull
    if matrix.distance is not None:
        base -= (1.0 - negative_weight) * matrix.distance
    return base


@loop
def support(items, alpha):
    """Return the items of a profile that have weight, and the weights."""
    rows, weights, used = np.empty(len(items), np.int32), np.empty(len(items)), 0
    for s in range(len(items)):
        if alpha[s] != 0:
            rows[used], weights[used] = items[s], alpha[s]
            used += 1
    return rows[:used], weights[:used]


@loop
def fill_scores(scores, matrix, base, negative_weight, items, alpha):
    """Fill with the scores of all items for one profile."""
    rows, weights = support(items, alpha)
    parts = matrix.dense, matrix.background, matrix.exponents
    _fill_scores(scores, *parts, matrix, base, negative_weight, rows, weights)


@loop
def _fill_scores(
    scores, dense, background, exponents, matrix, base, negative_weight, rows, weights
):
    if dense is not None:
        for j in range(len(scores)):
            scores[j] = base[j]
        add_rows(scores, dense, rows, weights)
    if background is not None:
        _fill_by_class(scores, exponents, matrix.distance, matrix, base, rows, weights)
        _add_product(scores, matrix.left, matrix, rows, weights)
        _add_tags(scores, matrix.sets, matrix, rows, weights)
    if exponents is not None:
        _finish_scaled(scores, matrix, negative_weight, rows, weights)


@loop
def add_background(by_class, matrix, rows, weights):
    """Add the background of rows, once for each class; return the classes of the rows."""
    return _add_by_class(by_class, matrix.background, matrix.classes, rows, weights)


@loop
def _add_by_class(by_class, values, classes, rows, weights):
    of_class = np.empty(len(rows), np.int32)
    for s in range(len(rows)):
        of_class[s] = classes[rows[s]]
    add_rows(by_class, values, of_class, weights)
    return of_class


@loop
def _fill_by_class(scores, exponents, distance, matrix, base, rows, weights):
    """Fill with the background, once for each class, and add the entries of the correction."""
    by_class = np.zeros(len(matrix.background))
    of_class = add_background(by_class, matrix, rows, weights)
    if exponents is not None:
        for j in range(len(scores)):
            scores[j] = by_class[matrix.classes[j]] * matrix.share[j] + base[j]
    else:  # shares are 1: not reading them saves a tenth of the time
        for j in range(len(scores)):
            scores[j] = by_class[matrix.classes[j]] + base[j]
    for s in range(len(rows)):
        row, weight = rows[s], weights[s]
        under = matrix.background[of_class[s], of_class[s]] * matrix.share[row]
        if exponents is None:  # scaled, the diagonal is added in the log domain
            scores[row] += weight * (own_of(distance, row) - under)
        else:
            scores[row] -= weight * under
        for k in range(matrix.indptr[row], matrix.indptr[row + 1]):
            scores[matrix.columns[k]] += weight * matrix.values[k]


@loop
def _add_product(scores, left, matrix, rows, weights):
    """Add the background of low rank, if any, except on the diagonal."""
    if left is not None:
        total = np.zeros(left.shape[1])
        for s in range(len(rows)):
            row, weight = left[rows[s]], weights[s]
            for t in range(len(total)):
                total[t] += weight * row[t]
            scores[rows[s]] -= weight * product(row, matrix.right[rows[s]])
        for j in range(len(scores)):
            scores[j] += product(total, matrix.right[j])


@loop
def _add_tags(scores, sets, matrix, rows, weights):
    """Add the part over tags, if any, except on the diagonal."""
    if sets is not None:
        by_set = np.zeros(len(matrix.set_values))
        of_set = _add_by_class(by_set, matrix.set_values, sets, rows, weights)
        for s in range(len(rows)):
            scores[rows[s]] -= weights[s] * matrix.set_values[of_set[s], of_set[s]]
        for j in range(len(scores)):
            scores[j] += by_set[sets[j]]


@loop
def _in_log_domain(s, exponent, floor):
    """Return sign(s)·(floor + log2|s| + exponent): it has the order of s·2^exponent."""
    if s == 0.0:
        return 0.0
    return math.copysign(max(floor + math.log2(abs(s)) + exponent, 0.0), s)


@loop
def _split_ties(scores, then):
    """Move equal scores apart by the smallest steps, in the order of ``then``."""
    size = len(scores)
    order, keys = np.empty(size, np.int32), np.empty(size)
    for j in range(size):
        order[j], keys[j] = j, then[j]
    sort_best_first(keys, order)
    places = np.empty(size, np.int32)
    for k in range(size):
        places[k], keys[k] = k, scores[order[k]]
    sort_best_first(keys, places)
    value = 0.0
    for k in range(size - 1, -1, -1):  # from the lowest score up
        item = order[places[k]]
        if k == size - 1 or keys[k] != keys[k + 1]:
            value = keys[k]
        elif then[item] > then[order[places[k + 1]]]:
            value = np.nextafter(value, np.inf)
        scores[item] = value


@loop
def _finish_scaled(scores, matrix, negative_weight, rows, weights):
    """Turn the scaled rest of scores into whole ones, in the log domain and all different.

    Two items that are nearest to each other have the same largest term in their scores: the rest
    decides their order, however small it is.
    """
    size, floor = len(scores), matrix.floor
    mine, rest = np.zeros(size), np.empty(size)
    for s in range(len(rows)):
        mine[rows[s]] = weights[s]
    for j in range(size):
        rest[j] = _in_log_domain(scores[j], matrix.exponents[j], floor)
        lead_exp, near = matrix.lead_exp[j], matrix.nearest[j]
        total = scores[j] * np.exp2(matrix.exponents[j] - lead_exp)
        if near >= 0:
            total += (mine[near] - negative_weight / size) * matrix.lead[j]
        if mine[j] == 0.0:
            scores[j] = _in_log_domain(total, lead_exp, floor)
        else:  # an item has 1 with itself, which might not fit the scale of its column
            scores[j] = _in_log_domain(mine[j] + total * np.exp2(lead_exp), 0.0, floor)
    _split_ties(scores, rest)
