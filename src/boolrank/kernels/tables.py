"""Kernels as tables: values of many pairs by look-up, in a compiled parallel loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .counts import Counts, Pairs
from .wide import Wide, times_two_to

if TYPE_CHECKING:
    from .base import Kernel

# Exponents up to this size are folded into the doubles: the product of a value and two roots fits.
_SAFE = 400


def table_values(
    kernel: Kernel, pairs: Pairs, normalize: bool, longest: int
) -> NDArray[np.float64] | None:
    """Values by look-up; None where the table would be longer than allowed.

    Impossible counts are found by the loop itself, so that good ones cost no pass of their own.
    """
    n = int(_whole(pairs.n).ravel()[0])
    x, z, c = _grid(pairs)
    most = int(max(x.max(), z.max()))
    if most > n or min(x.min(), z.min()) < 0:
        return None  # impossible counts: the plain way says where
    reach = most if kernel.form == "common" else min(2 * most, n)
    if reach >= longest:
        return None
    from .._compiled import tables as compiled

    size = Wide.of(n)
    sizes = Wide.of(np.arange(most + 1 if kernel.form == "agreeing" else reach + 1))
    own = kernel.own_value(Counts(size, sizes, sizes, sizes))
    root, root_exp = _inverse_roots(own) if normalize else _ones(len(sizes.hi))
    out = np.empty(np.broadcast_shapes(x.shape, z.shape, c.shape))
    if kernel.form == "union":
        top = int(own.exp.max() + 1) // 2 * 2
        hi, lo = (times_two_to(part, own.exp - top) for part in (own.hi, own.lo))
        # The roots are of the table's size: its (even) exponent goes into them, half each.
        half = top // 2 if normalize else 0
        bad = compiled.union_values(out, x, z, c, n, hi, lo, times_two_to(root, root_exp + half))
        rest = top - 2 * half
    else:
        start, table = 0, own
        if kernel.form == "agreeing":
            start = n - reach
            table = kernel.value(
                Counts(size, Wide.of(np.arange(reach, -1, -1)), Wide.of(0), Wide.of(0))
            )
        value, value_exp = _folded(table.hi, table.exp)
        bad = compiled.one_count_values(
            out, x, z, c, n, kernel.form == "agreeing", start, value, value_exp, root, root_exp
        )
        rest = 0
    if bad:
        pairs.check()
    if rest:
        out = times_two_to(out, rest)
    return out.reshape(pairs.shape)


def _inverse_roots(own: Wide) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """1/√f as doubles and exponents; 0 for null vectors."""
    some = own.hi > 0
    odd = own.exp & 1
    root = np.where(some, 1 / np.sqrt(np.where(some, own.hi * (1.0 + odd), 1.0)), 0.0)
    return _folded(root, np.where(some, -((own.exp - odd) >> 1), 0))


def _ones(size: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return np.ones(size), np.zeros(size, np.int64)


def _folded(
    hi: NDArray[np.float64], exp: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    if np.abs(exp[hi > 0]).max(initial=0) <= _SAFE:
        return times_two_to(hi, exp), np.zeros_like(exp)
    return hi, exp


def _grid(pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.generic]]:
    """Pairs as a matrix, x a column and z a row where so given, else a column of all three.

    Sizes that are not whole become -1, which no table has.
    """
    shape = pairs.shape
    if len(shape) == 2 and pairs.x.shape[1:] == (1,) and pairs.z.ndim == 2 and len(pairs.z) == 1:
        x, z, c = pairs.x, pairs.z, np.broadcast_to(pairs.c, shape)
    else:
        x, z, c = (np.broadcast_to(a, shape).reshape(-1, 1) for a in (pairs.x, pairs.z, pairs.c))
    return _whole(x), _whole(z), c


def _whole(sizes: NDArray[np.generic]) -> NDArray[np.int64]:
    if sizes.dtype.kind == "f":
        sizes = np.where(np.isfinite(sizes) & (np.floor(sizes) == sizes), sizes, -1.0)
    return sizes.astype(np.int64)
