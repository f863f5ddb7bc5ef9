"""Values of pairs of counts, looked up in tables.

Pairs come as a grid, sizes x of rows and z of columns with common counts c[i, j], or as rows of
pairs with x[i, j], z[i, j] and c[i, j]. Each loop checks the counts of a row before it uses them to
address tables: no two vectors over n variables have c > x, c > z or x + z - c > n, and counts are
whole. Each function returns whether all counts are possible.
"""

from __future__ import annotations

import math
from functools import wraps

import numpy as np
from numba import types
from numba.extending import overload

from .compiler import loop, ranged


def _checked(function):
    """Compile a loop as a function that returns whether it found no impossible counts."""
    run = ranged(lambda out, *_: (len(out[0]), 2 * out[0].size))(function)

    @wraps(function)
    def look_up(out, *args):
        impossible = np.zeros(1, np.uint8)
        run((out, impossible), *args)
        return not impossible[0]

    return look_up


@loop
def _row(z, i):
    """Return the sizes of row i, or those of the columns of a grid."""
    if z.ndim == 1:
        return z
    return z[i]


def _at(x, j):
    """Return x[j], or x itself if the row has one size."""


@overload(_at)
def _at_of(x, j):
    if isinstance(x, types.Array):
        return lambda x, j: x[j]
    return lambda x, j: x  # noqa: ARG005 - numba compares the names


@loop
def _is_possible(x, z, c, n):
    signs, broken = np.int64(0), False
    for j in range(len(c)):
        a, k = _at(x, j), np.int64(c[j])
        # Negative exactly for impossible counts: one of four differences is.
        signs |= k | (a - k) | (z[j] - k) | (n - (a + z[j] - k))
        broken |= k != c[j]
    return signs >= 0 and not broken


@loop
def _scaled(value, exponent):
    """Return the value times a power of two of any size."""
    return math.ldexp(value, np.int32(max(min(exponent, np.int64(5000)), np.int64(-5000))))


@_checked
def union(start, stop, result, x, z, c, n, hi, lo, root):
    """Fill with (f(x) + f(z) - f(u))·root(x)·root(z), f = hi + lo.

    All hi are multiples of 2^-40 below 2, so their sum is exact; the lo carry the rest.
    """
    out, impossible = result
    for i in range(start, stop):
        xi, zi = x[i], _row(z, i)
        if i == start or z.ndim == 2:  # a grid's columns are looked up once
            z_hi, z_lo, z_root = hi[zi], lo[zi], root[zi]
        if not _is_possible(xi, zi, c[i], n):
            impossible[0] = 1
            continue
        x_hi, x_lo, x_root = hi[xi], lo[xi], root[xi]
        for j in range(len(zi)):
            u = _at(xi, j) + zi[j] - np.int64(c[i, j])
            high, low = _at(x_hi, j) + z_hi[j] - hi[u], _at(x_lo, j) + z_lo[j] - lo[u]
            out[i, j] = (high + low) * (_at(x_root, j) * z_root[j])


@_checked
def one_count(begin, end, result, x, z, c, n, agreeing, start, value, root, plain):
    """Fill with f(c) or f(s), times root(x)·root(z).

    Tables are pairs of doubles and exponents; the exponents of plain ones are 0.
    """
    out, impossible = result
    (value, value_exp), (root, root_exp) = value, root
    for i in range(begin, end):
        xi, zi = x[i], _row(z, i)
        if i == begin or z.ndim == 2:  # a grid's columns are looked up once
            z_root, z_exp = root[zi], root_exp[zi]
        if not _is_possible(xi, zi, c[i], n):
            impossible[0] = 1
            continue
        x_root, x_exp = root[xi], root_exp[xi]
        for j in range(len(zi)):
            k = np.int64(c[i, j])
            k = (n - _at(xi, j) - zi[j] + 2 * k if agreeing else k) - start
            v = value[k] * (_at(x_root, j) * z_root[j])
            out[i, j] = v if plain else _scaled(v, value_exp[k] + _at(x_exp, j) + z_exp[j])


@_checked
def centred(start, stop, result, x, z, c, n, distance):
    """Fill with values from the full vector as origin, for a kernel additive in the union."""
    out, impossible = result
    for i in range(start, stop):
        xi, zi = x[i], _row(z, i)
        if not _is_possible(xi, zi, c[i], n):
            impossible[0] = 1
            continue
        for j in range(len(zi)):
            a, b = _at(xi, j), zi[j]
            u = a + b - np.int64(c[i, j])
            out[i, j] = _centred(distance[a], distance[b], distance[u])


@loop
def _centred(x, z, u):
    """Return a centred value, given 1 - cosine with the full vector of two vectors and their union.

    With r = 1 - x and s = 1 - z: cosine - r - s + 1, in which all that is near 1 cancels by hand.
    """
    roots = (1 - x) * (1 - z)
    if roots == 0:  # a null vector, whose cosine is 0
        return x + z - 1
    return (u * (2 - u) - x * z * (3 - x - z)) / roots
