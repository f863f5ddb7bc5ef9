"""Small convex problems over the probability simplex, until their duality gap is small.

    minimise  αᵀAα - 2·bᵀα  over α >= 0, Σα = 1

Each step moves weight between the pair of coordinates that promises the largest decrease, exactly
to the minimum along their line; half the gradient, g = Aα - b, is kept up to date. The gap
2·(αᵀg - min g) bounds how far the objective is above its minimum.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy", fastmath={"nnan", "nsz"})
def solve(A, own, b, size, tolerance, most_steps, alpha, g, support):
    """Solve for the leading `size` rows and columns of A, whose diagonal is `own` as well.

    Fills alpha; g and support are scratch. Returns the gap and the number of steps.
    """
    best = 0
    for i in range(1, size):
        if own[i] - 2 * b[i] < own[best] - 2 * b[best]:
            best = i
    low = np.inf
    for k in range(size):
        alpha[k] = 0.0
        g[k] = A[best, k] - b[k]
        low = min(low, g[k])
    alpha[best] = 1.0
    support[0], used = best, 1
    gap = np.inf
    for step in range(most_steps):
        i = 0
        while g[i] != low:
            i += 1
        row = A[i]
        gap = 0.0
        at, most = -1, 0.0
        for s in range(used):
            k = support[s]
            slope = g[k] - low
            gap += 2 * alpha[k] * slope
            width = own[i] + own[k] - 2 * row[k]
            # Compared by products: divisions would be half of the time.
            if slope * slope > most * width:
                at, most = s, slope * slope / width
        if gap <= tolerance or at < 0:
            return gap, step
        j = support[at]
        move = (g[j] - low) / (own[i] + own[j] - 2 * row[j])
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
        for k in range(size):
            g[k] += move * (row[k] - other[k])
            low = min(low, g[k])
    return gap, most_steps
