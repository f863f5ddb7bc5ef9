"""Overlaps: the number of users, of users per item, and of users that two items share.

Every kernel and item-item model derives from these counts. They are a dense matrix where most pairs
of items share a user, and compressed sparse rows where few do. With a user exponent g, user v
counts as round(2^40·activity(v)^-g): masses are exact sums in any order, and updates stay exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, parse_size
from ..checks import real
from ..data.interactions import Interactions
from ..data.vocabulary import Vocabulary
from ..engines.threads import threads
from ..errors import InputError
from ..storage.disk_array import DiskArray
from ..storage.state import State, array
from .blocks import TooManyPairsError, count_block
from .limits import check_longest, too_many_pairs
from .weighting import MOST, UNIT, Weighting, user_weights

# Multiplications in BLAS that take as long as one counting step, measured.
_BLAS_STEPS = 50.0
# Single precision counts exactly up to this many users.
SINGLE = 1 << 24
# Largest dense matrix of counts to consider: 2 GB.
_DENSE_UP_TO = 22_000
# Bytes per pair of items while counting: column and count, in blocks and then in one piece.
_PAIR_BYTES = 16
# Pairs of a file whose values are computed at once: 32 MB.
_PART = 1 << 21
# Bytes per pair in a dense matrix.
_DENSE_BYTES = 4

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Overlaps(State):
    """Counts of users, or masses of weighted ones: in total, per item, and per pair of items.

    Attributes
    ----------
    n : number of users
    sizes : (m,) users of each item, or their mass
    dense : (m, m) shared users, with the sizes on the diagonal, or None
    indptr, columns, counts : the same as compressed sparse rows without a diagonal, or None
    weighting : weights of users, or None if all count as 1

    >>> counts = Overlaps.of(Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"]))
    >>> counts.n, counts.sizes, counts.sparse().columns
    (3, array([2, 2, 1]), array([1, 2, 0, 0], dtype=int32))
    """

    kind: ClassVar[str] = "overlaps"

    n: int
    sizes: NDArray[np.int64] = array("int64", "items", low=0, high=2.0**MOST)
    dense: NDArray[Any] | None = array(
        "float32|int64", "items", "items", low=0, high=2.0**MOST, optional=True
    )
    indptr: NDArray[np.int64] | None = array(
        "int64", "items+1", low=0, divides=("columns", "counts"), optional=True
    )
    columns: Ints | None = array("int32", "*", low=0, high="items", optional=True)
    counts: NDArray[Any] | None = array("int32|int64", "*", low=0, high=2.0**MOST, optional=True)
    weighting: Weighting | None = None

    @staticmethod
    def of(
        interactions: Interactions,
        n_threads: int | None = None,
        user_exponent: float = 0.0,
        memory: int | str | None = None,
    ) -> Overlaps:
        """Count in one pass over the data, with the method estimated to be fastest.

        Users weigh activity^-user_exponent, from 0 to 1; with 0 all count as 1. With ``memory``,
        such as ``"4GB"``, pairs are counted in a temporary file with so many bytes, and mapped.

        >>> data = Interactions.from_pairs([1, 1, 2], ["a", "b", "a"])
        >>> counts = Overlaps.of(data, user_exponent=1)
        >>> counts.sizes / counts.total, counts.degrees
        (array([1.        , 0.33333333]), array([2, 1]))
        """
        exponent = real("Overlaps", "user_exponent", user_exponent, low=0, high=1)
        if memory is not None:
            from .disk_counts import count_within

            with threads(n_threads):
                return count_within(interactions, exponent, parse_size("memory", memory))
        n, items = interactions.shape
        lengths = np.diff(interactions.indptr).astype(float)
        steps = float(lengths @ lengths)  # an upper bound of the pairs that share a user
        with threads(n_threads):
            if not is_dense(n, items, steps, exponent):
                return count_sparse(interactions, exponent)
            if not exponent and float(n) * items * items < _BLAS_STEPS * steps:
                return count_by_products(interactions)
            return count_dense(interactions, exponent)

    @staticmethod
    def of_disjoint(sizes: NDArray[np.int64]) -> Overlaps:
        """Return the overlaps of items that share no users."""
        none = np.zeros(len(sizes) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
        return Overlaps(int(sizes.sum()), sizes, None, *none)

    @property
    def user_exponent(self) -> float:
        """Exponent of the users' weights; 0 if all count as 1."""
        return 0.0 if self.weighting is None else self.weighting.exponent

    @property
    def total(self) -> int:
        """Weight of all users with at least one item; the number of users if all count as 1."""
        return self.n if self.weighting is None else self.weighting.total

    @property
    def unit(self) -> int:
        """Weight of a user with one item."""
        return 1 if self.weighting is None else 1 << UNIT

    @property
    def degrees(self) -> NDArray[np.int64]:
        """(m,) Users of each item, whatever they weigh."""
        return self.sizes if self.weighting is None else self.weighting.degrees

    def check(self, interactions: Interactions) -> Overlaps:
        """Return these overlaps if they can be those of the interactions; raise otherwise."""
        hint = "count them with Overlaps.of(interactions)"
        if (self.n, self.items) != interactions.shape:
            raise InputError(
                f"the overlaps have {self.n:,} users and {self.items:,} items, the interactions "
                f"{interactions.shape[0]:,} and {interactions.shape[1]:,}",
                hint=hint,
                parameter="overlaps",
            )
        if not np.array_equal(self.degrees, interactions.popularity()):
            raise InputError(
                "the overlaps belong to other interactions: the users per item differ",
                hint=hint,
                parameter="overlaps",
            )
        return self

    def updated(self, before: Interactions, after: Interactions) -> Overlaps:
        """Return the overlaps after a change of interactions, from the changed rows alone."""
        from scipy.sparse import csr_array, diags_array

        new_users, n = _places(before.users, after.users)
        new_items, m = _places(before.items, after.items)
        kept = len(after.items)  # those that are gone come last, until the end
        rows = np.repeat(new_users, np.diff(before.indptr))
        old = csr_array((np.ones(before.size, np.int32), (rows, new_items[before.indices])), (n, m))
        indptr = np.pad(after.indptr, (0, n - len(after.users)), mode="edge")
        new = csr_array((np.ones(after.size, np.int32), after.indices, indptr), (n, m))
        changed = np.flatnonzero(np.asarray(abs(new - old).sum(axis=1)).ravel())
        change: Any = csr_array((m, m), dtype=np.int32)
        for part, sign in ((new[changed], 1), (old[changed], -1)):
            lengths = np.diff(part.indptr)
            weights = np.repeat(sign * user_weights(lengths, self.user_exponent), lengths)
            change += part.T @ csr_array((weights, part.indices, part.indptr), part.shape)
        weighting, _ = _weights(after, self.user_exponent)
        if self.dense is not None:
            dense = np.zeros((m, m), self.dense.dtype)
            dense[np.ix_(new_items, new_items)] = self.dense
            dense += change.toarray().astype(dense.dtype)
            dense = np.ascontiguousarray(dense[:kept, :kept])
            sizes = np.diag(dense).astype(np.int64)
            return Overlaps(len(after.users), sizes, dense=dense, weighting=weighting)
        indptr, columns, numbers = self.rows()
        rows = np.repeat(new_items, np.diff(indptr))
        counts: Any = csr_array((numbers, (rows, new_items[columns])), (m, m))
        sizes = np.zeros(m, np.int64)
        sizes[new_items] = self.sizes
        own = change.diagonal()
        counts = csr_array(counts + change - diags_array(own, dtype=own.dtype))
        counts.eliminate_zeros()
        counts.sort_indices()
        return Overlaps(
            len(after.users),
            (sizes + own)[:kept],
            None,
            counts.indptr[: kept + 1].astype(np.int64),
            counts.indices.astype(np.int32),
            counts.data.astype(numbers.dtype),
            weighting,
        )

    def sparse(self) -> Overlaps:
        """Return the same counts as compressed sparse rows."""
        if self.dense is None:
            return self
        indptr = np.zeros(self.items + 1, np.int64)
        lengths = np.count_nonzero(self.dense, axis=1) - (np.diag(self.dense) != 0)
        np.cumsum(lengths, out=indptr[1:])
        columns = np.empty(indptr[-1], np.int32)
        counts = np.empty(indptr[-1], np.int64 if self.weighting else np.int32)
        for item, row in enumerate(self.dense):
            part, shared = slice(indptr[item], indptr[item + 1]), np.flatnonzero(row)
            columns[part] = shared = shared[shared != item]
            counts[part] = row[shared]
        return Overlaps(self.n, self.sizes, None, indptr, columns, counts, self.weighting)

    def rows(self) -> tuple[NDArray[np.int64], Ints, NDArray[Any]]:
        """Return the row starts, columns and counts of the compressed sparse rows."""
        found = self.sparse()
        if found.indptr is None or found.columns is None or found.counts is None:
            raise InputError("the overlaps have neither a dense matrix nor sparse rows")
        return found.indptr, found.columns, found.counts

    def pair_values(
        self, fill: Callable[..., None] | None = None, dtype: str = "float64"
    ) -> NDArray[Any] | DiskArray:
        """Return a new array with a value of each pair, in memory or in a file, as the counts are.

        ``fill(values, rows, indptr, columns, counts)`` gets a slice of the rows, of files some at
        a time. Without it the array is left empty.
        """
        indptr, columns, counts = self.rows()
        if isinstance(columns, np.ndarray):
            out = np.empty(len(columns), dtype)
            if fill is not None:
                fill(out, slice(None), indptr, columns, counts)
            return out
        values = columns.beside("values", dtype)
        cuts = np.flatnonzero(np.diff(indptr[:-1] // _PART)) + 1
        for start, stop in pairwise([0, *cuts.tolist(), self.items]) if fill is not None else ():
            part = slice(indptr[start], indptr[stop])
            out = np.empty(part.stop - part.start, dtype)
            starts = indptr[start : stop + 1] - part.start
            fill(out, slice(start, stop), starts, columns[part], counts[part])
            values.append(out)
        return values

    @property
    def rows_size(self) -> int:
        """Bytes that `rows` takes; 0 if these counts are sparse already."""
        return 0 if self.dense is None else self.pairs * (12 if self.weighting else 8)

    def filled(self, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Return the same counts as a dense matrix, or some rows of it."""
        if self.dense is not None:
            return self.dense[start:stop]
        indptr, columns, counts = self.rows()
        rows = np.arange(self.items)[start:stop]
        out = np.zeros((len(rows), self.items), np.int64 if self.weighting else np.float32)
        part = slice(indptr[start], indptr[start + len(rows)])
        places = np.repeat(np.arange(len(rows)), np.diff(indptr)[rows])
        out[places, columns[part]] = counts[part]
        out[np.arange(len(rows)), rows] = self.sizes[rows]
        return out

    def row(self, item: int) -> NDArray[np.int64]:
        """Return the number of users that an item shares with each item."""
        if self.dense is not None:
            return np.asarray(self.dense[item], dtype=np.int64)
        indptr, columns, counts = self.rows()
        out = np.zeros(self.items, np.int64)
        part = slice(indptr[item], indptr[item + 1])
        out[columns[part]] = counts[part]
        out[item] = self.sizes[item]
        return out

    def alone(self) -> NDArray[np.bool_]:
        """Return which items share no user with any other."""
        if self.dense is not None:
            shared: NDArray[Any] = np.count_nonzero(self.dense, axis=1) - (self.sizes > 0)
            return np.asarray(shared == 0)
        return np.asarray(np.diff(self.rows()[0]) == 0)

    @property
    def in_files(self) -> bool:
        """Whether pairs are in files, see `count_on_disk`."""
        return isinstance(self.columns, DiskArray)

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.sizes)

    @property
    def pairs(self) -> int:
        """Number of ordered pairs of different items that share a user."""
        if self.dense is not None:
            return int(np.count_nonzero(self.dense)) - int(np.count_nonzero(self.sizes))
        return len(self.rows()[1])


def is_dense(n: int, items: int, steps: float, exponent: float) -> bool:
    """Return whether to count into a dense matrix; ``steps`` bounds the pairs that share a user."""
    room = _DENSE_BYTES * items * items * (2 if exponent else 1)
    small = items <= _DENSE_UP_TO and n <= SINGLE
    return small and steps >= items * items / 4 and room <= free_memory()


def prefers_dense(items: int, pairs: int) -> bool:
    """Return whether a dense matrix is faster than one of the pairs that share users.

    A scattered addition costs about six streamed ones (measured: 2.4 ns against 0.4 ns).
    """
    return items * items <= 6 * pairs


def _places(before: Vocabulary, after: Vocabulary) -> tuple[NDArray[np.int64], int]:
    """Return the new numbers of ids, those that are gone after all others, and how many there are.

    >>> from boolrank.data.vocabulary import Vocabulary
    >>> _places(Vocabulary.of("abc")[0], Vocabulary.of("bcd")[0])
    (array([3, 0, 1]), 4)
    """
    places = after.find(before)
    gone = places < 0
    places[gone] = len(after) + np.arange(gone.sum())
    return places, len(after) + int(gone.sum())


def count_by_products(interactions: Interactions) -> Overlaps:
    """Count with BLAS, by products of blocks of the dense matrix."""
    from scipy.linalg.blas import ssyrk

    from .._compiled.weights import spread

    n, items = interactions.shape
    sizes = interactions.popularity()
    total: Any = np.zeros((items, items), np.float32, order="F")
    step = max(1, (1 << 26) // items)
    matrix = interactions.matrix()
    for start in range(0, n, step):
        block = matrix[start : start + step].toarray()
        total = ssyrk(1.0, block.T, beta=1.0, c=total, lower=1, overwrite_c=1)
    dense, ones = total.T, np.ones(items)
    spread(dense, ones, ones, sizes.astype(np.float64))
    return Overlaps(n, sizes, dense=dense)


def count_dense(interactions: Interactions, exponent: float = 0.0) -> Overlaps:
    """Count item by item, over the items of its users, into a dense matrix."""
    from .._compiled.overlaps import count_matrix
    from .._compiled.rows import transposed

    n, items = interactions.shape
    user_ptr, user_items = interactions.indptr, interactions.indices
    weighting, weights = _weights(interactions, exponent)
    item_ptr, item_users, places = transposed(user_ptr, user_items, items)
    dense = np.empty((items, items), np.int64 if weighting else np.float32)
    count_matrix(dense, weights, item_ptr, item_users, places, user_ptr, user_items)
    return Overlaps(n, np.diag(dense).astype(np.int64), dense=dense, weighting=weighting)


def count_sparse(interactions: Interactions, exponent: float = 0.0) -> Overlaps:
    """Count item by item, over the items of its users, into compressed rows."""
    check_longest(interactions)
    n, items = interactions.shape
    weighting, weights = _weights(interactions, exponent)
    pair_bytes, available = _PAIR_BYTES * (4 + weights.itemsize) // 8, free_memory()
    try:
        block = count_block(
            interactions.rows, weights, 0, items, items, most=available // pair_bytes
        )
    except TooManyPairsError as error:
        raise too_many_pairs(interactions, error.args[0], pair_bytes, available) from None
    return Overlaps(n, block.sizes, None, block.indptr, block.columns, block.counts, weighting)


def _weights(interactions: Interactions, exponent: float) -> tuple[Weighting | None, NDArray[Any]]:
    """Return the sums of weights, if users have any, and the weight of each user."""
    activity = interactions.rows.lengths
    if not exponent:
        return None, user_weights(activity, 0.0)
    weighting = Weighting.of(activity, interactions.popularity(), exponent)
    return weighting, user_weights(activity, exponent)
