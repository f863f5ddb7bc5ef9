"""Values of pairs of counts, looked up in tables.

Pairs come as a grid, sizes x of rows and z of columns with common counts c[i, j], or as a list with
x[k], z[k] and c[k]. Each loop goes over rows or stretches and checks their counts before it uses
them to address tables: no two vectors over n variables have c > x, c > z or x + z - c > n, and
counts are whole. Each function returns whether all counts are possible.
"""

from __future__ import annotations

import math
from functools import wraps

import numpy as np

from .compiler import loop, ranged

_STRETCH = 4096


def _checked(measure):
    """Compile a loop as a function that returns whether it found no impossible counts."""

    def decorate(function):
        run = ranged(measure)(function)

        @wraps(function)
        def look_up(out, *args):
            impossible = np.zeros(1, np.uint8)
            run((out, impossible), *args)
            return not impossible[0]

        return look_up

    return decorate


_over_rows = _checked(lambda out, *_: (len(out[0]), 2 * out[0].size))
_over_stretches = _checked(lambda out, *_: (-(-len(out[0]) // _STRETCH), 2 * out[0].size))


@loop
def _signs(x, z, k, n):
    """Return a negative number exactly for impossible counts: one of four differences is."""
    return k | (x - k) | (z - k) | (n - (x + z - k))


@loop
def _row_is_possible(x, z, c, n):
    signs, broken = np.int64(0), False
    for j in range(len(c)):
        k = np.int64(c[j])
        signs |= _signs(x, z[j], k, n)
        broken |= k != c[j]
    return signs >= 0 and not broken


@loop
def _stretch_is_possible(x, z, c, n, start, stop):
    signs, broken = np.int64(0), False
    for i in range(start, stop):
        k = np.int64(c[i])
        signs |= _signs(x[i], z[i], k, n)
        broken |= k != c[i]
    return signs >= 0 and not broken


@loop
def _scaled(value, exponent):
    """Return the value times a power of two of any size."""
    return math.ldexp(value, np.int32(max(min(exponent, np.int64(5000)), np.int64(-5000))))


@loop
def _taken(table, places):
    """Return the values at places of a table."""
    out = np.empty(len(places), table.dtype)
    for k in range(len(places)):
        out[k] = table[places[k]]
    return out


@_over_rows
def union_grid(start, stop, result, x, z, c, n, hi, lo, root):
    """Fill with (f(x) + f(z) - f(u))·root(x)·root(z), f = hi + lo.

    All hi are multiples of 2^-40 below 2, so their sum is exact; the lo carry the rest.
    """
    out, impossible = result
    z_hi, z_lo, z_root = _taken(hi, z), _taken(lo, z), _taken(root, z)
    for i in range(start, stop):
        xi = x[i]
        if not _row_is_possible(xi, z, c[i], n):
            impossible[0] = 1
            continue
        x_hi, x_lo, x_root = hi[xi], lo[xi], root[xi]
        for j in range(len(z)):
            u = xi + z[j] - np.int64(c[i, j])
            value = (x_hi + z_hi[j] - hi[u]) + (x_lo + z_lo[j] - lo[u])
            out[i, j] = value * (x_root * z_root[j])


@_over_stretches
def union_list(begin, end, result, x, z, c, n, hi, lo, root):
    """Do the same for a list of pairs."""
    out, impossible = result
    for start in range(begin * _STRETCH, min(end * _STRETCH, len(out)), _STRETCH):
        stop = min(start + _STRETCH, len(out))
        if not _stretch_is_possible(x, z, c, n, start, stop):
            impossible[0] = 1
            continue
        for i in range(start, stop):
            a, b = x[i], z[i]
            u = a + b - np.int64(c[i])
            value = (hi[a] + hi[b] - hi[u]) + (lo[a] + lo[b] - lo[u])
            out[i] = value * (root[a] * root[b])


@_over_rows
def one_count_grid(begin, end, result, x, z, c, n, agreeing, start, value, root, plain):
    """Fill with f(c) or f(s), times root(x)·root(z).

    Tables are pairs of doubles and exponents; the exponents of plain ones are 0.
    """
    out, impossible = result
    (value, value_exp), (root, root_exp) = value, root
    z_root, z_exp = _taken(root, z), _taken(root_exp, z)
    for i in range(begin, end):
        xi = x[i]
        if not _row_is_possible(xi, z, c[i], n):
            impossible[0] = 1
            continue
        x_root, x_exp = root[xi], root_exp[xi]
        first = n - xi - start if agreeing else -start
        step = 2 if agreeing else 1
        for j in range(len(z)):
            k = first + step * np.int64(c[i, j]) - (z[j] if agreeing else 0)
            v = value[k] * (x_root * z_root[j])
            out[i, j] = v if plain else _scaled(v, value_exp[k] + x_exp + z_exp[j])


@_over_stretches
def one_count_list(begin, end, result, x, z, c, n, agreeing, start, value, root, plain):
    """Do the same for a list of pairs."""
    out, impossible = result
    (value, value_exp), (root, root_exp) = value, root
    for first in range(begin * _STRETCH, min(end * _STRETCH, len(out)), _STRETCH):
        stop = min(first + _STRETCH, len(out))
        if not _stretch_is_possible(x, z, c, n, first, stop):
            impossible[0] = 1
            continue
        for i in range(first, stop):
            a, b = x[i], z[i]
            k = np.int64(c[i])
            k = (n - a - b + 2 * k if agreeing else k) - start
            v = value[k] * (root[a] * root[b])
            out[i] = v if plain else _scaled(v, value_exp[k] + root_exp[a] + root_exp[b])


@loop
def _centred(x, z, u):
    """Return a centred value, given 1 - cosine with the full vector of two vectors and their union.

    With r = 1 - x and s = 1 - z: cosine - r - s + 1, in which all that is near 1 cancels by hand.
    """
    roots = (1 - x) * (1 - z)
    if roots == 0:  # a null vector, whose cosine is 0
        return x + z - 1
    return (u * (2 - u) - x * z * (3 - x - z)) / roots


@_over_rows
def centred_grid(start, stop, result, x, z, c, n, distance):
    """Fill with values from the full vector as origin, for a kernel additive in the union."""
    out, impossible = result
    for i in range(start, stop):
        if not _row_is_possible(x[i], z, c[i], n):
            impossible[0] = 1
            continue
        for j in range(len(z)):
            u = x[i] + z[j] - np.int64(c[i, j])
            out[i, j] = _centred(distance[x[i]], distance[z[j]], distance[u])


@_over_stretches
def centred_list(begin, end, result, x, z, c, n, distance):
    """Do the same for a list of pairs."""
    out, impossible = result
    for start in range(begin * _STRETCH, min(end * _STRETCH, len(out)), _STRETCH):
        stop = min(start + _STRETCH, len(out))
        if not _stretch_is_possible(x, z, c, n, start, stop):
            impossible[0] = 1
            continue
        for i in range(start, stop):
            u = x[i] + z[i] - np.int64(c[i])
            out[i] = _centred(distance[x[i]], distance[z[i]], distance[u])
