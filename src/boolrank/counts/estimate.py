"""Estimate of what counting and its results take, before anything is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.rows import Rows
from .blocks import count_block, work_per_item
from .overlaps import prefers_dense
from .weighting import user_weights

# Ranges of rows that are counted to learn which share of the possible pairs is there, and the steps
# that this may take.
_SAMPLES, _STEPS = 64, 1 << 24
# Seconds per step, which adds a weight to a sum, and per pair, whose value is computed, written and
# hashed: 7.3 s in memory and 4.3 s on disk for Gowalla, on two threads of an idle machine.
_STEP, _PAIR = 1.2e-9, 110e-9
# Columns, counts and values of a pair; and temporary ones.
_PAIR_BYTES, _TEMPORARY = 16, 12
# Bytes of a pair in lists for everybody, and most bytes of these; see `models.simplex_scorer`.
_LIST_BYTES, _MOST_LIST = 8, 1 << 30
# Bytes of an event in memory: item, user, and their order. Bytes of an event in a file, twice.
_EVENT_BYTES, _EVENT_DISK = 24, 16
# Ranges of items on a cluster: a list is sent to each range that it touches.
_RANGES = 200


@dataclass(frozen=True)
class Estimate:
    """Bytes and time of a fit: memory beside the process, in memory or on disk, and the folder.

    ``steps`` are additions, ``pairs`` are estimated, and a cluster sends ``shuffle`` bytes. Lists
    for everybody take up to ``lists`` bytes beside the model.
    """

    users: int
    items: int
    events: int
    steps: int
    pairs: int
    memory: int
    disk_memory: int
    disk: int
    shuffle: int
    lists: int

    @staticmethod
    def of(rows: Rows, items: int, exponent: float = 0.0) -> Estimate:
        """Look at the lengths of lists, and count a few rows.

        >>> rows = Rows.of_lists([[0, 1], [1, 2], [0, 1, 2]])
        >>> found = Estimate.of(rows, 3)
        >>> found.steps, found.pairs
        (17, 6)
        """
        lengths = rows.lengths
        weights = user_weights(lengths, exponent)
        work = work_per_item(rows, items)
        most = np.minimum(work, items)
        width = max(int(items * min(_STEPS / max(work.sum(), 1), 1) / _SAMPLES), 1)
        counted = possible = 0
        for first in np.unique(np.linspace(0, items - width, _SAMPLES).astype(int)).tolist():
            counted += int(count_block(rows, weights, first, first + width, items).lengths.sum())
            possible += int(most[first : first + width].sum())
        pairs = int(most.sum() * (counted / possible if possible else 1.0))
        each = _PAIR_BYTES + weights.itemsize - 4
        dense = 12 * items * items if prefers_dense(items, pairs) else 0
        rest, events = 200 * items + 16 * len(lengths), len(rows.indices)
        sent = 4 * int((lengths * np.minimum(lengths, _RANGES)).sum())
        longest = 24 * int(most.max(initial=0))
        return Estimate(
            *(len(lengths), items, events, int((lengths**2).sum()), pairs),
            memory=max((each + _TEMPORARY) * pairs, dense) + _EVENT_BYTES * events + rest,
            disk_memory=_EVENT_BYTES * min(events, 1 << 20) + rest + longest,
            disk=each * pairs + _EVENT_DISK * events + rest,
            shuffle=sent,
            lists=min(_LIST_BYTES * pairs, _MOST_LIST),
        )

    @property
    def seconds(self) -> float:
        """Return the time of a fit on two threads, in memory or on disk."""
        return _STEP * self.steps + _PAIR * self.pairs
