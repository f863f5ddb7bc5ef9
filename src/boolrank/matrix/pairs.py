"""Values of items: of pairs that share users, in compressed rows, and of all others.

Pairs that share users are computed chunk by chunk. The others, the background, depend on two sizes
alone: a table, or, with weighted users, a smooth function of two masses, of low rank. Its factors
come from cross approximation with complete pivoting: of the function on a sample of masses, the
largest residual names a row and a column that become exact, until nothing is left. The function is
a polynomial for disjunctive and threshold kernels, so few suffice: 3 to 20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..errors import InputError
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.values import scaled_cosines
from ..kernels.wide import Wide, inverse_root, times_two_to
from .base import NOTHING, Scale

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# Pairs whose values are computed at once: 50 MB of temporaries.
CHUNK = 1 << 20
# Masses of the sample; residual that counts as nothing, relative to the largest value; the largest
# that may be rounding errors of the values, if so many steps do not halve it; and the highest rank.
_SAMPLE, _NOTHING, _NOISE, _STEPS, _MOST = 256, 2.0**-49, 2.0**-41, 8, 128


@dataclass(frozen=True, eq=False)
class ItemPairs:
    """Pairs of items that share users, in compressed rows, and classes of items."""

    overlaps: Overlaps
    value: Callable[[Pairs], Floats]  # of a kernel
    indptr: NDArray[np.int64]
    columns: Any  # int32, an array or a file
    counts: Any  # likewise
    class_sizes: NDArray[np.int64]
    classes: Ints
    numbers: NDArray[np.int64]  # items of each class
    roots: Floats | None = None  # of weighted items: 1/√κ(x, x)
    tables: dict[Any, Any] = field(default_factory=dict)  # of the kernel, shared by all pairs

    @staticmethod
    def by_size(overlaps: Overlaps, value: Callable[[Pairs], Floats]) -> ItemPairs:
        sizes, classes, numbers = np.unique(overlaps.sizes, return_inverse=True, return_counts=True)
        of_classes = sizes, classes.astype(np.int32), numbers
        return ItemPairs(overlaps, value, *overlaps.rows(), *of_classes)

    @staticmethod
    def of_one_class(overlaps: Overlaps, value: Callable[[Pairs], Floats], own: Wide) -> ItemPairs:
        """Add all pairs with an item of most of the mass: no background holds for those."""
        from scipy.sparse import csr_array

        m = overlaps.items
        indptr, columns, counts = overlaps.rows()
        large = np.flatnonzero(2 * overlaps.sizes > overlaps.total)
        if len(large):
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
            indptr, counts = found.indptr.astype(np.int64), found.data
            columns = found.indices.astype(np.int32)
        one = np.zeros(1, np.int64), np.zeros(m, np.int32), np.array([m])
        roots = inverse_root(own).floats()
        return ItemPairs(overlaps, value, indptr, columns, counts, *one, roots)

    def firsts(self) -> range:
        """Return the places of the first pairs of chunks.

        Chunks decide last digits, so they are the same in memory, on disk and in many processes.
        """
        return range(0, len(self.columns), CHUNK)

    def chunk(self, first: int) -> tuple[Ints, Floats]:
        """Return the second items of a chunk of pairs that share users, and the values."""
        from .._compiled.matrix import of_pairs

        part = slice(first, first + CHUNK)
        columns, counts = self.columns[part], self.counts[part]
        x, z = np.empty((2, len(counts)), np.int64)
        of_pairs((x, z), first, self.indptr, columns, self.overlaps.sizes)
        pairs = Pairs.of_items(self.overlaps, x, z, counts, self.tables)
        if self.roots is not None:
            a, b = np.empty((2, len(counts)))
            of_pairs((a, b), first, self.indptr, columns, self.roots)
            pairs = replace(pairs, roots=(a, b))
        return columns, self.value(pairs)

    def values(self) -> Floats:
        """Return the values of all pairs that share users."""
        out = np.empty(len(self.columns))
        for first in self.firsts():
            store(out, first, self.chunk(first)[1])
        return out

    def raise_largest(self, largest: Floats, first: int, values: Floats) -> None:
        """Raise the largest value of each row to those of a chunk."""
        stop = first + len(values)
        start = int(np.searchsorted(self.indptr, first, side="right")) - 1
        rows = np.arange(start, int(np.searchsorted(self.indptr, stop)))
        rows = rows[np.diff(self.indptr)[rows] > 0]
        found = np.maximum.reduceat(values, np.maximum(self.indptr[rows] - first, 0))
        largest[rows] = np.maximum(largest[rows], found)

    def background(self) -> Floats:
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
            out[possible] = self.value(pairs)
        return out

    def totals(self, values: Floats, symmetric: bool) -> Floats:
        """Return the sum of each column."""
        if symmetric:
            return self._reduced(np.add, values)
        sums = np.bincount(self.columns, weights=values, minlength=len(self.classes))
        return sums.astype(np.float64)

    def _reduced(self, function: np.ufunc, values: Any, empty: int = 0) -> NDArray[Any]:
        """Reduce each row; the rows of a file in parts of about a chunk, which changes nothing."""
        out = np.full(len(self.classes), empty, values.dtype)
        some = np.flatnonzero(np.diff(self.indptr))
        cuts = np.flatnonzero(np.diff(self.indptr[some] // CHUNK)) + 1
        parts = [some] if isinstance(values, np.ndarray) else np.split(some, cuts)
        for rows in parts if len(some) else ():
            first, last = self.indptr[rows[0]], self.indptr[rows[-1] + 1]
            out[rows] = function.reduceat(values[first:last], self.indptr[rows] - first)
        return out

    def scaled(self, kernel: Kernel) -> tuple[Floats, Floats, Floats, Scale]:
        """Return background, share, values and scale; the largest of each column is apart."""
        found: list[NDArray[np.int64]] = []

        def mantissas(pairs: Pairs) -> Floats:
            value, power = scaled_cosines(kernel, pairs)
            power[value == 0] = NOTHING
            found.append(power)
            return value

        scaled = replace(self, value=mantissas)
        values = scaled.values()
        powers = np.concatenate([*found, np.empty(0, np.int64)])
        found.clear()
        background = scaled.background()
        under = np.full(background.shape, NOTHING)
        if found:  # otherwise no two items can be disjoint
            possible = np.add.outer(self.class_sizes, self.class_sizes) <= self.overlaps.total
            under[possible] = found[0]
        class_top = under.max(axis=0)
        # Values are symmetric: row j holds column j.
        first = np.maximum(self._reduced(np.maximum, powers, NOTHING), class_top[self.classes])
        rows = np.repeat(np.arange(len(self.classes)), np.diff(self.indptr))
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


def store(out: Any, first: int, values: Floats) -> None:
    """Copy values to a place in an array or a file."""
    from .._compiled.ranges import put

    if isinstance(out, np.ndarray):
        put(out[first : first + len(values)], values)
    else:
        out[first : first + len(values)] = values


def low_rank(
    value: Callable[[Pairs], Floats], overlaps: Overlaps, squares: Floats
) -> tuple[Floats, Floats] | None:
    """(m, r) Return factors whose product has the values of disjoint items, or None for 0.

    Rows of items with most of the mass are 0: they overlap with others like them. Values are
    divided by √squares of both items on the way, so that small ones keep their digits.
    """
    small = (2 * overlaps.sizes <= overlaps.total) & (squares > 0)
    if not small.any():
        return None
    sizes, first, inverse = np.unique(overlaps.sizes[small], return_index=True, return_inverse=True)
    scale = np.sqrt(squares[small][first])

    def block(rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
        none = np.broadcast_to(np.int64(0), (len(rows), len(columns)))
        found = value(Pairs.of_items(overlaps, sizes[rows, None], sizes[None, columns], none))
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
        left[:, k] -= left[:, :k] @ right[columns[k], :k]
        right[:, k] -= right[:, :k] @ left[rows[k], :k]
        left[:, k] /= left[rows[k], k]
    out = np.zeros((2, overlaps.items, len(rows)))
    out[0, small], out[1, small] = ((side * scale[:, None])[inverse] for side in (left, right))
    return out[0], out[1]
