"""Counts of a block of users and a range of first items: finished rows if all users are in it.

A row needs the complete lists of the users of its item and nothing else, so pairs are neither
moved nor stored apart: a range is given the lists that touch it, 4 bytes per item and range. Long
lists are cut by the ranges, since a range counts its own items of a list with the whole list.
Counts are whole numbers, so neither ranges nor blocks of users change a bit of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..data.rows import Rows, cut

# (column, count) places that one round may reserve: 32 MB. New memory is slow.
_PLACES = 1 << 22


class Block(NamedTuple):
    """Rows of the items from ``first`` on, without the diagonal: lengths, columns and counts.

    Sizes and counts are numbers of users, or their mass.
    """

    first: int
    sizes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[Any]

    @property
    def indptr(self) -> NDArray[np.int64]:
        """(k+1,) Starts of the rows."""
        return np.concatenate(([0], np.cumsum(self.lengths)))


class TooManyPairsError(Exception):
    """More pairs than allowed; the argument is a lower bound of their number."""


def count_block(
    rows: Rows, weights: NDArray[Any], first: int, last: int, items: int, most: int | None = None
) -> Block:
    """Count the pairs of a range of first items with all items.

    ``rows`` are the complete lists of some users and ``weights`` what each user counts as. Raise
    `TooManyPairsError` as soon as there are sure to be more than ``most`` pairs.

    >>> rows = Rows.of_lists([[0, 1], [1, 2], [0, 1, 2]])
    >>> count_block(rows, np.ones(3, np.int32), 1, 3, 3)[1:]
    (array([3, 2]), array([2, 2]), array([0, 2, 0, 1], dtype=int32), array([2, 2, 1, 2], \
dtype=int32))
    """
    from .._compiled.overlaps import count_rows, pack_rows
    from .._compiled.rows import transposed_range

    size, lengths = last - first, rows.lengths
    starts, users = transposed_range(*rows, first, last)
    of_users, some = np.append(lengths[users], 0), np.diff(starts) > 0
    # An item shares users with at most as many others as its users have items, and with at least
    # the other items of its most active user.
    reach = np.where(some, np.minimum(np.add.reduceat(of_users, starts[:-1]), items), 0)
    least = np.where(some, np.maximum.reduceat(of_users, starts[:-1]) - 1, 0)
    bound = np.concatenate(([0], np.cumsum(reach)))
    most = int(bound[-1]) if most is None else min(most, int(bound[-1]))
    room = max(min(_PLACES, int(bound[-1])), int(reach.max(initial=0)))
    columns, counts = np.empty(room, np.int32), np.empty(room, weights.dtype)
    # Pages that stay unused take no memory, so the arrays have room for all pairs that could be.
    found = np.empty(most, np.int32), np.empty(most, weights.dtype)
    sizes, used, pairs = np.zeros(size, np.int64), np.zeros(size, np.int64), 0
    for start, stop in pairwise(cut(bound, _PLACES)):
        if (sure := pairs + int(least[start:].sum())) > most:
            raise TooManyPairsError(sure)
        reserved, part = bound[start : stop + 1] - bound[start], slice(start, stop)
        out = used[part], sizes[part], columns, counts
        lists = (starts[start : stop + 1], users), rows
        count_rows(out, first + start, items, reserved, weights, *lists)
        needed = pairs + int(used[part].sum())
        if needed > most:
            raise TooManyPairsError(needed)
        pack_rows(found, pairs, columns, counts, reserved, used[part])
        pairs = needed
    for each in found:  # addresses are limited, too
        each.resize(pairs, refcheck=False)
    return Block(first, sizes, used, *found)


def combine(blocks: Sequence[Block]) -> Block:
    """Return the sum of the counts of several blocks of users, in the same range of items.

    >>> one = count_block(Rows.of_lists([[0, 1]]), np.ones(1, np.int32), 0, 2, 3)
    >>> combine([one, one])[1:]
    (array([2, 2]), array([1, 1]), array([1, 0], dtype=int32), array([2, 2], dtype=int32))
    """
    if len(blocks) == 1:
        return blocks[0]
    items = 1 + max(int(block.columns.max(initial=0)) for block in blocks)
    total: Any = sum(
        csr_array((block.counts, block.columns, block.indptr), (len(block.sizes), items))
        for block in blocks
    )
    total.sort_indices()
    sizes = np.sum([block.sizes for block in blocks], axis=0)
    columns = total.indices.astype(np.int32, copy=False)
    lengths = np.diff(total.indptr).astype(np.int64)
    return Block(blocks[0].first, sizes, lengths, columns, total.data)


def work_per_item(rows: Rows, items: int) -> NDArray[np.int64]:
    """(m,) Return the steps that count each item's row: the lengths of the lists it is in."""
    lengths = rows.lengths
    steps = np.bincount(rows.indices, np.repeat(lengths, lengths), minlength=items)
    return np.asarray(steps.astype(np.int64))


def item_ranges(work: NDArray[np.int64], pairs: int) -> NDArray[np.int64]:
    """Return the bounds of ranges of items with at most ``pairs`` pairs, or of one item.

    >>> item_ranges(np.array([1, 2, 5, 1, 1]), 3)
    array([0, 2, 3, 5])
    """
    return np.array(cut(np.concatenate(([0], np.cumsum(np.minimum(work, len(work))))), pairs))
