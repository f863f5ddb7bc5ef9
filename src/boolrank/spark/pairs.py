"""Pairs of items counted on executors: a range of first items is one task, and finished rows.

Users' lists are sent to each range that they touch, 4 bytes per item; pairs are never moved. So
long lists are cut by the ranges: a range counts its own items of a list with the whole list.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from ..counts.blocks import Block, combine, count_block, item_ranges
from ..counts.weighting import user_weights
from ..data.rows import Rows
from ..engines.threads import threads
from ..kernels import Kernel
from ..matrix import CompressedMatrix
from ..matrix.pairs import ItemPairs
from ..models.item_knn import ItemKNN
from ..models.sparse_scorer import SparseScorer
from ..storage.job import Job
from .cluster import Batches, each, fresh, gather, put, streamed, task
from .events import Stored, number_events

# Entries of users' lists that are sent as one row, and that are counted at once: 16 and 128 MB.
_SENT, _COUNTED = 1 << 22, 1 << 25
# The most pairs of a range: 200 MB.
_PAIRS = 1 << 24


def count(session: SparkSession, events: Stored, n: int, nearest: ItemKNN | None) -> list[int]:
    """Number events, and count the pairs of n or more ranges of items; return their bounds.

    With ``nearest``, the similarities of the nearest items are kept in place of all counts.
    """
    work = events.array("work")
    most = int(np.minimum(work, events.items).sum())
    bounds: list[int] = item_ranges(work, min(-(-most // n), _PAIRS)).tolist()
    send = partial(streamed, partial(_send, events, bounds))
    parts, n = len(events.parts), len(bounds) - 1
    schema = "number int, lengths binary, items binary"
    lists = session.range(0, parts, 1, parts).mapInArrow(send, schema).repartitionById(n, "number")
    answers = gather(lists, partial(_count_range, events, bounds, nearest))
    answers.sort(key=lambda answer: int(answer["number"]))
    starts = [0, *accumulate(answer["pairs"] for answer in answers)]
    files = [answer["file"] for answer in answers]
    places = list(zip(files, bounds, starts, strict=False))  # the bounds have one more
    kind = "float64" if nearest else events.dtype
    each(session, n, partial(_place_rows, events.job, places, kind))
    return bounds


def _send(events: Stored, bounds: list[int], batches: Batches) -> Batches:
    """Yield the lists of users for each range that they touch."""
    for part in (events.parts[k] for batch in batches for k in batch.column(0).to_pylist()):
        rows = number_events(events, part).capped(events.cap)
        ranges = np.searchsorted(bounds, rows.indices, side="right") - 1
        touched = rows.numbers * len(bounds) + ranges  # ascending, as items in lists are
        users, ranges = np.divmod(touched[np.diff(touched, prepend=-1) != 0], len(bounds))
        order = np.argsort(ranges, kind="stable")
        ends = np.searchsorted(ranges[order], np.arange(len(bounds)))
        for number in np.unique(ranges).tolist():
            own = users[order[ends[number] : ends[number + 1]]]
            cuts = np.cumsum(rows.lengths[own]) // _SENT
            for some in np.split(own, np.flatnonzero(np.diff(cuts)) + 1):
                sent = rows.take(some)
                texts = sent.lengths.astype(np.int32).tobytes(), sent.indices.tobytes()
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number], pa.int32()), *(pa.array([text]) for text in texts)],
                    ["number", "lengths", "items"],
                )


def _count_range(
    events: Stored, bounds: list[int], nearest: ItemKNN | None, batches: Batches
) -> dict[str, Any]:
    """Count a range from the lists that touch it, and write its rows."""
    number = task().partitionId()
    first, last = bounds[number : number + 2]
    total = Block(first, *np.zeros((2, last - first), np.int64), *np.empty((2, 0), np.int32))
    lists = list[tuple[NDArray[np.int32], NDArray[np.int32]]]()

    def counted() -> Block:
        lengths, indices = (np.concatenate(part) for part in zip(*lists, strict=True))
        rows, weights = Rows.of_lengths(lengths, indices), user_weights(lengths, events.exponent)
        lists.clear()
        with threads(1):
            new = count_block(rows, weights, first, last, events.items)
        return combine([total, new]) if len(total.columns) else new

    waiting = 0
    for batch in batches:
        for row in batch.to_pylist():
            lengths, indices = (np.frombuffer(row[name], np.int32) for name in ("lengths", "items"))
            lists.append((lengths, indices))
            waiting += len(indices)
            if waiting > _COUNTED:
                total, waiting = counted(), 0
    if lists:
        total = counted()
    found: tuple[NDArray[Any], ...] = total.lengths, total.columns, total.counts
    if nearest is not None:
        pairs = total.indptr, total.columns, total.counts
        with threads(1):
            found = nearest.nearest(events.overlaps(pairs=False), slice(first, last), *pairs)
    file = fresh("rows")
    for name, values in zip(("lengths", "columns", "counts"), found, strict=True):
        values.tofile(events.job.file(f"{file}-{name}"))
    return {"number": number, "pairs": len(found[1]), "file": file}


def _place_rows(job: Job, places: list[Any], kind: str, number: int) -> dict[str, Any]:
    """Put the rows of a range, in a file, at the place of its first item and its first pair."""
    file, first, start = places[number]
    lengths = np.fromfile(job.file(f"{file}-lengths"), np.int64)
    indptr = start + np.concatenate(([0], np.cumsum(lengths)))
    put(job, "pairs-indptr", first, indptr)
    for name, dtype in (("columns", "int32"), ("counts", kind)):
        put(job, f"pairs-{name}", start, np.fromfile(job.file(f"{file}-{name}"), dtype))
    return {}


def kernel_values(
    session: SparkSession, kernel: Kernel, events: Stored, n: int
) -> CompressedMatrix:
    """Return the matrix of a kernel, whose values executors compute chunk by chunk."""
    pairs, nearest = ItemPairs.of(kernel, events.overlaps()), np.zeros(events.items)
    n = min(n, len(pairs.firsts()))
    for answer in each(session, n, partial(_fill, kernel, events, n)):
        np.maximum(nearest, events.job.array(answer["nearest"], "float64")[:], out=nearest)
    values = events.job.array("values", "float64").mapped()
    return CompressedMatrix.of_pairs(pairs, values, nearest)


def _fill(kernel: Kernel, events: Stored, n: int, number: int) -> dict[str, Any]:
    pairs, nearest = ItemPairs.of(kernel, events.overlaps()), np.zeros(events.items)
    with threads(1):
        for first in pairs.firsts()[number::n]:
            put(events.job, "values", first, pairs.correction(first, nearest))
    nearest.tofile(events.job.file(file := fresh("nearest")))
    return {"nearest": file}


def similarities(
    session: SparkSession, model: ItemKNN, events: Stored, bounds: list[int]
) -> SparseScorer:
    """Return the rows of an item-kNN, whose values executors compute range by range."""
    each(session, len(bounds) - 1, partial(_fill_range, model, events, bounds))
    return rows_scorer(events.job, "values", events.overlaps().degrees)


def rows_scorer(job: Job, values: str, users: NDArray[np.int64]) -> SparseScorer:
    """Return rows of pairs with the values in an array of this name, and the users of each item."""
    names = {"pairs-indptr": "int64", "pairs-columns": "int32", values: "float64"}
    indptr, columns, data = (job.array(name, kind).mapped() for name, kind in names.items())
    return SparseScorer(indptr, columns, data, users)


def _fill_range(model: ItemKNN, events: Stored, bounds: list[int], number: int) -> dict[str, Any]:
    overlaps, rows = events.overlaps(), slice(*bounds[number : number + 2])
    indptr, columns, counts = overlaps.rows()
    starts = indptr[rows.start : rows.stop + 1]
    part, values = slice(starts[0], starts[-1]), np.empty(starts[-1] - starts[0])
    with threads(1):
        model.similarities(overlaps)(values, rows, starts - part.start, columns[part], counts[part])
    put(events.job, "values", part.start, values)
    return {}
