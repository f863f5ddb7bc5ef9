"""Kernels as tables: values of many pairs by look-up, in a compiled parallel loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterTypeError
from .counts import Counts, Pairs
from .wide import Wide, times_two_to

if TYPE_CHECKING:
    from .base import Kernel

# Exponents up to this size are folded into the doubles: the product of a value and two roots fits.
_SAFE = 300
# Tables up to this length cost milliseconds.
_SHORT = 1 << 14
# Up to so many variables the two parts of a table for the union leave an error below 1e-13.
_LARGEST_UNION = 1 << 30
# Multiples of its inverse, up to 2, have sums that are exact in doubles: the high parts of tables.
_GRID = 2.0**40
# Below 2 to the one, whole numbers have exact low parts; past 2 to the other, doubles are rounded.
_EXACT_TOP, _EXACT_DOUBLE = 92, 53

Table = tuple[NDArray[np.float64], NDArray[np.int64]]


def table_values(
    kernel: Kernel, pairs: Pairs, normalize: bool, longest: int
) -> NDArray[np.float64] | None:
    """Values by look-up; None where the table would be longer than allowed.

    Impossible counts are found by the loop itself, so that good ones cost no pass of their own.
    """
    n = int(_whole(pairs.n).ravel()[0])
    grid, x, z, c = _arranged(pairs)
    most = int(max(x.max(), z.max()))
    if most > n or n >= 1 << 53 or min(x.min(), z.min()) < 0:
        return None  # impossible counts: the plain way says where
    reach = _reach(kernel, n, most)
    if reach >= min(longest, max(_SHORT, 4 * pairs.size)):
        return None  # to build the table would cost more than the values
    if kernel.form == "union" and n > _LARGEST_UNION:
        return None
    table: _Table | None = pairs.tables.get((kernel, normalize))
    if table is None or table.most < most:
        table = pairs.tables[kernel, normalize] = _table(kernel, n, most, normalize)
    if table is None:
        return None
    from .._compiled import tables as compiled

    out = np.empty(c.shape)
    loop = getattr(compiled, f"{table.loop}_{'grid' if grid else 'list'}")
    if not loop(out, x, z, c, n, *table.arguments):
        pairs.check()
    if table.power:
        np.ldexp(out, np.int32(np.clip(table.power, -2200, 2200)), out=out)
    return out.reshape(pairs.shape)


def centred(kernel: Kernel, pairs: Pairs) -> NDArray[np.float64]:
    """cosine(x, z) - cosine(x, full) - cosine(z, full) + 1, without the digits that cancel.

    For a kernel that is additive in the union: with e(t) = 1 - cosine(t, full), f(t)/f(n) is
    (1 - e(t))², and all of it follows from a table of e.
    """
    from .._compiled.tables import centred_grid, centred_list

    n = int(_whole(pairs.n).ravel()[0])
    grid, x, z, c = _arranged(pairs)
    if max(x.max(initial=0), z.max(initial=0)) > n or min(x.min(initial=0), z.min(initial=0)) < 0:
        pairs.check()
    reach = _reach(kernel, n, int(max(x.max(initial=0), z.max(initial=0))))
    table: NDArray[np.float64] | None = pairs.tables.get((kernel, "centred"))
    if table is None or len(table) <= reach:
        sizes = Wide.of(np.arange(reach + 1))
        found = kernel.from_full(Counts(Wide.of(n), sizes, sizes, sizes))
        if found is None:
            raise ParameterTypeError(
                f"{kernel} does not know how far vectors are from the full one"
            )
        table = pairs.tables[kernel, "centred"] = found.floats()
    out = np.empty(c.shape)
    loop: Any = centred_grid if grid else centred_list
    if not loop(out, x, z, c, n, table):
        pairs.check()
    return out.reshape(pairs.shape)


class _Table(NamedTuple):
    """What a compiled loop takes for vectors of so many variables at most.

    Its results are still to be multiplied by a power of two.
    """

    most: int
    loop: str
    arguments: tuple[Any, ...]
    power: int = 0


def _reach(kernel: Kernel, n: int, most: int) -> int:
    """The longest vector that values are asked of: a common part, or a union."""
    return most if kernel.form == "common" else min(2 * most, n)


def _table(kernel: Kernel, n: int, most: int, normalize: bool) -> _Table | None:
    """The table of a kernel; None where it would not be exact."""
    reach, agreeing = _reach(kernel, n, most), kernel.form == "agreeing"
    sizes = Wide.of(np.arange(most + 1 if agreeing else reach + 1))
    own = kernel.own_value(Counts(Wide.of(n), sizes, sizes, sizes))
    root = _inverse_roots(own) if normalize else (np.ones(len(own.hi)), np.zeros(len(own.hi), int))
    if kernel.form == "union":
        exact = normalize or _exact(kernel, n, own)
        return _union_table(most, own, root, normalize) if exact else None
    start = n - reach if agreeing else 0
    by_count = _by_agreement(kernel, n, reach) if agreeing else own
    value, root = _folded(by_count.hi, by_count.exp), _folded(*root)
    plain = not (value[1].any() or root[1].any())
    return _Table(most, "one_count", (agreeing, start, *value, *root, plain))


def _union_table(most: int, own: Wide, root: Table, normalize: bool) -> _Table:
    """The table scaled to at most 1; its scale goes into the roots, or back in at the end."""
    top = int(own.exp.max() + 1) // 2 * 2
    hi, lo = (times_two_to(part, own.exp - top) for part in (own.hi, own.lo))
    coarse = np.rint(hi * _GRID) / _GRID
    roots = times_two_to(root[0], root[1] + (top // 2 if normalize else 0))
    return _Table(most, "union", (coarse, (hi - coarse) + lo, roots), 0 if normalize else top)


def _exact(kernel: Kernel, n: int, own: Wide) -> bool:
    """Whether raw values below 2^53 come out exact: by their digits, or because there are none.

    The low part of a whole number below 2^92 is a whole number below 2^51, and of three such the
    sum is exact. Past that, all values must be so large that they are rounded anyway; the smallest
    is that of two vectors with one variable each.
    """
    one = Wide.of(1)
    least = kernel.value(Counts(Wide.of(n), one, one, Wide.of(0)))
    return bool(own.exp.max() <= _EXACT_TOP or least.exp > _EXACT_DOUBLE)


def _by_agreement(kernel: Kernel, n: int, reach: int) -> Wide:
    """Values for n - reach to n agreeing variables: of a vector of the rest with the empty one."""
    empty = Wide.of(0)
    return kernel.value(Counts(Wide.of(n), Wide.of(np.arange(reach, -1, -1)), empty, empty))


def _inverse_roots(own: Wide) -> Table:
    """1/√f as doubles and exponents; 0 for null vectors."""
    some = own.hi > 0
    odd = own.exp & 1
    root = np.where(some, 1 / np.sqrt(np.where(some, own.hi * (1.0 + odd), 1.0)), 0.0)
    return root, np.where(some, -((own.exp - odd) >> 1), 0)


def _folded(hi: NDArray[np.float64], exp: NDArray[np.int64]) -> Table:
    """The same with the exponents in the doubles, where all of them fit."""
    if np.abs(exp[hi > 0]).max(initial=0) <= _SAFE:
        return times_two_to(hi, exp), np.zeros_like(exp)
    return hi, np.where(hi > 0, exp, 0)


def _arranged(
    pairs: Pairs,
) -> tuple[bool, NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Whether pairs are a grid, a column of x against a row of z; and the arrays for its loop."""
    shape = pairs.shape
    if len(shape) == 2 and pairs.x.shape == (shape[0], 1) and pairs.z.shape == (1, shape[1]):
        c = np.broadcast_to(_native(pairs.c), shape)
        return True, _whole(pairs.x[:, 0]), _whole(pairs.z[0]), c
    x, z, c = (np.broadcast_to(a, shape).reshape(-1) for a in (pairs.x, pairs.z, pairs.c))
    return False, _whole(x), _whole(z), _native(c)


def _native(counts: NDArray[Any]) -> NDArray[Any]:
    """Counts of a type that compiled loops know; those that are not whole stay so."""
    dtype = counts.dtype
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return counts.astype(np.float64)
    return counts.astype(dtype.newbyteorder("="), copy=False)


def _whole(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Sizes as int64; those that are not whole become -1, which no table has."""
    if sizes.dtype.kind == "f":
        sizes = np.where(np.isfinite(sizes) & (np.floor(sizes) == sizes), sizes, -1.0)
    return np.ascontiguousarray(sizes, dtype=np.int64)
