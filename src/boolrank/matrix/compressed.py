"""An item matrix as a background, by item size or of low rank, and a sparse correction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..errors import InputError
from ..kernels import Kernel
from ..kernels.values import centred_values, cosines, own_values
from ..kernels.wide import times_two_to
from ..storage.disk_array import mapped
from ..storage.state import array
from .base import ItemMatrix, Scale, distances, too_small
from .pairs import Floats, Ints, ItemPairs, low_rank, store
from .tag_part import TagPart


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
        plain |= tags is not None
        correction = Correction.of(kernel, overlaps, centred=not plain)
        columns, values = correction.pairs.columns, overlaps.pair_values()
        if len(columns) != overlaps.pairs:  # weighted items that have most of the mass
            values = np.empty(len(columns))
        nearest = np.zeros(overlaps.items)
        for first in correction.pairs.firsts():
            store(values, first, correction.chunk(first, nearest))
        return correction.finished(values, nearest, tags, plain=plain)

    def _parts(self) -> dict[str, Any]:
        others = "pull", "distance", "scale"
        return {name: part for name, part in vars(self).items() if name not in others}

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


@dataclass(frozen=True, eq=False)
class Correction:
    """The correction of a compressed matrix, chunk by chunk, and what surrounds it.

    All but the values follows from the numbers of users, so that processes that share files of
    counts can compute a chunk each.
    """

    kernel: Kernel
    pairs: ItemPairs
    distance: Floats | None
    background: Floats
    product: tuple[Floats, Floats] | None  # of weighted items: a background of low rank

    @staticmethod
    def of(kernel: Kernel, overlaps: Overlaps, *, centred: bool = True) -> Correction:
        """Prepare; ``centred`` allows another origin where values crowd."""
        distance = distances(kernel, overlaps) if centred else None
        with np.errstate(all="ignore"):
            pairs, product = _split(kernel, overlaps, distance)
            return Correction(kernel, pairs, distance, pairs.background(), product)

    def chunk(self, first: int, nearest: Floats) -> Floats:
        """Return the correction of a chunk, and raise the largest value of each row."""
        with np.errstate(all="ignore"):
            columns, values = self.pairs.chunk(first)
            self.pairs.raise_largest(nearest, first, values)
        self.subtract(values, first, columns, self.background, np.ones(len(nearest)))
        return values

    def subtract(
        self, values: Floats, first: int, columns: Ints, background: Floats, share: Floats
    ) -> None:
        """Subtract a background from the values of a chunk."""
        from .._compiled.matrix import subtract_background, subtract_product

        places = first, self.pairs.indptr, columns
        subtract_background(values, *places, self.pairs.classes, background, share)
        if self.product is not None:
            subtract_product(values, *places, *self.product)

    def finished(
        self, values: Any, nearest: Floats, tags: TagPart | None = None, *, plain: bool = False
    ) -> CompressedMatrix:
        """Return the matrix, from the correction of all pairs and the largest value of each row."""
        pairs, product, background = self.pairs, self.product, self.background
        overlaps, distance = pairs.overlaps, self.distance
        share, scale = np.ones(overlaps.items), None
        with np.errstate(all="ignore"):
            nearest = np.maximum(background.max(axis=0)[pairs.classes], nearest)
            if product is not None:
                left, right = map(np.abs, product)
                nearest = np.maximum(nearest, left @ right.max(axis=0))
            if distance is None and not plain and too_small(self.kernel, overlaps, nearest):
                if not isinstance(values, np.ndarray):
                    raise InputError(
                        f"the values of {self.kernel} are too small for doubles and have to be "
                        "scaled, which needs all of them in memory",
                        hint="take a kernel of lower arity, or fit in memory",
                        parameter="kernel",
                    )
                product = None  # a sum with tiny values has no background worth keeping
                background, share, values, scale = pairs.scaled(self.kernel)
                without = replace(self, product=None)
                without.subtract(values, 0, pairs.columns, background, share)
        totals = (pairs.numbers @ background - np.diag(background))[pairs.classes] * share
        if product is not None:
            left, right = product
            totals += right @ left.sum(axis=0) - (left * right).sum(axis=1)
        totals += pairs.totals(values, symmetric=scale is None)
        if distance is not None:
            totals += 2 * distance
        set_values = sets = None
        if tags is not None:
            sets, set_values = tags.classes, tags.values
            product = None if product is None else (product[0] * tags.share, product[1])
            background, values, totals = (x * tags.share for x in (background, values, totals))
            totals += (np.bincount(sets) @ set_values - np.diag(set_values))[sets]
        stored = background, share, pairs.classes, pairs.indptr, mapped(pairs.columns)
        pull = totals / overlaps.items
        more = *(product or (None, None)), set_values, sets
        return CompressedMatrix(*stored, mapped(values), pull, distance, scale, *more)


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
        with np.errstate(all="ignore"):
            pairs, product = _split(kernel, overlaps, None)
            values, background = pairs.values(), pairs.background()
        nothing = np.empty((overlaps.items, 0))
        rows = pairs.indptr, pairs.columns, values
        return Parts(*rows, pairs.classes, background, *(product or (nothing, nothing)))


def _split(
    kernel: Kernel, overlaps: Overlaps, distance: Floats | None
) -> tuple[ItemPairs, tuple[Floats, Floats] | None]:
    """Return the pairs that share users, and factors of the background of weighted items."""
    value = partial(cosines if distance is None else centred_values, kernel)
    if overlaps.weighting is None:
        return ItemPairs.by_size(overlaps, value), None
    own = own_values(kernel, overlaps, overlaps.sizes)
    scaled = times_two_to(own.hi, own.exp - own.exp.max())
    squares = scaled if distance is None else 2 * distance
    return ItemPairs.of_one_class(overlaps, value, own), low_rank(value, overlaps, squares)
