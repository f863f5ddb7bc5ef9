"""Profiles against all other items: their mean (ECF-OMD), or each with a weight (CF-OMD).

CF-OMD: given the weights β of the others, those of a profile's own items are a problem as small as
CF-KOMD's, and solved as such. So β alone is searched for, by accelerated gradient steps back to the
simplex. Their curvature is at most that of K plus negative_reg, and at least negative_reg: with the
default a handful of steps is enough. A step needs K·β. Profiles pass through lanes, so that one
pass over the matrix serves all lanes, and a lane that is done takes the next profile. No sum
crosses lanes.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop, ranged
from .lanes import multiply, room_of
from .scores import fill_scores
from .simplex import solve
from .vectors import copy_to
from .weights import SUMS, settled

# Profiles that share a pass over the matrix; half as many take a third longer each.
LANES = 32
# The curvature of K assumed at first, as a part of its largest eigenvalue.
_FIRST_BEND = 0.125
# The gap of a profile's own problem, as a part of that allowed.
_OWN_GAP = 0.1
# Scores are rounded to about 2^-36 of their terms: weights of equal items differ by less.
_GRID = 2.0**16


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


@ranged(lambda out, *_: (-(-len(out[0]) // LANES), 64 * out[0].size))
def margin_scores(begin, end, out, matrix, factor, start, items, regs, exact, largest, most_steps):
    """Fill with the scores of all items, the weights of own ones, and the duality gaps.

    ``out`` is (scores, alpha, gaps). The problem of a profile is solved when its gap is at most
    that of ``exact``. ``largest`` bounds the eigenvalues of the matrix; ``factor`` is for
    `multiply`.
    """
    scores, alpha, gaps = out
    size, waiting, last = scores.shape[1], begin * LANES, min(end * LANES, len(scores))
    width, longest = min(LANES, last - waiting), 0
    for k in range(waiting, last):
        longest = max(longest, start[k + 1] - start[k])
    room, whole = np.empty(2 * longest * longest), size * matrix.pull + 1.0
    # Weights and their products, now and before.
    lanes, mine = np.zeros((4, width, size)), np.zeros((width, size), np.bool_)
    profiles, steps = np.full(width, -1), np.zeros(width, np.int64)
    ages, bends = np.ones(width), np.zeros(width)
    inside, product = np.zeros((size, width)), np.zeros((size, width))
    more = room_of(factor, width)
    while True:
        busy = False
        for lane in range(width):
            k = profiles[lane]
            weights, before, pulls, pulls_before = lanes[:, lane]
            if k >= 0:
                own, row = items[start[k] : start[k + 1]], scores[k]
                copy_to(pulls, product[:, lane])
                of_own = alpha[start[k] : start[k + 1]]
                gaps[k] = _gap(weights, pulls, row, mine[lane], own, of_own, regs)
                bends[lane] = _bend(bends[lane], largest, weights, before, pulls, pulls_before)
                if not gaps[k] > exact[k] or steps[lane] == most_steps:  # NaN ends it
                    for j in range(size):
                        row[j] = settled(row[j] - pulls[j], row[j] + pulls[j], _GRID)
                    k, profiles[lane], inside[:, lane] = -1, -1, 0.0
            if k < 0:
                if waiting == last:
                    continue
                k, profiles[lane], waiting = waiting, waiting, waiting + 1
                own = items[start[k] : start[k + 1]]
                _begin(weights, pulls, mine[lane], whole, matrix, own)
                before[:], pulls_before[:] = weights, pulls
                steps[lane], ages[lane], bends[lane] = 0, 1.0, _FIRST_BEND * largest
            of_own, problem = alpha[start[k] : start[k + 1]], (regs, exact[k], bends[lane])
            ages[lane] = _step(
                lanes[:, lane],
                mine[lane],
                scores[k],
                matrix,
                own,
                of_own,
                problem,
                ages[lane],
                room,
            )
            inside[:, lane] = weights
            steps[lane] += 1
            busy = True
        if not busy:
            break
        multiply(product, inside, matrix, factor, more)


@loop
def _begin(weights, pulls, mine, whole, matrix, own):
    """Spread the weight evenly over the others; fill in its product, from ``whole`` columns."""
    share = 1.0 / max(len(weights) - len(own), 1)
    fill_scores(pulls, matrix, whole, 0.0, own, np.full(len(own), -1.0))
    mine[:] = False
    for item in own:
        mine[item] = True
    for j in range(len(weights)):
        weights[j] = 0.0 if mine[j] else share
        pulls[j] *= share


@loop
def _gap(weights, pulls, reached, mine, own, alpha, regs):
    """Return the duality gap; ``reached`` is K times the weights of own items."""
    inner, least_own, least_other = 0.0, np.inf, np.inf
    for s in range(len(own)):
        g = reached[own[s]] - pulls[own[s]] + regs[0] * alpha[s]
        inner += alpha[s] * g
        least_own = min(least_own, g)
    for j in range(len(weights)):
        if not mine[j]:
            g = regs[1] * weights[j] - (reached[j] - pulls[j])
            inner += weights[j] * g
            least_other = min(least_other, g)
    for least in (least_own, least_other):
        inner -= least if least < np.inf else 0.0  # of no items
    return 2 * inner


@loop
def _bend(bend, largest, weights, before, pulls, pulls_before):
    """Return the curvature to assume: twice that of the last step, if it was above that assumed."""
    square, curvature = 0.0, 0.0
    for j in range(len(weights)):
        change = weights[j] - before[j]
        square += change * change
        curvature += change * (pulls[j] - pulls_before[j])
    return min(2 * curvature / square, largest) if curvature > bend * square else bend


@loop
def _step(lane, mine, reached, matrix, own, alpha, problem, age, room):
    """Make one step of a profile: solve for own items, then move along the gradient.

    Return the age of the acceleration, which starts anew if the step turns against the last one.
    """
    weights, before, pulls, pulls_before = lane
    regs, exact, bend = problem
    size, steepest = len(weights), bend + regs[1]
    older = (1.0 + np.sqrt(1.0 + 4.0 * age * age)) / 2.0
    root = np.sqrt(steepest / regs[1]) if regs[1] > 0 else np.inf
    ahead = (age - 1.0) / older
    if root < np.inf:
        ahead = min(ahead, (root - 1.0) / (root + 1.0))
    b, nothing, to = np.empty(len(own)), np.zeros(size), np.empty(size)
    for s in range(len(own)):
        i = own[s]
        b[s] = pulls[i] + ahead * (pulls[i] - pulls_before[i])
    if len(own):
        unit, ready = 1.0 + regs[0], np.zeros(len(own), np.bool_)
        solve(matrix, own, regs[0], b, _OWN_GAP * exact, unit, alpha, room, ready)
    fill_scores(reached, matrix, nothing, 0.0, own, alpha)
    for j in range(size):
        w = weights[j] + ahead * (weights[j] - before[j])
        p = pulls[j] + ahead * (pulls[j] - pulls_before[j])
        to[j] = -np.inf if mine[j] else w - (regs[1] * w - (reached[j] - p)) / steepest
    _project(to)
    turned = 0.0
    for j in range(size):
        now = weights[j]
        w = now + ahead * (now - before[j])
        turned += (w - to[j]) * (to[j] - now)
        before[j], pulls_before[j], weights[j] = now, pulls[j], to[j]
    return 1.0 if turned > 0 else older


@loop
def _project(values):
    """Replace the values by the nearest point of the simplex; -inf is replaced by 0.

    The threshold is subtracted from the values above it. It rises until no value drops out: each
    round but the last drops at least one, which bounds their number for any values.
    """
    threshold, used = -np.inf, len(values) + 1
    while True:
        total, count = 0.0, 0
        for j in range(len(values)):
            if values[j] > threshold:
                total += values[j]
                count += 1
        if count >= used or count == 0:
            break
        threshold, used = (total - 1.0) / count, count
    for j in range(len(values)):
        values[j] = max(values[j] - threshold, 0.0) if values[j] > -np.inf else 0.0
