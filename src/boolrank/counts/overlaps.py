"""Overlaps: the number of users, of users per item, and of users that two items share.

Every kernel and item-item model derives from these counts. They are a dense matrix where most pairs
of items share a user, and compressed sparse rows where few do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, size
from ..data.interactions import Interactions
from ..engines.threads import threads
from ..errors import InputError, MatrixTooLargeError
from ..storage.state import State, array

# (column, count) places that one block of rows may reserve: 256 MB.
_BLOCK = 1 << 25
# Multiplications in BLAS that take as long as one counting step, measured.
_BLAS_STEPS = 50.0
# Single precision counts exactly up to this many users.
SINGLE = 1 << 24
# Largest dense matrix of counts to consider: 2 GB.
_DENSE_UP_TO = 22_000
# Bytes per pair of items while counting: column and count, in blocks and then in one piece.
_PAIR_BYTES = 16
# Bytes per pair in a dense matrix.
_DENSE_BYTES = 4

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Overlaps(State):
    """Counts of users: in total, per item, and per pair of different items.

    Attributes
    ----------
    n : number of users
    sizes : (m,) users of each item
    dense : (m, m) shared users, with the sizes on the diagonal, or None
    indptr, columns, counts : the same as compressed sparse rows without a diagonal, or None

    >>> counts = Overlaps.of(Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"]))
    >>> counts.n, counts.sizes, counts.sparse().columns
    (3, array([2, 2, 1]), array([1, 2, 0, 0], dtype=int32))
    """

    kind: ClassVar[str] = "overlaps"

    n: int
    sizes: NDArray[np.int64] = array("int64", "items", low=0, high="users+1")
    dense: NDArray[np.float32] | None = array(
        "float32", "items", "items", low=0, high="users+1", optional=True
    )
    indptr: NDArray[np.int64] | None = array(
        "int64", "items+1", low=0, divides=("columns", "counts"), optional=True
    )
    columns: Ints | None = array("int32", "*", low=0, high="items", optional=True)
    counts: Ints | None = array("int32", "*", low=0, high="users+1", optional=True)

    @staticmethod
    def of(interactions: Interactions, n_threads: int | None = None) -> Overlaps:
        """Count in one pass over the data, with the method estimated to be fastest."""
        n, items = interactions.shape
        lengths = np.diff(interactions.indptr).astype(float)
        steps = float(lengths @ lengths)  # an upper bound of the pairs that share a user
        sparse = items > _DENSE_UP_TO or n > SINGLE or steps < items * items / 4
        with threads(n_threads):
            if sparse or _DENSE_BYTES * items * items > free_memory():
                return count_sparse(interactions)
            if float(n) * items * items < _BLAS_STEPS * steps:
                return count_by_products(interactions)
            return count_dense(interactions)

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
        if not np.array_equal(self.sizes, interactions.popularity()):
            raise InputError(
                "the overlaps belong to other interactions: the users per item differ",
                hint=hint,
                parameter="overlaps",
            )
        return self

    def updated(self, before: Interactions, after: Interactions) -> Overlaps:
        """Return the overlaps after a change of interactions, from the changed rows alone."""
        from scipy.sparse import coo_array, csr_array

        new_users = after.users.numbers(before.users)
        new_items = after.items.numbers(before.items)
        shape = after.shape
        rows = np.repeat(new_users, np.diff(before.indptr))
        old = csr_array((np.ones(before.size, np.int32), (rows, new_items[before.indices])), shape)
        new = csr_array((np.ones(after.size, np.int32), after.indices, after.indptr), shape)
        changed = np.flatnonzero(np.asarray(abs(new - old).sum(axis=1)).ravel())
        change = new[changed].T @ new[changed] - old[changed].T @ old[changed]
        m = len(after.items)
        if self.dense is not None:
            dense = np.zeros((m, m), np.float32)
            dense[np.ix_(new_items, new_items)] = self.dense
            dense += change.toarray().astype(np.float32)
            return Overlaps(shape[0], np.diag(dense).astype(np.int64), dense=dense)
        indptr, columns, numbers = self.rows()
        rows = np.repeat(new_items, np.diff(indptr))
        counts: Any = csr_array((numbers, (rows, new_items[columns])), (m, m))
        own = coo_array((change.diagonal(), (np.arange(m), np.arange(m))), (m, m))
        counts = csr_array(counts + change - own)
        counts.eliminate_zeros()
        counts.sort_indices()
        return Overlaps(
            shape[0],
            after.popularity(),
            None,
            counts.indptr.astype(np.int64),
            counts.indices.astype(np.int32),
            counts.data.astype(np.int32),
        )

    def sparse(self) -> Overlaps:
        """Return the same counts as compressed sparse rows."""
        if self.dense is None:
            return self
        shared = self.dense.copy()
        np.fill_diagonal(shared, 0)
        rows, columns = np.nonzero(shared)
        indptr = np.zeros(self.items + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=self.items), out=indptr[1:])
        counts = shared[rows, columns].astype(np.int32)
        return Overlaps(self.n, self.sizes, None, indptr, columns.astype(np.int32), counts)

    def rows(self) -> tuple[NDArray[np.int64], Ints, Ints]:
        """Return the row starts, columns and counts of the compressed sparse rows."""
        found = self.sparse()
        if found.indptr is None or found.columns is None or found.counts is None:
            raise InputError("the overlaps have neither a dense matrix nor sparse rows")
        return found.indptr, found.columns, found.counts

    def filled(self) -> NDArray[np.float32]:
        """Return the same counts as a dense matrix."""
        if self.dense is not None:
            return self.dense
        indptr, columns, counts = self.rows()
        out = np.zeros((self.items, self.items), np.float32)
        out[np.repeat(np.arange(self.items), np.diff(indptr)), columns] = counts
        np.fill_diagonal(out, self.sizes)
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
    def items(self) -> int:
        """Number of items."""
        return len(self.sizes)

    @property
    def pairs(self) -> int:
        """Number of ordered pairs of different items that share a user."""
        if self.dense is not None:
            return int(np.count_nonzero(self.dense)) - int(np.count_nonzero(self.sizes))
        return len(self.rows()[1])


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


def count_dense(interactions: Interactions) -> Overlaps:
    """Count item by item, over the items of its users, into a dense matrix."""
    from .._compiled.overlaps import count_matrix
    from .._compiled.rows import transposed

    n, items = interactions.shape
    user_ptr, user_items = interactions.indptr, interactions.indices
    item_ptr, item_users, places = transposed(user_ptr, user_items, items)
    dense = np.empty((items, items), np.float32)
    count_matrix(dense, item_ptr, item_users, places, user_ptr, user_items)
    return Overlaps(n, np.diff(item_ptr), dense=dense)


def count_sparse(interactions: Interactions) -> Overlaps:
    """Count item by item, over the items of its users, into compressed rows."""
    from .._compiled.overlaps import count_rows, pack_rows
    from .._compiled.rows import transposed

    n, items = interactions.shape
    user_ptr, user_items = interactions.indptr, interactions.indices
    item_ptr, item_users, _ = transposed(user_ptr, user_items, items)
    lengths = np.diff(user_ptr)
    # An item shares users with at most this many others.
    reach = np.minimum(np.add.reduceat(np.append(lengths[item_users], 0), item_ptr[:-1]), items)
    reach[np.diff(item_ptr) == 0] = 0
    least = _least_pairs(lengths, item_ptr, item_users)
    available = free_memory()
    bound = np.concatenate(([0], np.cumsum(reach)))
    room = max(min(_BLOCK, int(bound[-1])), int(reach.max(initial=0)))
    columns, counts = np.empty((2, room), np.int32)
    found: tuple[Ints, ...] = np.empty(0, np.int32), np.empty(0, np.int32)
    indptr = np.zeros(items + 1, np.int64)
    start, pairs = 0, 0
    while start < items:
        sure = pairs + int(least[start:].sum())
        if _PAIR_BYTES * sure > available:
            raise _too_many_pairs(interactions, sure, available)
        stop = int(np.searchsorted(bound, bound[start] + _BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), items)
        reserved = bound[start : stop + 1] - bound[start]
        lists = (item_ptr, item_users), (user_ptr, user_items)
        used = count_rows(columns, counts, start, stop, reserved, *lists)
        needed = pairs + int(used.sum())
        # As many as there will be if the coming rows are like those so far, and some more.
        expected = min(int(1.05 * needed * bound[-1] / bound[stop]), int(bound[-1]))
        found = tuple(_grown(each, pairs, needed, expected) for each in found)
        pack_rows(found, pairs, columns, counts, reserved, used)
        indptr[start + 1 : stop + 1] = used
        start, pairs = stop, needed
    np.cumsum(indptr, out=indptr)
    return Overlaps(n, np.diff(item_ptr), None, indptr, found[0][:pairs], found[1][:pairs])


def _grown(values: Ints, used: int, needed: int, expected: int) -> Ints:
    """Return the array, or a longer one; pages that stay unused take no memory."""
    if needed <= len(values):
        return values
    longer = np.empty(max(needed, expected), np.int32)
    longer[:used] = values[:used]
    return longer


def _least_pairs(
    lengths: NDArray[np.int64], item_ptr: NDArray[np.int64], item_users: NDArray[Any]
) -> NDArray[np.int64]:
    """Return a lower bound of each item's pairs: the other items of its most active user."""
    least = np.zeros(len(item_ptr) - 1, np.int64)
    some = np.diff(item_ptr) > 0
    if some.any():
        least[some] = np.maximum.reduceat(lengths[item_users], item_ptr[:-1][some]) - 1
    return least


def _too_many_pairs(interactions: Interactions, pairs: int, available: int) -> MatrixTooLargeError:
    lengths = np.diff(interactions.indptr)
    busiest = int(lengths.argmax())
    return MatrixTooLargeError(
        f"at least {pairs:,} pairs of items share a user; counting them takes "
        f"{size(_PAIR_BYTES * pairs)} or more, and {size(available)} are free",
        hint="leave out users with very long histories, such as "
        f"{interactions.users[busiest]!r} with {int(lengths[busiest]):,} items, or rare items",
    )
