"""Draws without replacement, step by step, in twice the precision of a double."""

from __future__ import annotations

import numpy as np

from .compiler import loop


@loop
def add(ahi, alo, bhi, blo):
    s = ahi + bhi
    t = s - ahi
    e = (ahi - (s - t)) + (bhi - t) + (alo + blo)
    hi = s + e
    return hi, e - (hi - s)


@loop
def _product_error(a, b, p):
    t = 134217729.0 * a
    ah = t - (t - a)
    al = a - ah
    t = 134217729.0 * b
    bh = t - (t - b)
    bl = b - bh
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl


@loop
def _times_ratio(ahi, alo, top, bottom):
    """Return a·top/bottom for whole numbers below 2^53."""
    p = ahi * top
    e = _product_error(ahi, top, p) + alo * top
    q = p / bottom
    r = q * bottom
    rest = ((p - r) - _product_error(q, bottom, r) + e) / bottom
    hi = q + rest
    return hi, rest - (hi - q)


@loop
def hit_shares(n, d, top):
    """Return 1 - C(n-t, d)/C(n, d) for t = 0..top, as sums hi + lo: each adds to the one before."""
    hi = np.zeros(top + 1)
    lo = np.zeros(top + 1)
    missed_hi, missed_lo = 1.0, 0.0
    for t in range(top):
        now_hi, now_lo = _times_ratio(missed_hi, missed_lo, np.float64(d), np.float64(n - t))
        if t + d >= n or now_hi >= missed_hi:
            for u in range(t, top):
                hi[u + 1] = 1.0  # every subset meets so large a set
            break
        hi[t + 1], lo[t + 1] = add(hi[t], lo[t], now_hi, now_lo)
        missed_hi, missed_lo = add(missed_hi, missed_lo, -now_hi, -now_lo)
    return hi, lo
