"""Values of items: of pairs that share users, in compressed rows, and of all others.

The factors of a background of low rank come from cross approximation with complete pivoting: of the
function on a sample of masses, the largest residual names a row and a column that become exact,
until nothing is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..errors import InputError
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.wide import inverse_root, times_two_to
from .base import NOTHING, Floats, Scale, products
from .item_values import ItemValues

Ints = NDArray[np.int32]

# Pairs whose values are computed at once: 50 MB of temporaries.
CHUNK = 1 << 20
# Masses of the sample; residual that counts as nothing, relative to the largest value; the largest
# that may be rounding errors of the values, if so many steps do not halve it; and the highest rank.
_SAMPLE, _NOTHING, _NOISE, _STEPS, _MOST = 256, 2.0**-49, 2.0**-41, 8, 128


@dataclass(frozen=True, eq=False)
class ItemPairs:
    """Values of a kernel: of pairs of items that share users, in compressed rows, and of others.

    All but the values follows from the numbers of users, so that processes that share files of
    counts can compute a chunk each.
    """

    item_values: ItemValues
    indptr: NDArray[np.int64]
    columns: Any  # int32, an array or a file
    counts: Any  # likewise
    class_sizes: NDArray[np.int64]
    classes: Ints
    roots: Floats | None = None  # of weighted items: 1/√κ(x, x)
    product: tuple[Floats, Floats] | None = None  # of weighted items: a background of low rank

    @staticmethod
    def of(kernel: Kernel, overlaps: Overlaps, *, centred: bool = True) -> ItemPairs:
        """Prepare; ``centred`` allows another origin where values crowd."""
        item_values = ItemValues.of(kernel, overlaps, centred=centred)
        if overlaps.weighting is None:
            sizes, classes = np.unique(overlaps.sizes, return_inverse=True)
            return ItemPairs(item_values, *overlaps.rows(), sizes, classes.astype(np.int32))
        one_class = np.zeros(1, np.int64), np.zeros(overlaps.items, np.int32)
        with np.errstate(all="ignore"):
            own = item_values.own(overlaps.sizes)
            scaled = times_two_to(own.hi, own.exp - own.exp.max())
            squares = scaled if item_values.distance is None else 2 * item_values.distance
            more = inverse_root(own).floats(), low_rank(item_values, squares)
        return ItemPairs(item_values, *_rows_with_large(overlaps), *one_class, *more)

    def firsts(self) -> list[int]:
        """Return the places of the first pairs of chunks.

        The length of a chunk decides last digits. So all have the same one, for which the last two
        overlap: values are the same in memory, on disk and in many processes, and those of a pair
        and its mirror image are equal.
        """
        last = max(len(self.columns) - CHUNK, 0)
        return [*range(0, last, CHUNK), last] if len(self.columns) else []

    def chunk(self, first: int) -> tuple[Ints, Pairs]:
        """Return the second items of a chunk of pairs that share users, and the pairs."""
        from .._compiled.matrix import of_pairs

        part = slice(first, first + CHUNK)
        columns, counts = self.columns[part], self.counts[part]
        x, z = np.empty((2, len(counts)), np.int64)
        of_pairs((x, z), first, self.indptr, columns, self.item_values.overlaps.sizes)
        pairs = self.item_values.pairs(x, z, counts)
        if self.roots is not None:
            a, b = np.empty((2, len(counts)))
            of_pairs((a, b), first, self.indptr, columns, self.roots)
            pairs = replace(pairs, roots=(a, b))
        return columns, pairs

    def values(self) -> Floats:
        """Return the values of all pairs that share users."""
        out = np.empty(len(self.columns))
        with np.errstate(all="ignore"):
            for first in self.firsts():
                store(out, first, self.item_values.at(self.chunk(first)[1]))
        return out

    def correction(self, first: int, nearest: Floats) -> Floats:
        """Return values of a chunk less the background, and raise the largest of each row."""
        columns, pairs = self.chunk(first)
        with np.errstate(all="ignore"):
            values = self.item_values.at(pairs)
        start = int(np.searchsorted(self.indptr, first, side="right")) - 1
        rows = np.arange(start, int(np.searchsorted(self.indptr, first + len(values))))
        rows = rows[np.diff(self.indptr)[rows] > 0]
        found = np.maximum.reduceat(values, np.maximum(self.indptr[rows] - first, 0))
        nearest[rows] = np.maximum(nearest[rows], found)
        self.subtract(values, first, columns, self.background, np.ones(len(nearest)))
        return values

    def subtract(
        self, values: Floats, first: int, columns: Ints, background: Floats, share: Floats
    ) -> None:
        """Subtract a background from the values of a chunk."""
        from .._compiled.matrix import subtract_background, subtract_product

        places = first, self.indptr, columns
        subtract_background(values, *places, self.classes, background, share)
        if self.product is not None:
            subtract_product(values, *places, *self.product)

    @cached_property
    def background(self) -> Floats:
        """Return the values of disjoint pairs of classes; 0 where no two items can be disjoint.

        It is 0 for weighted items, which are of one class.
        """
        possible, pairs = self.disjoint()
        out = np.zeros(possible.shape)
        if possible.any():
            with np.errstate(all="ignore"):
                out[possible] = self.item_values.at(pairs)
        return out

    def disjoint(self) -> tuple[NDArray[np.bool_], Pairs]:
        """Return which two classes can have disjoint items, and pairs of these classes."""
        x, z = np.meshgrid(self.class_sizes, self.class_sizes, indexing="ij")
        overlaps = self.item_values.overlaps
        possible = (x + z <= overlaps.total) & (overlaps.weighting is None)
        a, b = x[possible], z[possible]
        return possible, self.item_values.pairs(a, b, np.zeros_like(a))

    def reduced(self, function: np.ufunc, values: Any, empty: int = 0) -> NDArray[Any]:
        """Reduce each row; the rows of a file in parts of about a chunk, which changes nothing."""
        out = np.full(len(self.classes), empty, values.dtype)
        some = np.flatnonzero(np.diff(self.indptr))
        cuts = np.flatnonzero(np.diff(self.indptr[some] // CHUNK)) + 1
        parts = [some] if isinstance(values, np.ndarray) else np.split(some, cuts)
        for rows in parts if len(some) else ():
            first, last = self.indptr[rows[0]], self.indptr[rows[-1] + 1]
            out[rows] = function.reduceat(values[first:last], self.indptr[rows] - first)
        return out

    def scaled(self) -> tuple[Floats, Floats, Floats, Scale]:
        """Return background, share, values and scale; the largest of each column is apart."""
        values, powers = np.empty(len(self.columns)), np.empty(len(self.columns), np.int64)
        for first in self.firsts():
            part = slice(first, first + CHUNK)
            values[part], powers[part] = self.item_values.scaled(self.chunk(first)[1])
        possible, pairs = self.disjoint()
        background, under = np.zeros(possible.shape), np.zeros(possible.shape, np.int64)
        if possible.any():
            background[possible], under[possible] = self.item_values.scaled(pairs)
        powers[values == 0] = under[background == 0] = NOTHING
        class_top = under.max(axis=0)
        # Values are symmetric: row j holds column j.
        first = np.maximum(self.reduced(np.maximum, powers, NOTHING), class_top[self.classes])
        rows = np.repeat(np.arange(len(self.classes)), np.diff(self.indptr))
        largest = np.where(powers == first[rows], values, 0.0)
        lead = self.reduced(np.maximum, largest, 0)
        is_lead = (largest > 0) & (largest == lead[rows])
        items, at = np.unique(rows[is_lead], return_index=True)
        at = np.flatnonzero(is_lead)[at]
        nearest = np.full(len(self.classes), -1, np.int32)
        nearest[items] = self.columns[at]
        rest = powers.copy()
        rest[at] = NOTHING
        second = np.maximum(self.reduced(np.maximum, rest, NOTHING), class_top[self.classes])
        values = times_two_to(values, powers - second[self.columns])
        for item in items:  # the same pair again, in the row of the nearest item
            row = nearest[item]
            begin, end = self.indptr[row], self.indptr[row + 1]
            values[begin + np.searchsorted(self.columns[begin:end], item)] = 0.0
        share = times_two_to(np.ones(len(second)), class_top[self.classes] - second)
        scale = Scale(second.astype(float), nearest, lead, first.astype(float))
        return times_two_to(background, under - class_top), share, values, scale


def _rows_with_large(overlaps: Overlaps) -> tuple[NDArray[np.int64], Any, Any]:
    """Add all pairs with an item of most of the mass: no background holds for those."""
    from scipy.sparse import csr_array

    m = overlaps.items
    indptr, columns, counts = overlaps.rows()
    large = np.flatnonzero(2 * overlaps.sizes > overlaps.total)
    if not len(large):
        return indptr, columns, counts
    if not isinstance(columns, np.ndarray):
        raise InputError(
            f"item number {large[0]} has more than half of the weight of all users",
            hint="fit in memory, without a limit, or use user_exponent=0",
            parameter="user_exponent",
        )
    a, b = (side.ravel() for side in np.meshgrid(large, np.arange(m)))
    a, b = a[a != b], b[a != b]
    rows = np.concatenate((np.repeat(np.arange(m), np.diff(indptr)), a, b))
    data = np.concatenate((counts, np.zeros(2 * len(a), np.int64)))
    found = csr_array((data, (rows, np.concatenate((columns, b, a)))), (m, m))
    found.sum_duplicates()
    return found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data


def store(out: Any, first: int, values: Floats) -> None:
    """Copy values to a place in an array or a file."""
    from .._compiled.ranges import put

    if isinstance(out, np.ndarray):
        put(out[first : first + len(values)], values)
    else:
        out[first : first + len(values)] = values


def low_rank(item_values: ItemValues, squares: Floats) -> tuple[Floats, Floats] | None:
    """(m, r) Return factors whose product has the values of disjoint items, or None for 0.

    Rows of items with most of the mass are 0: they overlap with others like them. Values are
    divided by √squares of both items on the way, so that small ones keep their digits.
    """
    overlaps = item_values.overlaps
    small = (2 * overlaps.sizes <= overlaps.total) & (squares > 0)
    if not small.any():
        return None
    sizes, first, inverse = np.unique(overlaps.sizes[small], return_index=True, return_inverse=True)
    scale = np.sqrt(squares[small][first])

    def block(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        none = np.broadcast_to(np.int64(0), (len(rows), len(columns)))
        found = item_values.at(item_values.pairs(sizes[rows, None], sizes[None, columns], none))
        return np.asarray(found / (scale[rows, None] * scale[columns]))

    everything = np.arange(len(sizes))
    even = np.linspace(0, len(sizes) - 1, _SAMPLE).round().astype(np.intp)
    spread = np.searchsorted(sizes[:-1], np.geomspace(max(sizes[0], 1), sizes[-1] + 1, _SAMPLE))
    sample = np.unique(np.concatenate((even, spread)))
    rest = block(sample, sample)
    top = best = np.abs(rest).max()
    if top == 0:
        return None
    rows, columns = np.empty((2, 0), np.intp)
    enough = 0
    while (largest := np.abs(rest).max()) > _NOTHING * top:
        if largest < best / 2:
            best, enough = largest, len(rows)
        elif best <= _NOISE * top and len(rows) - enough == _STEPS:
            rows, columns = rows[:enough], columns[:enough]
            break
        if len(rows) == _MOST:
            raise InputError(
                "the values of disjoint items have no compressed form",
                hint="use storage='dense'",
                parameter="storage",
            )
        a, b = np.unravel_index(np.abs(rest).argmax(), rest.shape)
        rows, columns = np.append(rows, sample[a]), np.append(columns, sample[b])
        rest -= np.outer(rest[:, b], rest[a] / rest[a, b])
    left, right = block(everything, columns), block(rows, everything).T
    for k in range(len(rows)):
        left[:, k] -= products(left[:, :k], right[columns[k], :k])
        right[:, k] -= products(right[:, :k], left[rows[k], :k])
        left[:, k] /= left[rows[k], k]
    out = np.zeros((2, overlaps.items, len(rows)))
    out[0, small], out[1, small] = ((side * scale[:, None])[inverse] for side in (left, right))
    return out[0], out[1]
