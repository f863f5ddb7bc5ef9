"""Values of pairs of counts looked up in tables.

Each loop fills ``out[i, j]`` from ``x[i]``, ``z[i or 0, j]`` and ``c[i, j]``, and returns how many
pairs had counts that no two vectors over n variables can have: their values are not to be used.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange


@njit(inline="always")
def _inclusion_exclusion(ahi, alo, bhi, blo, uhi, ulo):
    """The sum a + b - u in twice the precision, as it may cancel all but the last digits."""
    s = ahi + bhi
    t = s - ahi
    e = (ahi - (s - t)) + (bhi - t)
    d = s - uhi
    t = d - s
    e += (s - (d - t)) - (uhi + t)
    return d + (e + (alo + blo - ulo))


@njit(parallel=True, cache=True)
def union_values(out, x, z, c, n, hi, lo, root):
    """(f(x) + f(z) - f(u))·root(x)·root(z), with f = hi + lo."""
    rows, columns = out.shape
    step = min(z.shape[0] - 1, 1)  # 0 where all rows share one row of z
    bad = 0
    for i in prange(rows):
        xi = x[i, 0]
        ahi, alo, ri = hi[xi], lo[xi], root[xi]
        zs = z[np.int64(i) * step]
        cs = c[i]
        wrong = 0
        for j in range(columns):
            zj = zs[j]
            k = np.int64(cs[j])
            u = xi + zj - k
            good = (k == cs[j]) & (k >= 0) & (k <= xi) & (k <= zj) & (u <= n)
            wrong += not good
            u = u if good else 0
            value = _inclusion_exclusion(ahi, alo, hi[zj], lo[zj], hi[u], lo[u])
            out[i, j] = value * (ri * root[zj])
        bad += wrong
    return bad


@njit(parallel=True, cache=True)
def one_count_values(out, x, z, c, n, agreeing, start, value, value_exp, root, root_exp):
    """f(c) or f(s), times root(x)·root(z); each table has doubles and exponents of two."""
    rows, columns = out.shape
    step = min(z.shape[0] - 1, 1)
    plain = not (value_exp.any() or root_exp.any())
    bad = 0
    for i in prange(rows):
        xi = x[i, 0]
        ri, ei = root[xi], root_exp[xi]
        zs = z[np.int64(i) * step]
        cs = c[i]
        wrong = 0
        for j in range(columns):
            zj = zs[j]
            k = np.int64(cs[j])
            good = (k == cs[j]) & (k >= 0) & (k <= xi) & (k <= zj) & (xi + zj - k <= n)
            wrong += not good
            k = n - xi - zj + 2 * k if agreeing else k
            k = k - start if good else 0
            v = value[k] * ri * root[zj]
            if not plain and v != 0.0:
                e = value_exp[k] + ei + root_exp[zj]
                v = math.ldexp(v, np.int32(max(min(e, np.int64(5000)), np.int64(-5000))))
            out[i, j] = v
        bad += wrong
    return bad
