"""An item matrix as a background, by item size or of low rank, and a sparse correction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.values import centred_values, cosines, own_values, scaled_cosines
from ..kernels.wide import Wide, inverse_root, times_two_to
from ..storage.state import array
from .base import ItemMatrix, distances
from .low_rank import low_rank
from .scale import NOTHING, Scale, too_small
from .tag_part import TagPart

Floats = NDArray[np.float64]

# Pairs whose values are computed at once: 50 MB of temporaries.
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class CompressedMatrix(ItemMatrix):
    """A background of all pairs, and a sparse correction where items share users.

    The background is a table by classes of item size. With weighted users, few items have the same
    mass: there is one class with a background of 0, and a product ``left @ right.T`` of low rank,
    or None for kernels that are 0 for disjoint items. ``share`` is the part of its class'
    background that a scaled column keeps; 1 if not scaled. With tags, ``sets`` has the number of
    each item's tags and ``set_values`` their part; values are neither scaled nor centred.
    """

    kind: ClassVar[str] = "compressed-matrix"
    storage: ClassVar[str] = "compressed"

    background: Floats = array("float64", "classes", "classes", low=-4, high=4)
    share: Floats = array("float64", "items", low=0, high=1)
    classes: NDArray[np.int32] = array("int32", "items", low=0, high="classes")
    indptr: NDArray[np.int64] = array("int64", "items+1", low=0, divides=("columns", "values"))
    columns: NDArray[np.int32] = array("int32", "*", low=0, high="items")
    values: Floats = array("float64", "*", low=-4, high=4)
    pull: Floats = array("float64", "items", low=-4, high=4)
    distance: Floats | None = array("float64", "items", low=0, high=4, optional=True)
    scale: Scale | None = None
    left: Floats | None = array("float64", "items", "rank", low=-1e6, high=1e6, optional=True)
    right: Floats | None = array("float64", "items", "rank", low=-1e6, high=1e6, optional=True)
    set_values: Floats | None = array("float64", "sets", "sets", low=-4, high=4, optional=True)
    sets: NDArray[np.int32] | None = array("int32", "items", low=0, high="sets", optional=True)

    @staticmethod
    def of(kernel: Kernel, overlaps: Overlaps, tags: TagPart | None = None) -> CompressedMatrix:
        from .._compiled.matrix import subtract_background, subtract_product

        distance = distances(kernel, overlaps) if tags is None else None
        value = partial(cosines if distance is None else centred_values, kernel)
        with np.errstate(all="ignore"):
            pairs, left, right = _split(kernel, overlaps, distance)
            background, values = pairs.background(value), pairs.values(value)
            share, scale = np.ones(overlaps.items), None
            nearest = np.maximum(background.max(axis=0)[pairs.classes], pairs.largest(values))
            if left is not None and right is not None:
                nearest = np.maximum(nearest, np.abs(left) @ np.abs(right).max(axis=0))
            if distance is None and tags is None and too_small(kernel, overlaps, nearest):
                left = right = None  # a sum with tiny values has no background worth keeping
                background, share, values, scale = pairs.scaled(kernel)
        places = pairs.indptr, pairs.columns
        subtract_background(values, *places, pairs.classes, background, share)
        totals = (pairs.numbers @ background - np.diag(background))[pairs.classes] * share
        if left is not None and right is not None:
            subtract_product(values, *places, left, right)
            totals += right @ left.sum(axis=0) - (left * right).sum(axis=1)
        totals += pairs.totals(values, symmetric=scale is None)
        if distance is not None:
            totals += 2 * distance
        set_values = sets = None
        if tags is not None:
            sets, set_values = tags.classes, tags.values
            left = None if left is None else left * tags.share
            background, values, totals = (x * tags.share for x in (background, values, totals))
            totals += (np.bincount(sets) @ set_values - np.diag(set_values))[sets]
        stored = background, share, pairs.classes, *places, values
        pull = totals / overlaps.items
        return CompressedMatrix(*stored, pull, distance, scale, left, right, set_values, sets)

    def _parts(self) -> dict[str, Any]:
        names = "background", "share", "classes", "indptr", "columns", "values"
        more = "left", "right", "sets", "set_values"
        return {name: getattr(self, name) for name in (*names, *more)}

    def stored(self, item: int) -> Floats:
        row: Floats = self.background[self.classes[item]][self.classes] * self.share
        if self.left is not None and self.right is not None:
            row += self.right @ self.left[item]
        if self.sets is not None and self.set_values is not None:
            row += self.set_values[self.sets[item]][self.sets]
        part = slice(self.indptr[item], self.indptr[item + 1])
        row[self.columns[part]] += self.values[part]
        if self.distance is not None:
            row[item] = 2 * self.distance[item]
        return row

    def _stored_column(self, item: int, rows: NDArray[np.int32]) -> Floats:
        return np.array([self.stored(int(row))[item] for row in rows])


class Parts(NamedTuple):
    """Normalised values, neither scaled nor centred: ``values`` where items share users.

    Other pairs have ``background[classes[i], classes[j]] + left[i] @ right[j]``.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Floats
    classes: NDArray[np.int32]
    background: Floats
    left: Floats
    right: Floats

    @staticmethod
    def of(kernel: Kernel, overlaps: Overlaps) -> Parts:
        """Compute the values of a kernel."""
        value, nothing = partial(cosines, kernel), np.empty((overlaps.items, 0))
        with np.errstate(all="ignore"):
            pairs, left, right = _split(kernel, overlaps, None)
            values, background = pairs.values(value), pairs.background(value)
        product = (nothing, nothing) if left is None or right is None else (left, right)
        return Parts(pairs.indptr, pairs.columns, values, pairs.classes, background, *product)


def _split(
    kernel: Kernel, overlaps: Overlaps, distance: Floats | None
) -> tuple[_Pairs, Floats | None, Floats | None]:
    """Return the pairs that share users, and factors of the background of weighted items."""
    if overlaps.weighting is None:
        return _Pairs.by_size(overlaps), None, None
    own = own_values(kernel, overlaps, overlaps.sizes)
    squares = times_two_to(own.hi, own.exp - own.exp.max())
    squares = squares if distance is None else 2 * distance
    value = partial(cosines if distance is None else centred_values, kernel)
    return _Pairs.of_one_class(overlaps, own), *low_rank(value, overlaps, squares)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of items that share users, in compressed rows, and classes of items."""

    overlaps: Overlaps
    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[Any]
    class_sizes: NDArray[np.int64]
    classes: NDArray[np.int32]
    numbers: NDArray[np.int64]  # items of each class
    tables: dict[Any, Any]  # built by kernels, shared by all pairs
    roots: Floats | None = None  # of weighted items: 1/√κ(x, x)

    @staticmethod
    def by_size(overlaps: Overlaps) -> _Pairs:
        sizes, classes, numbers = np.unique(overlaps.sizes, return_inverse=True, return_counts=True)
        return _Pairs(overlaps, *overlaps.rows(), sizes, classes.astype(np.int32), numbers, {})

    @staticmethod
    def of_one_class(overlaps: Overlaps, own: Wide) -> _Pairs:
        """Add all pairs with an item of most of the mass: no background holds for those."""
        from scipy.sparse import csr_array

        m = overlaps.items
        indptr, columns, counts = overlaps.rows()
        large = np.flatnonzero(2 * overlaps.sizes > overlaps.total)
        if len(large):
            a, b = (side.ravel() for side in np.meshgrid(large, np.arange(m)))
            a, b = a[a != b], b[a != b]
            rows = np.concatenate((np.repeat(np.arange(m), np.diff(indptr)), a, b))
            data = np.concatenate((counts, np.zeros(2 * len(a), np.int64)))
            found = csr_array((data, (rows, np.concatenate((columns, b, a)))), (m, m))
            found.sum_duplicates()
            indptr, columns, counts = found.indptr.astype(np.int64), found.indices, found.data
        one = np.zeros(1, np.int64), np.zeros(m, np.int32), np.array([m])
        roots = inverse_root(own).floats()
        return _Pairs(overlaps, indptr, columns.astype(np.int32), counts, *one, {}, roots)

    @property
    def rows(self) -> NDArray[np.int32]:
        """First item of each pair."""
        return np.repeat(np.arange(len(self.classes), dtype=np.int32), np.diff(self.indptr))

    def values(self, value: Callable[[Pairs], Floats]) -> Floats:
        """Return the values of pairs that share users."""
        from .._compiled.matrix import of_pairs
        from .._compiled.ranges import put

        out = np.empty(len(self.columns))
        for first in range(0, len(out), BLOCK):
            counts = self.counts[first : first + BLOCK]
            x, z = np.empty((2, len(counts)), np.int64)
            of_pairs((x, z), first, self.indptr, self.columns, self.overlaps.sizes)
            pairs = Pairs.of_items(self.overlaps, x, z, counts, self.tables)
            if self.roots is not None:
                a, b = np.empty((2, len(counts)))
                of_pairs((a, b), first, self.indptr, self.columns, self.roots)
                pairs = replace(pairs, roots=(a, b))
            put(out[first : first + BLOCK], value(pairs))
        return out

    def background(self, value: Callable[[Pairs], Floats]) -> Floats:
        """Return the values of disjoint pairs of classes; 0 where no two items can be disjoint.

        It is 0 for weighted items, which are of one class.
        """
        if self.roots is not None:
            return np.zeros((1, 1))
        x, z = np.meshgrid(self.class_sizes, self.class_sizes, indexing="ij")
        possible = x + z <= self.overlaps.total
        out = np.zeros(x.shape)
        if possible.any():
            a, b = x[possible], z[possible]
            pairs = Pairs.of_items(self.overlaps, a, b, np.zeros_like(a), self.tables)
            out[possible] = value(pairs)
        return out

    def largest(self, values: Floats) -> Floats:
        """Return the largest value of each row; 0 for empty ones."""
        return self._reduced(np.maximum, values)

    def totals(self, values: Floats, symmetric: bool) -> Floats:
        """Return the sum of each column."""
        if symmetric:
            return self._reduced(np.add, values)
        sums = np.bincount(self.columns, weights=values, minlength=len(self.classes))
        return sums.astype(np.float64)

    def _reduced(self, function: np.ufunc, values: NDArray[Any], empty: int = 0) -> NDArray[Any]:
        some = np.diff(self.indptr) > 0
        out = np.full(len(some), empty, values.dtype)
        if some.any():
            out[some] = function.reduceat(values, self.indptr[:-1][some])
        return out

    def scaled(self, kernel: Kernel) -> tuple[Floats, Floats, Floats, Scale]:
        """Return background, share, values and scale; the largest of each column is apart."""
        found: list[NDArray[np.int64]] = []

        def mantissas(pairs: Pairs) -> Floats:
            value, power = scaled_cosines(kernel, pairs)
            power[value == 0] = NOTHING
            found.append(power)
            return value

        values = self.values(mantissas)
        powers = np.concatenate([*found, np.empty(0, np.int64)])
        found.clear()
        background = self.background(mantissas)
        under = np.full(background.shape, NOTHING)
        if found:  # otherwise no two items can be disjoint
            possible = np.add.outer(self.class_sizes, self.class_sizes) <= self.overlaps.total
            under[possible] = found[0]
        class_top = under.max(axis=0)
        # Values are symmetric: row j holds column j.
        first = np.maximum(self._reduced(np.maximum, powers, NOTHING), class_top[self.classes])
        rows = self.rows
        largest = np.where(powers == first[rows], values, 0.0)
        lead = self._reduced(np.maximum, largest, 0)
        is_lead = (largest > 0) & (largest == lead[rows])
        items, at = np.unique(rows[is_lead], return_index=True)
        at = np.flatnonzero(is_lead)[at]
        nearest = np.full(len(self.classes), -1, np.int32)
        nearest[items] = self.columns[at]
        rest = powers.copy()
        rest[at] = NOTHING
        second = np.maximum(self._reduced(np.maximum, rest, NOTHING), class_top[self.classes])
        values = times_two_to(values, powers - second[self.columns])
        for item in items:  # the same pair again, in the row of the nearest item
            row = nearest[item]
            begin, end = self.indptr[row], self.indptr[row + 1]
            values[begin + np.searchsorted(self.columns[begin:end], item)] = 0.0
        share = times_two_to(np.ones(len(second)), class_top[self.classes] - second)
        scale = Scale(second.astype(float), nearest, lead, first.astype(float))
        return times_two_to(background, under - class_top), share, values, scale
