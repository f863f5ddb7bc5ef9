"""Small convex problems over the probability simplex, solved until their duality gap is small.

    minimise  αᵀAα - 2·bᵀα  over α >= 0, Σα = 1,     A = K + reg·1

Pairwise steps find the weights above 0: each moves weight from the coordinate of largest gradient,
among those with weight, to the one of least gradient, exactly to the minimum along their line.
They need only the rows of A that ever have weight, so only these are looked up. Conjugate gradients
then solve for the weights of that face in a few products. Both take turns until the face is right;
each only lowers the objective. Half the gradient, g = Aα - b, is kept up to date; the gap
2·(αᵀg - min g) bounds the distance of the objective from its minimum.

NaN and infinity end the loops early: comparisons are written so that NaN stops them.
"""

from __future__ import annotations

import numpy as np

from .compiler import loop
from .matrix import fill_row, own_of
from .vectors import add_rows, product

# The gap, relative to the unit, at which a face is good enough to be solved for.
_COARSE = 1e-6
# No problem met needs more turns; a nearly singular one may end with a larger gap.
_MOST_TURNS = 100


@loop
def solve(matrix, items, reg, b, tolerance, unit, alpha, room, ready):
    """Solve the problem of one profile: fill alpha; return the gap, infinite for NaN.

    ``unit`` is the largest number on A's diagonal. ``room`` is scratch for twice as many numbers as
    A has; it begins with the rows of A that are ``ready``.
    """
    size = len(items)
    A, inner = room[: size * size].reshape((size, size)), room[size * size :]
    g = np.empty(size)
    best = np.int64(0)
    for k in range(size):
        alpha[k] = 0.0
        if b[k] > b[best]:
            best = k
    alpha[best] = 1.0
    if not ready[best]:
        _fill(A, ready, matrix, items, reg, best)
    for k in range(size):
        g[k] = A[best, k] - b[k]
    gap, target = np.inf, _COARSE * unit
    for _ in range(_MOST_TURNS):
        target = max(target, tolerance)
        gap = _pairwise(matrix, items, reg, b, target, 100 + 10 * size, alpha, A, g, ready)
        if not gap > tolerance:
            break
        _on_face(A, b, tolerance / 4, alpha, g, inner)
        target = 0.1 * min(target, gap)
    return np.inf if np.isnan(gap) else gap


@loop
def _fill(A, ready, matrix, items, reg, i):
    fill_row(A[i], A, ready, matrix, items, i)
    A[i, i] = own_of(matrix.distance, items[i]) + reg
    ready[i] = True


@loop
def _pairwise(matrix, items, reg, b, target, most_steps, alpha, A, g, ready):
    """Move weight between the least g of all and the largest with weight, to a target gap.

    αᵀg follows from the last step, as αᵀA_i is g_i + b_i: a dot product took a third of the time.
    """
    size = len(g)
    # Less g, ``without`` is least for the largest g of those with weight.
    without, giving, room = np.empty(size), np.empty(size), np.empty(size // 8)
    i = j = np.int64(0)
    for k in range(size):
        without[k] = np.inf
        if alpha[k] > 0:
            without[k] = 0.0
            i = j = k  # nothing moves before the first look
    mean, gap, move = product(alpha, g), np.inf, 0.0
    for _ in range(most_steps):
        to, of = A[i], A[j]
        for k in range(size):
            g[k] += move * (to[k] - of[k])
            giving[k] = without[k] - g[k]
        i, j = _least(g, room), _least(giving, room)
        gap = 2 * (mean - g[i])
        if not (gap > target and g[j] > g[i]):
            gap = 2 * (product(alpha, g) - g[i])
            break
        if not ready[i]:
            _fill(A, ready, matrix, items, reg, i)
        curvature = A[i, i] + A[j, j] - 2 * A[i, j]
        move = (g[j] - g[i]) / curvature if curvature > 0 else np.inf
        if move >= alpha[j]:
            move = alpha[j]
            alpha[j], without[j] = 0.0, np.inf
        else:
            alpha[j] -= move
        alpha[i] += move
        without[i] = 0.0
        mean += move * (2 * (g[i] - g[j]) + b[i] - b[j] + move * curvature)
    return gap


@loop
def _least(values, room):
    """Return where the least value is: of eight parts at once, element by element, as vectors can.

    With NaN among the values, return any place.
    """
    part = len(values) // 8
    for k in range(part):
        a = min(values[k], values[k + part])
        b = min(values[k + 2 * part], values[k + 3 * part])
        c = min(values[k + 4 * part], values[k + 5 * part])
        d = min(values[k + 6 * part], values[k + 7 * part])
        room[k] = min(a, b, c, d)
    at, least = 0, np.inf
    for k in range(part):
        if room[k] < least:
            at, least = k, room[k]
    for k in range(8 * part, len(values)):
        if values[k] < least:
            at, least = k, values[k]
    step = max(part, 1)
    while values[at] != least and at + step < len(values):
        at += step
    return at


@loop
def _on_face(A, b, tolerance, alpha, g, room):
    """Renew alpha and g by conjugate gradients over the weights above 0.

    Weights that reach 0 on the way are dropped.
    """
    support, used = np.empty(len(alpha), np.int32), 0
    for k in range(len(alpha)):
        if alpha[k] != 0:
            support[used] = k
            used += 1
    support, inner = support[:used], room[: used * used].reshape((used, used))
    x, rest, ahead, along = np.empty(used), np.empty(used), np.zeros(used), np.empty(used)
    everywhere, free, residual = np.empty(used, np.int32), np.empty(used), np.empty(used)
    for s in range(used):
        row = A[support[s]]
        for t in range(used):
            inner[s, t] = row[support[t]]
        x[s], rest[s] = alpha[support[s]], -g[support[s]]
        everywhere[s], free[s] = s, 1.0
    n_free, before = used, 0.0
    for _ in range(2 * used + 10):
        mean = product(rest, free) / n_free
        for s in range(used):
            residual[s] = (rest[s] - mean) * free[s]
        norm = product(residual, residual)
        if not norm > tolerance * tolerance:
            break
        turn = norm / before if before > 0 else 0.0
        before = norm
        for s in range(used):
            ahead[s] = residual[s] + turn * ahead[s]
            along[s] = 0.0
        add_rows(along, inner, everywhere, ahead)
        curvature = product(ahead, along)
        step, dropped = norm / curvature if curvature > 0 else np.inf, -1
        for s in range(used):
            if x[s] + step * ahead[s] < 0:
                step, dropped = -x[s] / ahead[s], s
        if not step < np.inf:
            break
        for s in range(used):
            x[s] += step * ahead[s]
            rest[s] -= step * along[s]
        if dropped >= 0:
            x[dropped] = free[dropped] = before = 0.0
            n_free -= 1
    total = 0.0
    for s in range(used):
        x[s] = max(x[s], 0.0)
        total += x[s]
    if not total > 0:
        return
    for s in range(used):
        x[s] /= total
        alpha[support[s]] = x[s]
    for k in range(len(g)):
        g[k] = -b[k]
    add_rows(g, A, support, x)
