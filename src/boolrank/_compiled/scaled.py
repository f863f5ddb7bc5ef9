"""Scores of matrices whose values are too small for doubles, in the log domain."""

from __future__ import annotations

import math

import numpy as np

from .compiler import loop
from .ranking import sort_best_first


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
def finish_scaled(scores, matrix, negative_weight, items, alpha):
    """Turn the scaled rest of scores into whole ones, in the log domain and all different.

    Two items that are nearest to each other have the same largest term in their scores: the rest
    decides their order, however small it is.
    """
    size, floor = len(scores), matrix.floor
    mine, rest = np.zeros(size), np.empty(size)
    for s in range(len(items)):
        mine[items[s]] = alpha[s]
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
