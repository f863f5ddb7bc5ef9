"""From a formula on counts to doubles.

A formula takes about a microsecond per pair in wide numbers. Few pairs are computed directly. Many
are looked up in a table, if the kernel's ``form`` has one, or their cosines are computed from cells
(see `cells`). Otherwise each distinct (n, x, z, c) is computed once.

===========  ===========================  ==========================================
form         κ(x, z)                      table f
===========  ===========================  ==========================================
common       f(c)                         f(t) = κ of a vector of t with itself
agreeing     f(s), s = n - x - z + 2c     f(s) = κ of a vector of n - s with the empty one
union        f(x) + f(z) - f(u)           f(t) = κ of a vector of t with itself
===========  ===========================  ==========================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterTypeError
from .cells import cell_cosines
from .counts import Counts, Pairs
from .masses import Masses, mass_centred_values, mass_cosine, mass_values
from .wide import Wide, inverse_root, times_two_to

if TYPE_CHECKING:
    from .base import Form, Kernel

# Up to this many pairs, loading compiled code costs more than it saves.
FEW_PAIRS = 1 << 13
# Pairs of one block: its wide temporaries stay in the second-level cache.
_BLOCK = 1 << 13
# Pairs of a list that a thread takes as one row.
_ROW = 1 << 12
# Longest table worth building: a few seconds and 200 MB.
LONGEST_TABLE = 1 << 22
# Tables up to this length cost milliseconds.
_SHORT = 1 << 14
# Exponents up to this one are folded into the doubles: a value times two roots still fits.
_SAFE = 300
# Up to this many variables, the two parts of a table of the union leave an error below 1e-13.
_LARGEST_UNION = 1 << 30
# The high parts of tables are multiples of the inverse up to 2, so their sums are exact.
_GRID = 2.0**40
# Whole numbers below 2^92 have exact low parts; doubles beyond 2^53 are rounded anyway.
_EXACT_TOP, _EXACT_DOUBLE = 92, 53

Floats = NDArray[np.float64]


def compute_values(kernel: Kernel, pairs: Pairs, normalize: bool) -> Floats:
    """Return κ(x, z) as doubles, infinite where they overflow.

    With ``normalize``, return κ(x, z)/√(κ(x, x)κ(z, z)), 0 where a vector is null.
    """
    if pairs.size == 0:
        return np.zeros(pairs.shape)
    if pairs.size > FEW_PAIRS and pairs.n.size == 1:
        values = table_values(kernel, pairs, normalize) if kernel.form != "any" else None
        if values is None and normalize:
            values = values_of_cells(kernel, pairs)
        if values is not None:
            return values
    pairs = pairs.checked()
    if pairs.size <= FEW_PAIRS:
        return _in_blocks(kernel, pairs.flat(), normalize).reshape(pairs.shape)
    distinct, inverse = pairs.distinct()
    return _in_blocks(kernel, distinct, normalize)[inverse].reshape(pairs.shape)


def cosines(kernel: Kernel, pairs: Pairs) -> Floats:
    """Return normalised values on counts or masses; 0 where a vector is null."""
    if pairs.users is not None:
        return mass_values(kernel, pairs, normalize=True)
    return kernel.cosines_of(pairs)


def own_values(kernel: Kernel, pairs: Pairs) -> Wide:
    """Return the raw values of pairs of equal vectors, on counts or masses."""
    own = wide_counts(pairs)
    return kernel.own_value(own) if isinstance(own, Counts) else Wide.of(kernel.mass_value(own))


def wide_counts(pairs: Pairs) -> Counts | Masses:
    """Return what the formulas of kernels take, in wide numbers."""
    if pairs.users is None:
        return Counts.of(*pairs.columns)
    return Masses(pairs, pairs.x, pairs.z, pairs.c, Wide.of)


def scaled_cosines(kernel: Kernel, pairs: Pairs) -> tuple[Floats, NDArray[np.int64]]:
    """Return cosines as mantissas in [1/2, 1) and exponents of two, even if no double holds them.

    The exponent of 0 is far below all others.
    """
    own = roots = None
    if pairs.users is None and kernel.form == "common" and pairs.n.size == 1 and pairs.size:
        most = int(max(pairs.x.max(), pairs.z.max()))
        if most < max(_SHORT, 4 * pairs.size):  # a longer table would cost more than the values
            own = kernel.own_value(Counts.of_vectors(int(pairs.n.flat[0]), np.arange(most + 1)))
            roots = inverse_root(own)
    distinct, inverse = pairs.distinct() if own is None else (pairs.flat(), slice(None))
    hi, exp = np.empty(len(distinct.c)), np.empty(len(distinct.c), np.int64)
    for start in range(0, len(hi), _BLOCK):
        part = slice(start, start + _BLOCK)
        x, z, c = (each[part] for each in (distinct.x, distinct.z, distinct.c))
        if own is not None and roots is not None:
            value = own[c] * (roots[x] * roots[z])
        elif pairs.users is None:
            value = kernel.cosine(distinct.block(start, start + _BLOCK))
        else:
            value = Wide.of(mass_cosine(kernel, Masses(pairs, x, z, c, Wide.of)))
        hi[part], exp[part] = value.hi, value.exp
    return hi[inverse].reshape(pairs.shape), exp[inverse].reshape(pairs.shape)


def _in_blocks(kernel: Kernel, pairs: Pairs, normalize: bool) -> Floats:
    size = len(pairs.c)
    out = np.empty(size)
    # Each distinct vector with itself; the index has those of all x, then of all z.
    n, sizes = np.concatenate((pairs.n, pairs.n)), np.concatenate((pairs.x, pairs.z))
    own, inverse = Pairs(n, sizes, sizes, sizes).distinct()
    roots = inverse_root(kernel.own_value(own.block(0, len(own.c)))) if normalize else Wide.of(1.0)
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        value = kernel.value(pairs.block(start, stop))
        if normalize:
            x, z = (roots[inverse[start + side : stop + side]] for side in (0, size))
            value = value * (x * z)
        out[start:stop] = value.floats()
    if np.isnan(out).any():
        raise ParameterTypeError(f"the formula of {kernel} gives NaN")
    return out


class Layout(NamedTuple):
    """Pairs as compiled loops take them: a grid, a column of x against a row of z, or a list."""

    n: int
    x: NDArray[np.int64]
    z: NDArray[np.int64]
    c: NDArray[Any]
    most: int  # the largest size

    def reach(self, form: Form) -> int:
        """Return the largest number of variables that values depend on: common ones, or a union."""
        return self.most if form == "common" else min(2 * self.most, self.n)

    def entries(self, form: Form) -> tuple[int, Counts]:
        """Return the first index of a table for a form, and the counts of its entries."""
        reach = self.reach(form)
        if form == "agreeing":  # vectors of 0 to `reach` variables with the empty one
            rest, none = np.arange(reach, -1, -1), np.zeros(reach + 1, np.int64)
            return self.n - reach, Counts.of(self.n, rest, none, none)
        return 0, Counts.of_vectors(self.n, np.arange(reach + 1))


def table_values(kernel: Kernel, pairs: Pairs, normalize: bool) -> Floats | None:
    """Look values up; return None if the table would be too long or not exact.

    The loop finds impossible counts itself, so possible ones cost no pass of their own.
    """
    layout = _layout(pairs)
    if layout.reach(kernel.form) >= min(LONGEST_TABLE, max(_SHORT, 4 * pairs.size)):
        return None  # building the table would cost more than computing the values
    if kernel.form == "union" and layout.n > _LARGEST_UNION:
        return None
    table = pairs.table(_table, kernel, layout, normalize)
    if table is None:
        return None
    power, loop, *arguments = table
    out = _run(pairs, layout, loop, *arguments)
    return times_two_to(out, power) if power else out


def values_of_cells(kernel: Kernel, pairs: Pairs) -> Floats | None:
    """Compute cosines from cells; return None if the kernel has none, or tables would be long."""
    layout = _layout(pairs)
    if 2 * layout.most >= min(LONGEST_TABLE, max(_SHORT, 4 * pairs.size)):
        return None
    return cell_cosines(kernel, pairs, layout)


def centred_values(kernel: Kernel, pairs: Pairs) -> Floats:
    """Return cosine(x, z) - cosine(x, full) - cosine(z, full) + 1 without cancellation.

    These tell vectors apart that have nearly everything in common with the full one. For a kernel
    that is additive in the union: with e(t) = 1 - cosine(t, full), f(t)/f(n) is (1 - e(t))², so a
    table of e is enough.
    """
    if pairs.users is not None:
        return mass_centred_values(kernel, pairs)
    layout = _layout(pairs)
    return _run(pairs, layout, "centred", pairs.table(_distances, kernel, layout))


def _distances(kernel: Kernel, layout: Layout) -> Floats:
    sizes = np.arange(layout.reach(kernel.form) + 1)
    distances: Floats = kernel.from_full(Counts.of_vectors(layout.n, sizes)).floats()
    return distances


def _run(pairs: Pairs, layout: Layout, loop: str, *arguments: Any) -> Floats:
    from .._compiled import tables as compiled

    out = np.empty(layout.c.shape)
    parts: list[tuple[NDArray[Any], ...]] = [(out, layout.x, layout.z, layout.c)]
    if out.ndim == 1:  # rows of equal length, and the rest as a row of its own
        whole = len(out) - len(out) % _ROW
        parts = [
            tuple(array[part].reshape(-1, width) for array in parts[0])
            for part, width in ((slice(whole), _ROW), (slice(whole, None), len(out) - whole))
            if width
        ]
    if not all(getattr(compiled, loop)(*part, layout.n, *arguments) for part in parts):
        pairs.check()
    return out.reshape(pairs.shape)


def _table(kernel: Kernel, layout: Layout, normalize: bool) -> tuple[Any, ...] | None:
    """Return a power of two for all values, the name of a compiled loop, and its arguments."""
    n, most, agreeing = layout.n, layout.most, kernel.form == "agreeing"
    start, counts = layout.entries(kernel.form)
    own = kernel.own_value(Counts.of_vectors(n, np.arange(most + 1)) if agreeing else counts)
    inverse = inverse_root(own) if normalize else Wide.of(np.ones(len(own.hi)))
    if kernel.form == "union":
        if not normalize and not _is_exact(kernel, n, own):
            return None
        # Scale the table to at most 1; the scale goes into the roots, or to all values.
        top = int(own.exp.max() + 1) // 2 * 2
        hi, lo = (times_two_to(part, own.exp - top) for part in (own.hi, own.lo))
        coarse = np.rint(hi * _GRID) / _GRID
        roots = times_two_to(inverse.hi, inverse.exp + (top // 2 if normalize else 0))
        return 0 if normalize else top, "union", coarse, (hi - coarse) + lo, roots
    by_count = kernel.value(counts) if agreeing else own
    value, root = _folded(by_count), _folded(inverse)
    plain = not (value[1].any() or root[1].any())
    return 0, "one_count", agreeing, start, value, root, plain


def _is_exact(kernel: Kernel, n: int, own: Wide) -> bool:
    """Tell whether raw values below 2^53 come out exact.

    The low part of a whole number below 2^92 is a whole number below 2^51, and the sum of three is
    exact. Beyond, even the smallest value, of two disjoint singletons, must be past 2^53.
    """
    least = kernel.value(Counts.of(n, 1, 1, 0))
    return bool(own.exp.max() <= _EXACT_TOP or least.exp > _EXACT_DOUBLE)


def _folded(a: Wide) -> tuple[Floats, NDArray[np.int64]]:
    """Return doubles and exponents; fold these into the doubles if all of them fit."""
    hi, exp = a.hi, a.exp
    if np.abs(exp[hi > 0]).max(initial=0) <= _SAFE:
        return times_two_to(hi, exp), np.zeros_like(exp)
    return hi, np.where(hi > 0, exp, 0)


def _layout(pairs: Pairs) -> Layout:
    """Arrange pairs; raise for sizes that no vector has. Loops raise for other impossible counts.

    Trusted pairs are tested, too: a damaged model may hold any.
    """
    shape, n = pairs.shape, int(_whole(pairs.n).flat[0])
    if len(shape) == 2 and pairs.x.shape == (shape[0], 1) and pairs.z.shape == (1, shape[1]):
        x, z, c = pairs.x[:, 0], pairs.z[0], np.broadcast_to(pairs.c, shape)
    else:
        x, z, c = (np.broadcast_to(a, shape).reshape(-1) for a in pairs.columns[1:])
    x, z = _whole(x), _whole(z)
    most = int(max(x.max(initial=0), z.max(initial=0)))
    if not most <= n < 1 << 53 or min(x.min(initial=0), z.min(initial=0)) < 0:
        pairs.check()
    return Layout(n, x, z, _native(c), min(max(most, pairs.most), n))


def _native(counts: NDArray[Any]) -> NDArray[Any]:
    """Convert counts to a type that compiled loops know; fractions stay fractions."""
    dtype = counts.dtype
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        return counts.astype(np.float64)
    return counts.astype(dtype.newbyteorder("="), copy=False)


def _whole(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Convert sizes to int64; fractions become -1, which is impossible."""
    if sizes.dtype.kind == "f":
        sizes = np.where(np.isfinite(sizes) & (np.floor(sizes) == sizes), sizes, -1.0)
    return np.ascontiguousarray(sizes, dtype=np.int64)
