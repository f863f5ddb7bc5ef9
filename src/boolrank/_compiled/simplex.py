"""Small convex problems over the probability simplex, until their duality gap is small.

    minimise  αᵀAα - 2·bᵀα  over α >= 0, Σα = 1,     A = K + reg·1

Pairwise steps find out which weights are above 0: each moves weight between the pair of coordinates
of least and, among those with weight, largest gradient, exactly to the minimum along their line.
They need the rows of A that ever have weight, so only these are looked up. Conjugate gradients then
solve for the weights of that face in a few products, and pairwise steps go on from there if the
face was not the right one, and so on in turns; each only ever lowers the objective. Half the
gradient, g = Aα - b, is kept up to date; the gap 2·(αᵀg - min g) bounds how far the objective is
above its minimum.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .linear import add_rows
from .matrix import fill_row, own_of

# The gap, relative to the unit, at which a face is good enough to be solved for.
_COARSE = 1e-6
# So many turns are enough for every problem met; a nearly singular one may end with a larger gap.
_MOST_TURNS = 100
_REORDERED = {"nnan", "nsz", "reassoc", "contract"}


@njit(cache=True)
def solve(matrix, items, reg, b, tolerance, unit, alpha, room):
    """Solve the problem of one profile: fill alpha; return the gap.

    ``unit`` is the largest number on A's diagonal; ``room`` is scratch for twice as many
    numbers as the problem's matrix has.
    """
    size = len(items)
    A, inner = room[: size * size].reshape((size, size)), room[size * size :]
    ready = np.zeros(size, np.bool_)
    best = 0
    for k in range(size):
        alpha[k] = 0.0
        if b[k] > b[best]:
            best = k
    alpha[best] = 1.0
    _fill(A, ready, matrix, items, reg, best)
    g = A[best] - b
    gap, target = np.inf, _COARSE * unit
    for _ in range(_MOST_TURNS):
        target = max(target, tolerance)
        gap = _pairwise(matrix, items, reg, target, 100 + 10 * size, alpha, A, g, ready)
        if gap <= tolerance:
            break
        _on_face(A, b, tolerance / 4, alpha, g, inner)
        target = 0.1 * min(target, gap)
    return gap


@njit(cache=True)
def _fill(A, ready, matrix, items, reg, i):
    fill_row(A, ready, matrix, items, i)
    A[i, i] = own_of(matrix, items[i]) + reg
    ready[i] = True


@njit(cache=True, error_model="numpy", fastmath=_REORDERED)
def _pairwise(matrix, items, reg, target, most_steps, alpha, A, g, ready):
    """Steps between the least g of all and the largest of those with weight, to a target gap."""
    size = len(g)
    # Less g, this is least for the largest g of those with weight.
    without = np.where(alpha > 0, 0.0, np.inf)
    giving, room = np.empty(size), np.empty(size // 8)
    i = j = np.argmax(alpha)  # nothing moves before the first look
    gap, move = np.inf, 0.0
    for _ in range(most_steps):
        inner = 0.0
        for k in range(size):
            g[k] += move * (A[i, k] - A[j, k])
            giving[k] = without[k] - g[k]
            inner += alpha[k] * g[k]
        i, j = _least(g, room), _least(giving, room)
        gap = 2 * (inner - g[i])
        if gap <= target or g[j] <= g[i]:
            break
        if not ready[i]:
            _fill(A, ready, matrix, items, reg, i)
        move = (g[j] - g[i]) / (A[i, i] + A[j, j] - 2 * A[i, j])
        if move >= alpha[j]:
            move = alpha[j]
            alpha[j], without[j] = 0.0, np.inf
        else:
            alpha[j] -= move
        alpha[i] += move
        without[i] = 0.0
    return gap


@njit(cache=True, fastmath=_REORDERED)
def _least(values, room):
    """Where the least value is: of eight parts at once, element by element, as vectors can."""
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
    while values[at] != least:
        at += part
    return at


@njit(cache=True, error_model="numpy", fastmath=_REORDERED)
def _on_face(A, b, tolerance, alpha, g, room):
    """Conjugate gradients over the weights above 0, those that reach it dropped on the way.

    Renews alpha and g.
    """
    support = np.flatnonzero(alpha)
    used = len(support)
    inner = room[: used * used].reshape((used, used))
    x, rest, ahead, product = np.empty(used), np.empty(used), np.zeros(used), np.empty(used)
    for s in range(used):
        row = A[support[s]]
        for t in range(used):
            inner[s, t] = row[support[t]]
        x[s], rest[s] = alpha[support[s]], -g[support[s]]
    everywhere, free, before = np.arange(used), np.ones(used), 0.0
    for _ in range(2 * used + 10):
        mean, norm = 0.0, 0.0
        for s in range(used):
            mean += rest[s] * free[s]
        mean /= free.sum()
        for s in range(used):
            residual = (rest[s] - mean) * free[s]
            norm += residual * residual
        if norm <= tolerance * tolerance:
            break
        turn = norm / before if before > 0 else 0.0
        before = norm
        for s in range(used):
            ahead[s] = (rest[s] - mean) * free[s] + turn * ahead[s]
        product[:] = 0.0
        add_rows(product, inner, everywhere, ahead)
        curvature = 0.0
        for s in range(used):
            curvature += ahead[s] * product[s]
        step, dropped = norm / curvature, -1
        for s in range(used):
            if x[s] + step * ahead[s] < 0:
                step, dropped = -x[s] / ahead[s], s
        for s in range(used):
            x[s] += step * ahead[s]
            rest[s] -= step * product[s]
        if dropped >= 0:
            x[dropped] = free[dropped] = before = 0.0
    x = np.maximum(x, 0.0)
    x /= x.sum()
    alpha[support] = x
    g[:] = -b
    add_rows(g, A, support, x)
