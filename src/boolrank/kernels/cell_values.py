"""Cosines from cells, as doubles: thresholds, compositions and propositional kernels.

Sums of products of positive numbers lose no digits, so doubles are right to about 1e-15. Only the
cells themselves are differences, and come from tables of twice the precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .cells import Cells, lifted
from .counts import Counts
from .wide import Wide, inverse_root, times_two_to

if TYPE_CHECKING:
    from .base import Kernel
    from .values import Layout

Floats = NDArray[np.float64]

FORMS = {"common": 0, "union": 1, "agreeing": 2}
# Numbers of features up to this power of two are doubles, times the factorial of a clause's length.
_HIGHEST, _LONGEST = 700, 64
# Pairs that are computed at once: their cells stay in the second-level cache.
_BLOCK = 1 << 14
# Steps of about 1 ns for a pair.
_STEPS = 40


class NoCells(Exception):  # noqa: N818 - a signal, never seen by users
    """The kernel has no cells in doubles."""


def cell_cosines(kernel: Kernel, pairs: Layout, tables: dict[Any, Any]) -> Floats | None:
    """Compute cosines of a grid or a list; return None if that needs wide numbers.

    Return an empty array if some counts are impossible.
    """
    from .._compiled.ranges import for_ranges

    n, x, z, c = pairs.n, pairs.x, pairs.z, pairs.c
    try:
        probe = np.zeros(1, np.int64)
        kernel.cell_value(_leaf(pairs, probe, probe, probe, tables))
        if kernel.features(Wide.of(n)).exp > _HIGHEST:
            return None
    except NoCells:
        return None
    sizes = np.flatnonzero(sum(np.bincount(side, minlength=pairs.most + 1) for side in (x, z)))
    roots = np.zeros(pairs.most + 1)
    roots[sizes] = inverse_root(kernel.own_value(Counts.of_vectors(n, sizes))).floats()
    out, bad = np.empty(c.shape), []
    step = max(_BLOCK // max(out[:1].size, 1), 1)

    def fill(start: int, stop: int) -> None:
        for first in range(start, stop, step):
            part = slice(first, min(first + step, stop))
            given, of_x, of_z = c[part].ravel(), x[part], z[part]
            if c.ndim == 2:
                of_x, of_z = np.repeat(of_x, len(z)), np.tile(z, len(of_x))
            with np.errstate(invalid="ignore"):  # threads do not inherit the caller's
                common = given.astype(np.int64)
            try:
                value = kernel.cell_value(_leaf(pairs, of_x, of_z, common, tables))
            except ValueError:
                bad.append(first)
                return
            if given.dtype.kind == "f" and (common != given).any():
                bad.append(first)
                return
            out[part] = (value * (roots[of_x] * roots[of_z])).reshape(out[part].shape)

    for_ranges(fill, len(c), _STEPS * out.size)
    return np.empty(0) if bad else out


def _leaf(pairs: Layout, x: Any, z: Any, c: Any, tables: dict[Any, Any]) -> Callable[[Any], Cells]:
    def leaf(part: Kernel) -> Cells:
        if part.form not in FORMS:
            raise NoCells
        most, total, *table = tables.get((part, "cells"), (-1, 0.0))
        if most < pairs.most:  # the tables of other pairs over the same n may be too short
            made = tables[part, "cells"] = pairs.most, *_tables(part, pairs)
            total, *table = made[1:]
        from .._compiled.cells import leaf_cells

        out = np.empty((4, len(c)))
        if not leaf_cells(pairs.n, x, z, c, *table, out):
            raise ValueError
        return Cells(total, *out)

    return leaf


def _tables(kernel: Kernel, pairs: Layout) -> tuple[float, int, int, Floats, Floats]:
    """Return the number of features, the form, the first index of the tables, and the tables."""
    n, most = pairs.n, pairs.most
    reach, start = min(2 * most, n) if kernel.form != "common" else most, 0
    counts = Counts.of_vectors(n, np.arange(reach + 1))
    if kernel.form == "agreeing":  # vectors of 0 to `reach` variables with the empty one
        start, empty = n - reach, Wide.of(np.zeros(reach + 1))
        counts = Counts(counts.n, Wide.of(np.arange(reach, -1, -1)), empty, empty)
    up = lifted(kernel, counts)
    if up.n.exp > _HIGHEST:
        raise NoCells
    there, lacking = _doubles(up.common), _doubles(up.neither)
    plain = kernel.form == "common" and np.array_equal(there[0], np.arange(reach + 1))
    return float(up.n.floats()), 3 if plain else FORMS[kernel.form], start, there, lacking


def _doubles(a: Wide) -> Floats:
    """Return two rows, whose sums are the numbers."""
    return np.stack([times_two_to(part, a.exp) for part in (a.hi, a.lo)])


def clause_value(of: Cells, least: int, size: int) -> Floats:
    """Count the subsets of `size` features with at least `least` true of each vector."""
    from .._compiled.cells import clause

    if size > _LONGEST:
        raise NoCells
    out = np.empty(of.both.shape)
    cells = of.both.base  # the four rows of one array, if a table made them
    if cells is None or cells.shape != (4, len(out)):
        cells = np.stack(of[1:])
    clause(cells, least, size, out)
    return out
