"""Features of a pair of vectors in four cells: true of both, of x alone, of z alone, of neither.

Connectives of cells are sums of positive products, so no digits cancel. Numbers are wide, or
doubles, right to about 1e-15; the cells of leaves, which are differences, come from tables of twice
the precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .counts import Counts, Pairs
from .functions import minimum
from .masses import Masses, fill_blocks
from .wide import Wide, at_least_zero, by_squaring, inverse_root, on_part, times_two_to, where

if TYPE_CHECKING:
    from .base import Kernel
    from .values import Layout

Floats = NDArray[np.float64]

_FORMS = {"common": 0, "union": 1, "agreeing": 2}
# Numbers of features up to this power of two are doubles, times the factorial of a clause's length.
_HIGHEST, _LONGEST = 700, 64
# Pairs that are computed at once: their cells stay in the second-level cache.
_BLOCK = 1 << 14
# Steps of about 1 ns for a pair.
_STEPS = 40


class NoCells(Exception):  # noqa: N818 - a signal, never seen by users
    """The kernel has no cells in doubles."""


class Cells(NamedTuple):
    """Numbers of features: all, true of both vectors, of x alone, of z alone, and of neither."""

    total: Any
    both: Any
    only_x: Any
    only_z: Any
    neither: Any

    @staticmethod
    def of(k: Counts | Masses) -> Cells:
        """Count variables; shares of masses have a total of 1."""
        total = k.n if isinstance(k, Counts) else 1.0
        return Cells(total, k.common, k.only_x, k.only_z, k.neither)

    def negation(self) -> Cells:
        """Count the negated features."""
        return Cells(self.total, self.neither, self.only_z, self.only_x, self.both)

    def conjunction(self, other: Cells) -> Cells:
        """Count the pairs of features that are both true."""
        total, both, only_x, only_z, neither = other
        return Cells(
            self.total * total,
            self.both * both,
            self.both * only_x + self.only_x * (both + only_x),
            self.both * only_z + self.only_z * (both + only_z),
            self.neither * total
            + self.both * neither
            + (self.only_x * (only_z + neither) + self.only_z * (only_x + neither)),
        )

    def disjunction(self, other: Cells) -> Cells:
        """Count the pairs of features with at least one true, by de Morgan's law."""
        return self.negation().conjunction(other.negation()).negation()

    def exclusive(self, other: Cells) -> Cells:
        """Count the pairs of features with exactly one true."""
        total, both, only_x, only_z, neither = other

        def matched(w: Any, x: Any, z: Any, n: Any) -> Any:
            return (self.both * w + self.neither * n) + (self.only_x * x + self.only_z * z)

        return Cells(
            self.total * total,
            matched(neither, only_z, only_x, both),
            matched(only_z, neither, both, only_x),
            matched(only_x, both, neither, only_z),
            matched(both, only_x, only_z, neither),
        )

    def power(self, exponent: int) -> Cells:
        """Count the sequences of this length of features that are all true."""
        found: Cells = by_squaring(self, exponent, Cells.conjunction)
        return found


def lifted(kernel: Kernel, k: Counts) -> Counts:
    """Count the features of a kernel, as whole numbers: its features become variables."""
    n = kernel.features(k.n).rounded()
    x, z = (minimum(kernel.own_value(own).rounded(), n) for own in (k.of_x(), k.of_z()))
    common = minimum(kernel.value(k).rounded(), minimum(x, z))
    found = kernel.features_in_neither(k)
    if found is None:
        return Counts(n, x, z, common, lifted=True)
    neither = found.rounded()

    def lacking(n: Wide, size: Wide, neither: Wide) -> Wide:
        found = kernel.features_in_neither(Counts(n, size, size, size, k.lifted))
        return at_least_zero((neither if found is None else found.rounded()) - neither)

    def alone(own: Wide, other: Wide) -> Wide:
        # Less common, or, of most features, those that z lacks less those that both lack: the
        # difference of smaller numbers has more digits.
        most = (own * 2.0 - n).positive()
        return where(most, on_part(lacking, most, k.n, other, neither), at_least_zero(own - common))

    only = alone(x, k.z), alone(z, k.x)
    return Counts(n, x, z, common, lifted=True, outside=neither, alone=only)


def wide_cells(kernel: Kernel, k: Counts) -> Cells:
    """Count the features of a kernel in wide numbers."""
    return Cells.of(lifted(kernel, k))


def cell_cosines(kernel: Kernel, pairs: Pairs, layout: Layout) -> Floats | None:
    """Compute cosines of a grid or a list; return None if that needs wide numbers."""
    n, x, z, c, most = layout
    try:
        probe = np.zeros(1, np.int64)
        kernel.cell_value(_leaf(pairs, layout, probe, probe, probe))
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
        value = kernel.cell_value(_leaf(pairs, layout, of_x, of_z, common))
        return np.asarray(value * (roots[of_x] * roots[of_z])).reshape(out[part].shape)

    fill_blocks(out, of_part, _BLOCK, _STEPS)
    return out.reshape(pairs.shape)


def _leaf(pairs: Pairs, layout: Layout, x: Any, z: Any, c: Any) -> Callable[[Any], Cells]:
    def leaf(part: Kernel) -> Cells:
        if part.form not in _FORMS:
            raise NoCells
        from .._compiled.cells import leaf_cells

        found = pairs.tables.get((part, "cells"))
        if found is None or found[0] < layout.most:  # tables of other pairs may be too short
            found = pairs.tables[part, "cells"] = layout.most, *_tables(part, layout)
        _, total, *table = found
        out = np.empty((4, len(c)))
        if not leaf_cells(layout.n, x, z, c, *table, out):
            pairs.check()
        return Cells(total, *out)

    return leaf


def _tables(kernel: Kernel, layout: Layout) -> tuple[float, int, int, Floats, Floats]:
    """Return the number of features, the form, the first index of the tables, and the tables."""
    start, counts = layout.entries(kernel.form)
    up = lifted(kernel, counts)
    if up.n.exp > _HIGHEST:
        raise NoCells
    there, lacking = (
        np.stack([times_two_to(part, a.exp) for part in (a.hi, a.lo)])
        for a in (up.common, up.neither)
    )
    plain = kernel.form == "common" and np.array_equal(there[0], np.arange(layout.most + 1))
    return float(up.n.floats()), 3 if plain else _FORMS[kernel.form], start, there, lacking


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
