"""Cosines in doubles, from the cells of features.

Sums of positive products are right to about 1e-15 in doubles. The cells of a kernel's features are
differences, so they come from tables of twice the precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .counts import Counts, NoCells, Pairs
from .masses import fill_blocks
from .wide import Wide, inverse_root, times_two_to

if TYPE_CHECKING:
    from .base import Kernel
    from .values import Layout

Floats = NDArray[np.float64]

_FORMS, _VARIABLES = {"common": 0, "union": 1, "agreeing": 2}, 3
# Numbers of features up to this power of two are doubles, times the factorial of a clause's length.
_HIGHEST, _LONGEST = 700, 64
# Pairs that are computed at once: their cells stay in the second-level cache.
_BLOCK = 1 << 14
# Steps of about 1 ns for a pair.
_STEPS = 40


class _TableCounts(NamedTuple):
    """Counts of pairs whose features are looked up in tables."""

    pairs: Pairs
    layout: Layout
    x: NDArray[np.int64]
    z: NDArray[np.int64]
    c: NDArray[np.int64]

    @property
    def variables(self) -> Counts:
        """Count active variables."""
        empty = np.empty((2, 0))
        return self._look_up(float(self.layout.n), _VARIABLES, 0, empty, empty)

    def lift(self, kernel: Kernel) -> Counts:
        """Count the features of a kernel."""
        if kernel.form not in _FORMS:
            raise NoCells
        return self._look_up(*self.pairs.table(_tables, kernel, self.layout))

    def _look_up(self, total: float, *table: Any) -> Counts:
        from .._compiled.cells import leaf_cells

        out = np.empty((4, len(self.c)))
        if not leaf_cells(self.layout.n, self.x, self.z, self.c, *table, out):
            self.pairs.check()
        return Counts(total, *out)


def cell_cosines(kernel: Kernel, pairs: Pairs, layout: Layout) -> Floats | None:
    """Compute cosines of a grid or a list; return None if that needs wide numbers."""
    n, x, z, c, most = layout
    try:
        probe = np.zeros(1, np.int64)
        kernel.cell_value(_TableCounts(pairs, layout, probe, probe, probe))
        if kernel.features(Wide.of(n)).exp > _HIGHEST:
            return None
    except NoCells:
        return None
    sizes = np.flatnonzero(sum(np.bincount(side, minlength=most + 1) for side in (x, z)))
    roots = np.zeros(most + 1)
    roots[sizes] = inverse_root(kernel.own_value(Counts.of_vectors(n, sizes))).floats()
    out = np.empty(c.shape)

    def of_part(part: slice) -> Floats:
        given, of_x, of_z = c[part].ravel(), x[part], z[part]
        common = given.astype(np.int64)
        if given.dtype.kind == "f" and (common != given).any():
            pairs.check()
        if c.ndim == 2:
            of_x, of_z = np.repeat(of_x, len(z)), np.tile(z, len(of_x))
        value = kernel.cell_value(_TableCounts(pairs, layout, of_x, of_z, common))
        return np.asarray(value * (roots[of_x] * roots[of_z])).reshape(out[part].shape)

    fill_blocks(out, of_part, _BLOCK, _STEPS)
    return out.reshape(pairs.shape)


def _tables(kernel: Kernel, layout: Layout) -> tuple[float, int, int, Floats, Floats]:
    """Return the number of features, the form, the first index of the tables, and the tables."""
    start, counts = layout.entries(kernel.form)
    up = kernel.cells(counts)
    if up.n.exp > _HIGHEST:
        raise NoCells
    there, lacking = (
        np.stack([times_two_to(part, a.exp) for part in (a.hi, a.lo)])
        for a in (up.common, up.neither)
    )
    return float(up.n.floats()), _FORMS[kernel.form], start, there, lacking


def clause_value(k: Counts, least: int, size: int) -> Floats:
    """Count the subsets of `size` features with at least `least` true of each vector."""
    from .._compiled.cells import clause

    if size > _LONGEST:
        raise NoCells
    out = np.empty(k.common.shape)
    cells = k.common.base  # the four rows of one array, if a table made them
    if cells is None or cells.shape != (4, len(out)):
        cells = np.stack((k.common, k.only_x, k.only_z, k.neither))
    clause(cells, least, size, out)
    return out
