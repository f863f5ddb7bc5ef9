"""Small convex problems over the probability simplex, until their duality gap is small.

    minimise  αᵀAα - 2·bᵀα  over α >= 0, Σα = 1,     A = K + reg·1, with 1 + reg on its diagonal

Pairwise steps find out which weights are above 0: each moves weight between the pair of coordinates
that promises the largest decrease, exactly to the minimum along their line. They need the rows of A
that ever have weight, so only these are looked up. Conjugate gradients then solve for the weights
of that face in a few products, and pairwise steps go on from there if the face was not the right
one. Half the gradient, g = Aα - b, is kept up to date; the gap 2·(αᵀg - min g) bounds how far the
objective is above its minimum.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .linear import add_rows
from .matrix import fill_row

# The gap, relative to 1 + reg, at which a face is good enough to be solved for.
_COARSE = 1e-5
# After so many faces, pairwise steps alone go to the end: they always get there.
_MOST_FACES = 8
# Entries that are searched for the least one at once.
_CHUNK = 64
_REORDERED = {"nnan", "nsz", "reassoc", "contract"}


@njit(cache=True)
def solve(matrix, items, diagonal, b, tolerance, most_steps, alpha, room):
    """Solve the problem of one profile: fill alpha; return the gap and the number of steps.

    ``room`` is scratch for twice as many numbers as the problem's matrix has.
    """
    size = len(items)
    A, inner = room[: size * size].reshape((size, size)), room[size * size :]
    ready, support = np.zeros(size, np.bool_), np.empty(size + 1, np.int64)
    best = 0
    for k in range(size):
        alpha[k] = 0.0
        if b[k] > b[best]:
            best = k
    g = _row(A, ready, matrix, items, diagonal, best) - b
    alpha[best] = 1.0
    support[0], used = best, 1
    target, steps, faces = _COARSE * diagonal, 0, 0
    while True:
        target = max(target, tolerance) if faces < _MOST_FACES else tolerance
        gap, used, taken = _pairwise(
            matrix, items, diagonal, target, most_steps - steps, alpha, A, g, support, ready, used
        )
        steps += taken
        if gap <= tolerance or steps >= most_steps:
            return gap, steps
        used = _on_face(A, b, tolerance / 4, alpha, g, support, used, inner)
        faces += 1
        target = 0.1 * min(target, gap)


@njit(inline="always")
def _row(A, ready, matrix, items, diagonal, i):
    if not ready[i]:
        fill_row(A, ready, matrix, items, i)
        A[i, i] = diagonal
        ready[i] = True
    return A[i]


@njit(cache=True, error_model="numpy", fastmath=_REORDERED)
def _pairwise(matrix, items, diagonal, target, most_steps, alpha, A, g, support, ready, used):
    """Pairwise steps until the gap is at the target; the gap, the size of the support, steps."""
    size = len(g)
    low, chunk = np.inf, 0
    for k in range(size):
        if g[k] < low:
            low, chunk = g[k], k
    gap = np.inf
    for step in range(most_steps):
        i = chunk
        while g[i] != low:
            i += 1
        row = _row(A, ready, matrix, items, diagonal, i)
        gap = 0.0
        at, most = -1, 0.0
        for s in range(used):
            k = support[s]
            slope = g[k] - low
            gap += 2 * alpha[k] * slope
            width = diagonal - row[k]
            # Compared by products: divisions would be half of the time.
            if slope * slope > most * width:
                at, most = s, slope * slope / width
        if gap <= target or at < 0:
            return gap, used, step
        j = support[at]
        move = (g[j] - low) / (2 * (diagonal - row[j]))
        if alpha[i] == 0.0:
            support[used] = i
            used += 1
        if move >= alpha[j]:
            move = alpha[j]
            alpha[j] = 0.0
            used -= 1
            support[at] = support[used]
        else:
            alpha[j] -= move
        alpha[i] += move
        other = A[j]
        low = np.inf
        for first in range(0, size, _CHUNK):
            least = np.inf
            for k in range(first, min(first + _CHUNK, size)):
                g[k] += move * (row[k] - other[k])
                least = min(least, g[k])
            if least < low:
                low, chunk = least, first
    return gap, used, most_steps


@njit(cache=True, error_model="numpy", fastmath=_REORDERED)
def _on_face(A, b, tolerance, alpha, g, support, used, room):
    """Conjugate gradients over the weights of the support, those that reach 0 dropped on the way.

    Renews alpha, g and the support; returns its size.
    """
    inner = room[: used * used].reshape((used, used))
    x, rest, ahead, product = np.empty(used), np.empty(used), np.zeros(used), np.empty(used)
    for s in range(used):
        row = A[support[s]]
        for t in range(used):
            inner[s, t] = row[support[t]]
        x[s], rest[s] = alpha[support[s]], -g[support[s]]
    everywhere = np.arange(used)
    before = 0.0
    for _ in range(used + 10):
        mean, free = 0.0, 0
        for s in range(used):
            if x[s] > 0:
                mean += rest[s]
                free += 1
        mean /= free
        norm, worst = 0.0, 0.0
        for s in range(used):
            residual = rest[s] - mean if x[s] > 0 else 0.0
            norm += residual * residual
            worst = max(worst, abs(residual))
        if worst <= tolerance:
            break
        turn = norm / before if before > 0 else 0.0
        before = norm
        for s in range(used):
            ahead[s] = (rest[s] - mean) + turn * ahead[s] if x[s] > 0 else 0.0
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
            x[dropped] = before = 0.0
    kept, total = 0, 0.0
    for s in range(used):
        i = support[s]
        alpha[i] = 0.0
        if x[s] > 0:
            support[kept], x[kept] = i, x[s]
            total += x[s]
            kept += 1
    for s in range(kept):
        x[s] /= total
        alpha[support[s]] = x[s]
    g[:] = -b
    add_rows(g, A, support[:kept], x[:kept])
    return kept
