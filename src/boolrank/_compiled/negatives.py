"""Profiles against all other items: their mean (ECF-OMD), or each with a weight (CF-OMD).

``mean_scores`` is for the first. For the second, ``look`` and ``step`` are the work on many
profiles between two products with the kernel matrix.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .scores import fill_scores
from .weights import SUMS, settled


@ranged(lambda out, *_: (len(out), out.size))
def mean_scores(begin, end, out, matrix, start, items, alpha):
    """Fill ``out`` with Σ α_i·K_ij over a profile's items, less the mean of K_ij over the others.

    The sum over the others is that over all, from ``pull`` and the diagonal, less the profile's.
    """
    size = out.shape[1]
    base = np.empty(size)
    for k in range(begin, end):
        first, last, row = start[k], start[k + 1], out[k]
        others = size - (last - first)
        share = 1.0 / others if others > 0 else 0.0
        weights = np.empty(last - first)
        for s in range(first, last):
            weights[s - first] = alpha[s] + share
        for j in range(size):
            base[j] = -(size * share) * matrix.pull[j]
        against, own = size * share, items[first:last]
        fill_scores(row, matrix, base, against, own, weights)
        for j in range(size):
            terms = abs(row[j] - base[j]) + abs(base[j])
            row[j] = settled(row[j], terms, SUMS) - share


@ranged(lambda _gaps, weights, *_: (len(weights), weights.size))
def look(begin, end, gaps, weights, scores, signs, regs):
    """Fill with the duality gap of each profile; ``scores`` are K·(signs·weights)."""
    for k in range(begin, end):
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


@ranged(lambda _out, scores, *_: (len(scores), 4 * scores.size))
def step(begin, end, out, scores, signs, regs, metric):
    """Make one accelerated step of each profile, along the gradient ahead, back to the simplices.

    ``out`` has the weights, the weights and scores before, and the ages of the accelerations.
    ``metric`` bounds the curvature for a profile's own items and the others. The acceleration
    starts anew if the step turns against the last one.
    """
    weights, before, scores_before, ages = out
    size = weights.shape[1]
    to = np.empty(size)
    for k in range(begin, end):
        age = ages[k]
        older = (1.0 + np.sqrt(1.0 + 4.0 * age * age)) / 2.0
        ahead = (age - 1.0) / older
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


@loop
def _project(values, signs, sign):
    """Replace the values of one sign by the nearest point of their simplex.

    The threshold is subtracted from the values above it. It rises until no value drops out: each
    round but the last drops at least one, which bounds their number for any values.
    """
    threshold, used = -np.inf, len(values) + 1
    while True:
        total, count = 0.0, 0
        for j in range(len(values)):
            if signs[j] == sign and values[j] > threshold:
                total += values[j]
                count += 1
        if count >= used or count == 0:
            break
        threshold, used = (total - 1.0) / count, count
    for j in range(len(values)):
        if signs[j] == sign:
            values[j] = max(values[j] - threshold, 0.0)
