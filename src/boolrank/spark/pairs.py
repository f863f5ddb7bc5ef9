"""Pairs of items counted on executors: a range of first items is one task, and finished rows.

Users' lists are sent to each range that they touch, 4 bytes per item; pairs are never moved. So
long lists are cut by the ranges: a range counts its own items of a list with the whole list.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.blocks import Block, combine, count_block, item_ranges
from ..counts.weighting import user_weights
from ..data.rows import Rows
from ..engines.threads import threads
from ..kernels import Kernel
from ..matrix.compressed import CompressedMatrix, Correction
from ..models.item_knn import ItemKNN
from ..models.sparse_scorer import SparseScorer
from .cluster import Batches, Place, each, gather, streamed, task
from .events import Numbered, Staged, number_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Entries of users' lists that are sent as one row, and that are counted at once: 16 and 128 MB.
_SENT, _COUNTED = 1 << 22, 1 << 25
# The most pairs of a range: 200 MB.
_PAIRS = 1 << 24


class Ranges(NamedTuple):
    """Counted ranges of first items: their bounds, the files with their rows, and first pairs."""

    bounds: list[int]
    files: list[str]
    starts: list[int]


def count(
    session: SparkSession,
    place: Place,
    staged: Staged,
    numbered: Numbered,
    n: int,
    nearest: ItemKNN | None,
) -> Ranges:
    """Number events, and count the pairs of n or more ranges of items.

    With ``nearest``, the similarities of the nearest items are kept in place of all counts.
    """
    work = numbered.array(place, "work")
    most = int(np.minimum(work, numbered.items).sum())
    bounds = item_ranges(work, min(-(-most // n), _PAIRS)).tolist()
    send = partial(streamed, partial(_send, place, staged, numbered, bounds))
    parts, n = len(staged.parts), len(bounds) - 1
    schema = "number int, lengths binary, items binary"
    lists = session.range(0, parts, 1, parts).mapInArrow(send, schema).repartitionById(n, "number")
    answers = gather(lists, partial(_count_range, place, bounds, numbered, nearest))
    answers.sort(key=lambda answer: int(answer["number"]))
    starts = [0, *accumulate(answer["pairs"] for answer in answers)]
    ranges = Ranges(bounds, [answer["file"] for answer in answers], starts)
    kind = "float64" if nearest else numbered.dtype
    each(session, n, partial(_place_rows, place, ranges, kind))
    return ranges


def _send(
    place: Place, staged: Staged, numbered: Numbered, bounds: list[int], batches: Batches
) -> Batches:
    """Yield the lists of users for each range that they touch."""
    import pyarrow as pa

    for part in (staged.parts[k] for batch in batches for k in batch.column(0).to_pylist()):
        rows = number_events(place, staged, numbered, part).capped(staged.cap)
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
    place: Place, bounds: list[int], about: Numbered, nearest: ItemKNN | None, batches: Batches
) -> dict[str, Any]:
    """Count a range from the lists that touch it, and write its rows."""
    number = task().partitionId()
    first, last = bounds[number : number + 2]
    total = Block(first, *np.zeros((2, last - first), np.int64), *np.empty((2, 0), np.int32))
    lists = list[tuple[NDArray[np.int32], NDArray[np.int32]]]()

    def counted() -> Block:
        lengths, indices = (np.concatenate(part) for part in zip(*lists, strict=True))
        rows, weights = Rows.of_lengths(lengths, indices), user_weights(lengths, about.exponent)
        lists.clear()
        with threads(1):
            new = count_block(rows, weights, first, last, about.items)
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
            found = nearest.nearest(about.overlaps(place, pairs=False), slice(first, last), *pairs)
    file = place.fresh("rows")
    for name, values in zip(("lengths", "columns", "counts"), found, strict=True):
        values.tofile(place.path(f"{file}-{name}"))
    return {"number": number, "pairs": len(found[1]), "file": file}


def _place_rows(place: Place, ranges: Ranges, kind: str, number: int) -> dict[str, Any]:
    """Put the rows of a range behind those of the ranges before."""
    file, start = ranges.files[number], ranges.starts[number]
    lengths = np.fromfile(place.path(f"{file}-lengths"), np.int64)
    indptr = start + np.concatenate(([0], np.cumsum(lengths)))
    place.put("pairs-indptr", ranges.bounds[number], indptr)
    for name, dtype in (("columns", "int32"), ("counts", kind)):
        place.put(f"pairs-{name}", start, np.fromfile(place.path(f"{file}-{name}"), dtype))
    return {}


def kernel_values(
    session: SparkSession, place: Place, kernel: Kernel, numbered: Numbered, n: int
) -> CompressedMatrix:
    """Return the matrix of a kernel, whose values executors compute chunk by chunk."""
    correction, nearest = Correction.of(kernel, numbered.overlaps(place)), np.zeros(numbered.items)
    n = min(n, len(correction.pairs.firsts()))
    for answer in each(session, n, partial(_fill, place, kernel, numbered, n)):
        np.maximum(nearest, place.array(answer["nearest"], "float64")[:], out=nearest)
    return correction.finished(place.array("values", "float64").mapped(), nearest)


def _fill(place: Place, kernel: Kernel, numbered: Numbered, n: int, number: int) -> dict[str, Any]:
    correction, nearest = Correction.of(kernel, numbered.overlaps(place)), np.zeros(numbered.items)
    with threads(1):
        for first in correction.pairs.firsts()[number::n]:
            place.put("values", first, correction.chunk(first, nearest))
    nearest.tofile(place.path(file := place.fresh("nearest")))
    return {"nearest": file}


def similarities(
    session: SparkSession, place: Place, model: ItemKNN, numbered: Numbered, ranges: Ranges
) -> SparseScorer:
    """Return the rows of an item-kNN, whose values executors compute range by range."""
    each(session, len(ranges.files), partial(_fill_range, place, model, numbered, ranges.bounds))
    return rows_scorer(place, "values")


def rows_scorer(place: Place, values: str) -> SparseScorer:
    """Return rows of pairs with the values in an array of this name."""
    names = {"pairs-indptr": "int64", "pairs-columns": "int32", values: "float64"}
    return SparseScorer(*(place.array(name, kind).mapped() for name, kind in names.items()))


def _fill_range(
    place: Place, model: ItemKNN, numbered: Numbered, bounds: list[int], number: int
) -> dict[str, Any]:
    overlaps, rows = numbered.overlaps(place), slice(*bounds[number : number + 2])
    indptr, columns, counts = overlaps.rows()
    starts = indptr[rows.start : rows.stop + 1]
    part, values = slice(starts[0], starts[-1]), np.empty(starts[-1] - starts[0])
    with threads(1):
        model.similarities(overlaps)(values, rows, starts - part.start, columns[part], counts[part])
    place.put("values", part.start, values)
    return {}
