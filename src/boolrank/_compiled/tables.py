"""Values of pairs of counts looked up in tables.

Pairs come as a grid, sizes x of rows and z of columns with common counts c[i, j], or as a list with
x[k], z[k] and c[k]. Each loop goes over stretches, checks the counts of a stretch first (no two
vectors over n variables have c > x, c > z or x + z - c > n, and no count is broken), and only then
uses them to address tables. Returned is whether all counts were possible.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from .loops import parallel

_STRETCH = 4096


@njit(inline="always")
def _signs(x, z, k, n):
    """Negative exactly where the counts are impossible: a sign bit of one of four differences."""
    return k | (x - k) | (z - k) | (n - (x + z - k))


@njit(inline="always")
def _scaled(value, exponent):
    """The value times a power of two of any size."""
    return math.ldexp(value, np.int32(max(min(exponent, np.int64(5000)), np.int64(-5000))))


@parallel
def union_grid(out, x, z, c, n, hi, lo, root):
    """(f(x) + f(z) - f(u))·root(x)·root(z), with f = hi + lo.

    All hi are multiples of 2^-40 below 2, so that their sum is exact; the lo carry the rest.
    """
    rows, columns = out.shape
    z_hi, z_lo, z_root = hi[z], lo[z], root[z]
    impossible = 0
    for i in prange(rows):
        xi = x[i]
        signs, broken = np.int64(0), False
        for j in range(columns):
            k = np.int64(c[i, j])
            signs |= _signs(xi, z[j], k, n)
            broken |= k != c[i, j]
        if signs < 0 or broken:
            impossible += 1
            continue
        x_hi, x_lo, x_root = hi[xi], lo[xi], root[xi]
        for j in range(columns):
            u = xi + z[j] - np.int64(c[i, j])
            value = (x_hi + z_hi[j] - hi[u]) + (x_lo + z_lo[j] - lo[u])
            out[i, j] = value * (x_root * z_root[j])
    return impossible == 0


@parallel
def union_list(out, x, z, c, n, hi, lo, root):
    """The same for a list of pairs."""
    impossible = 0
    for part in prange((len(out) + _STRETCH - 1) // _STRETCH):
        start = np.int64(part) * _STRETCH
        stop = min(start + _STRETCH, len(out))
        signs, broken = np.int64(0), False
        for i in range(start, stop):
            k = np.int64(c[i])
            signs |= _signs(x[i], z[i], k, n)
            broken |= k != c[i]
        if signs < 0 or broken:
            impossible += 1
            continue
        for i in range(start, stop):
            a, b = x[i], z[i]
            u = a + b - np.int64(c[i])
            value = (hi[a] + hi[b] - hi[u]) + (lo[a] + lo[b] - lo[u])
            out[i] = value * (root[a] * root[b])
    return impossible == 0


@parallel
def one_count_grid(out, x, z, c, n, agreeing, start, value, value_exp, root, root_exp, plain):
    """f(c) or f(s), times root(x)·root(z); tables of doubles and, unless plain, of exponents."""
    rows, columns = out.shape
    z_root, z_exp = root[z], root_exp[z]
    impossible = 0
    for i in prange(rows):
        xi = x[i]
        signs, broken = np.int64(0), False
        for j in range(columns):
            k = np.int64(c[i, j])
            signs |= _signs(xi, z[j], k, n)
            broken |= k != c[i, j]
        if signs < 0 or broken:
            impossible += 1
            continue
        x_root, x_exp = root[xi], root_exp[xi]
        first = n - xi - start if agreeing else -start
        step = 2 if agreeing else 1
        for j in range(columns):
            k = first + step * np.int64(c[i, j]) - (z[j] if agreeing else 0)
            v = value[k] * (x_root * z_root[j])
            out[i, j] = v if plain else _scaled(v, value_exp[k] + x_exp + z_exp[j])
    return impossible == 0


@parallel
def one_count_list(out, x, z, c, n, agreeing, start, value, value_exp, root, root_exp, plain):
    """The same for a list of pairs."""
    impossible = 0
    for part in prange((len(out) + _STRETCH - 1) // _STRETCH):
        begin = np.int64(part) * _STRETCH
        stop = min(begin + _STRETCH, len(out))
        signs, broken = np.int64(0), False
        for i in range(begin, stop):
            k = np.int64(c[i])
            signs |= _signs(x[i], z[i], k, n)
            broken |= k != c[i]
        if signs < 0 or broken:
            impossible += 1
            continue
        for i in range(begin, stop):
            a, b = x[i], z[i]
            k = np.int64(c[i])
            k = (n - a - b + 2 * k if agreeing else k) - start
            v = value[k] * (root[a] * root[b])
            out[i] = v if plain else _scaled(v, value_exp[k] + root_exp[a] + root_exp[b])
    return impossible == 0


@njit(inline="always")
def _centred(x, z, u):
    """From 1 - cosine with the full vector, of two vectors and their union.

    With r = 1 - x and s = 1 - z: cosine - r - s + 1, in which all that is near 1 cancels by hand.
    """
    roots = (1 - x) * (1 - z)
    if roots == 0:  # a null vector, whose cosine is 0
        return x + z - 1
    return (u * (2 - u) - x * z * (3 - x - z)) / roots


@parallel
def centred_grid(out, x, z, c, n, distance):
    """Values with the full vector as origin, for a kernel that is additive in the union."""
    rows, columns = out.shape
    impossible = 0
    for i in prange(rows):
        for j in range(columns):
            k = np.int64(c[i, j])
            if k != c[i, j] or _signs(x[i], z[j], k, n) < 0:
                impossible += 1
                continue
            out[i, j] = _centred(distance[x[i]], distance[z[j]], distance[x[i] + z[j] - k])
    return impossible == 0


@parallel
def centred_list(out, x, z, c, n, distance):
    """The same for a list of pairs."""
    impossible = 0
    for i in prange(len(out)):
        k = np.int64(c[i])
        if k != c[i] or _signs(x[i], z[i], k, n) < 0:
            impossible += 1
            continue
        out[i] = _centred(distance[x[i]], distance[z[i]], distance[x[i] + z[i] - k])
    return impossible == 0
