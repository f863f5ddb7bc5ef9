"""Item matrices: a background, by item size or of low rank, and a correction, or all values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..errors import InputError
from ..kernels import Kernel
from ..storage.disk_array import mapped
from ..storage.state import array
from .base import Floats, ItemMatrix, Scale, products
from .item_values import ItemValues
from .pairs import ItemPairs, store
from .tag_part import TagPart

# Pairs of a dense matrix whose values are computed at once: 20 MB of temporaries.
_BLOCK = 1 << 18


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
    def of(
        kernel: Kernel, overlaps: Overlaps, tags: TagPart | None = None, *, plain: bool = False
    ) -> CompressedMatrix:
        """Compute the matrix in memory, or in a file if the overlaps are in files.

        ``plain`` values are neither scaled nor centred.
        """
        pairs, values = ItemPairs.of(kernel, overlaps, centred=not plain), overlaps.pair_values()
        if len(pairs.columns) != overlaps.pairs:  # weighted items that have most of the mass
            values = np.empty(len(pairs.columns))
        nearest = np.zeros(overlaps.items)
        for first in pairs.firsts():
            store(values, first, pairs.correction(first, nearest))
        return CompressedMatrix.of_pairs(pairs, values, nearest, tags, plain=plain)

    @staticmethod
    def of_pairs(
        pairs: ItemPairs,
        values: Any,
        nearest: Floats,
        tags: TagPart | None = None,
        *,
        plain: bool = False,
    ) -> CompressedMatrix:
        """Return the matrix, from the correction of all pairs and the largest value of each row."""
        overlaps, distance = pairs.item_values.overlaps, pairs.item_values.distance
        product, background = pairs.product, pairs.background
        share, scale = np.ones(overlaps.items), None
        with np.errstate(all="ignore"):
            nearest = np.maximum(background.max(axis=0)[pairs.classes], nearest)
            if product is not None:
                left, right = map(np.abs, product)
                nearest = np.maximum(nearest, left @ right.max(axis=0))
            if distance is None and not plain and pairs.item_values.too_small(nearest):
                if not isinstance(values, np.ndarray):
                    raise InputError(
                        f"the values of {pairs.item_values.kernel} are too small for doubles and "
                        "have to be scaled, which needs all of them in memory",
                        hint="take a kernel of lower arity, or fit in memory",
                        parameter="kernel",
                    )
                product = None  # a sum with tiny values has no background worth keeping
                background, share, values, scale = pairs.scaled()
                without = replace(pairs, product=None)
                without.subtract(values, 0, pairs.columns, background, share)
        totals = _of_others(background, pairs.classes) * share
        if product is not None:
            left, right = product
            totals += products(right, left.sum(axis=0)) - (left * right).sum(axis=1)
        if scale is None:
            totals += pairs.reduced(np.add, values)
        else:
            totals += np.bincount(pairs.columns, weights=values, minlength=overlaps.items)
        if distance is not None:
            totals += 2 * distance
        set_values = sets = None
        if tags is not None:
            sets, set_values = tags.classes, tags.values
            product = None if product is None else (product[0] * tags.share, product[1])
            background, values, totals = (x * tags.share for x in (background, values, totals))
            totals += _of_others(set_values, sets)
        stored = background, share, pairs.classes, pairs.indptr, mapped(pairs.columns)
        pull = totals / overlaps.items
        more = *(product or (None, None)), set_values, sets
        return CompressedMatrix(*stored, mapped(values), pull, distance, scale, *more)

    def _parts(self) -> dict[str, Any]:
        others = "pull", "distance", "scale"
        return {name: part for name, part in vars(self).items() if name not in others}

    def stored(self, item: int) -> Floats:
        row: Floats = self.background[self.classes[item]][self.classes] * self.share
        if self.left is not None and self.right is not None:
            row += products(self.right, self.left[item])
        if self.sets is not None and self.set_values is not None:
            row += self.set_values[self.sets[item]][self.sets]
        part = slice(self.indptr[item], self.indptr[item + 1])
        row[self.columns[part]] += self.values[part]
        if self.distance is not None:
            row[item] = 2 * self.distance[item]
        return row


def _of_others(values: Floats, classes: NDArray[np.int32]) -> Floats:
    """(m,) Return the sum of each item's values with all others, by their classes."""
    sums: Floats = products(values.T, np.bincount(classes)) - np.diag(values)
    return sums[classes]


@dataclass(frozen=True, eq=False)
class DenseMatrix(ItemMatrix):
    """All values; scaled ones without the diagonal and the largest value of each column."""

    kind: ClassVar[str] = "dense-matrix"
    storage: ClassVar[str] = "dense"

    values: Floats = array("float64", "items", "items", low=-4, high=4)
    pull: Floats = array("float64", "items", low=-4, high=4)
    distance: Floats | None = array("float64", "items", low=0, high=4, optional=True)
    scale: Scale | None = None

    @staticmethod
    def of(
        kernel: Kernel, overlaps: Overlaps, tags: TagPart | None = None, *, plain: bool = False
    ) -> DenseMatrix:
        """Compute the matrix; ``plain`` values are neither scaled nor centred."""
        m, sizes = overlaps.items, overlaps.sizes
        item_values = ItemValues.of(kernel, overlaps, centred=not plain)
        distance, values = item_values.distance, np.empty((m, m))
        # Blocks of equal length: all of them are computed in the same way, to the last digit.
        blocks = min(-(-m * m // _BLOCK), m)
        with np.errstate(all="ignore"):
            for start, stop in pairwise(m * b // blocks for b in range(blocks + 1)):
                shared, x = overlaps.filled(start, stop), sizes[start:stop, None]
                values[start:stop] = item_values.at(item_values.pairs(x, sizes[None, :], shared))
                if tags is not None:
                    values[start:stop] *= tags.share
                    values[start:stop] += tags.values[tags.classes[start:stop]][:, tags.classes]
            if plain:
                return DenseMatrix.with_unit_diagonal(values)
            if distance is not None:
                np.fill_diagonal(values, 2 * distance)
                return DenseMatrix(values, values.sum(axis=0) / m, distance)
            np.fill_diagonal(values, 0.0)
            if item_values.too_small(values.max(axis=0)):
                scaled = CompressedMatrix.of(kernel, overlaps)
                for item in range(overlaps.items):
                    values[item] = scaled.stored(item)
                np.fill_diagonal(values, 0.0)
                return DenseMatrix(values, scaled.pull, scale=scaled.scale)
        return DenseMatrix.with_unit_diagonal(values)

    @staticmethod
    def with_unit_diagonal(values: Floats) -> DenseMatrix:
        """Take over a matrix of values, setting its diagonal to 1."""
        np.fill_diagonal(values, 0.0)
        pull = values.sum(axis=0) / len(values)
        np.fill_diagonal(values, 1.0)
        return DenseMatrix(values, pull)

    def _parts(self) -> dict[str, Any]:
        return {"dense": self.values}

    def stored(self, item: int) -> Floats:
        row: Floats = self.values[item]
        return row
