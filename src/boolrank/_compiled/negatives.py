"""Profiles against all other items: these as their mean (ECF-OMD), or with weights (CF-OMD).

The first are problems over a profile's own items alone, which the ranker's loop solves; here are
their scores. The others have a weight on every item; ``look`` and ``step`` are what is done for
each of many profiles between two products with the kernel matrix.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from .loops import parallel
from .matrix import fill_scores
from .weights import SUMS, settled


@parallel
def mean_scores(out, matrix, start, items, alpha):
    """Fill ``out`` with Σ α_i·K_ij over a profile's items, less the mean of K_ij over the others.

    The others' sum is that of all, which ``pull`` and 1 on the diagonal give, less the profile's.
    """
    size = out.shape[1]
    for k in prange(len(out)):
        own = slice(start[k], start[k + 1])
        others = size - (start[k + 1] - start[k])
        share = 1.0 / others if others > 0 else 0.0
        base = -(size * share) * matrix.pull
        fill_scores(out[k], matrix, base, size * share, items[own], alpha[own] + share)
        for j in range(size):
            terms = abs(out[k, j] - base[j]) + abs(base[j])
            out[k, j] = settled(out[k, j], terms, SUMS) - share


@parallel
def look(gaps, weights, scores, signs, regs):
    """The duality gap of each profile at its weights, whose scores are K·(signs·weights)."""
    for k in prange(len(weights)):
        inner, least_own, least_other = 0.0, np.inf, np.inf
        for j in range(weights.shape[1]):
            if signs[k, j] > 0:
                g = scores[k, j] + regs[0] * weights[k, j]
                least_own = min(least_own, g)
            else:
                g = regs[1] * weights[k, j] - scores[k, j]
                least_other = min(least_other, g)
            inner += weights[k, j] * g
        gaps[k] = 2 * (inner - least_own - (least_other if least_other < np.inf else 0.0))


@parallel
def step(weights, before, scores, scores_before, signs, regs, metric, ages):
    """One accelerated step of each profile: along the gradient ahead of it, back to the simplices.

    ``metric`` bounds the curvature for a profile's own items and the others. Where the step turns
    against the last one, the acceleration starts anew.
    """
    size = weights.shape[1]
    for k in prange(len(weights)):
        age = ages[k]
        older = (1.0 + np.sqrt(1.0 + 4.0 * age * age)) / 2.0
        ahead = (age - 1.0) / older
        to = np.empty(size)
        for j in range(size):
            which = 0 if signs[k, j] > 0 else 1
            w = weights[k, j] + ahead * (weights[k, j] - before[k, j])
            s = scores[k, j] + ahead * (scores[k, j] - scores_before[k, j])
            to[j] = w - (signs[k, j] * s + regs[which] * w) / metric[k, which]
        _project(to, signs[k], 1.0)
        _project(to, signs[k], -1.0)
        turned = 0.0
        for j in range(size):
            which = 0 if signs[k, j] > 0 else 1
            now = weights[k, j]
            w = now + ahead * (now - before[k, j])
            turned += metric[k, which] * (w - to[j]) * (to[j] - now)
            before[k, j] = now
            scores_before[k, j] = scores[k, j]
            weights[k, j] = to[j]
        ages[k] = 1.0 if turned > 0 else older


@njit(cache=True)
def _project(values, signs, sign):
    """The nearest point of the simplex over the places with that sign.

    What is above the threshold is cut by it; the threshold follows from what is above it.
    """
    threshold, used = -np.inf, -1
    while True:
        total, count = 0.0, 0
        for j in range(len(values)):
            if signs[j] == sign and values[j] > threshold:
                total += values[j]
                count += 1
        if count in (used, 0):
            break
        threshold, used = (total - 1.0) / count, count
    for j in range(len(values)):
        if signs[j] == sign:
            values[j] = max(values[j] - threshold, 0.0)
