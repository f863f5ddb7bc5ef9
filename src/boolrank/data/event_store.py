"""Events of files as interactions in files: read batch by batch, sorted in parts.

Ids are numbered in order of appearance and events are written as pairs of numbers. At the end, ids
are sorted, then events, one range of users at a time. Memory holds the ids, a batch and a range.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._memory import size
from ..errors import MatrixTooLargeError
from ..storage.disk_array import DiskArray
from ..storage.job import Job
from .events import Reading
from .interactions import Interactions
from .packing import packed_vocabularies, read_arrays
from .rows import cut
from .vocabulary import Vocabulary

# Rows of a batch, and bytes that one takes while it is read: text, numbers, and their order.
_ROWS, _ROW_BYTES = 1 << 20, 200
# Bytes per event while a range is sorted, and per id with its text.
_EVENT_BYTES, _ID_BYTES = 32, 200
# Bits of the number of an item.
_ITEM = 31


def store_events(
    job: Job,
    paths: Iterable[str | Path],
    columns: Mapping[str, str | None],
    positive: str | None,
    memory: int,
) -> Interactions:
    r"""Return the interactions of files, their items in a file of the job; or those stored before.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     events = Path(folder, "events.csv")
    ...     _ = events.write_text("user,item\nann,tea\nbob,tea\nann,tea\n")
    ...     columns = dict.fromkeys(("user", "item", "rating"))
    ...     with Job.open(Path(folder, "model"), "key") as job:
    ...         store_events(job, [events], columns, None, 10**9)
    Interactions: 2 users x 1 item, 2 interactions, 1 duplicate left out
    """
    from .files import read_batches

    if "events" not in job.state:
        known: tuple[dict[Any, int], dict[Any, int]] = {}, {}
        spill, reading = job.array("events", "int64"), Reading()
        spill.truncate(0)
        length = int(np.clip(memory // _ROW_BYTES, 10_000, _ROWS))
        for events in read_batches(paths, columns, positive, length):
            rows = _numbers(known[0], events.users.ids.tolist())[events.rows]
            places = _numbers(known[1], events.items.ids.tolist())[events.columns]
            spill.append(rows << _ITEM | places)
            reading = events.reading
            if (ids := sum(map(len, known))) * _ID_BYTES > memory:
                raise MatrixTooLargeError(
                    f"{ids:,} ids of users and items and more take over {size(ids * _ID_BYTES)}",
                    hint="allow more memory",
                    parameter="memory",
                )
        reading.check(len(spill))
        users, of_users = Vocabulary.of(list(known[0]), "user")
        items, of_items = Vocabulary.of(list(known[1]), "item")
        kinds, arrays = packed_vocabularies(users, items)
        reading.users, reading.items = len(users), len(items)
        reading.duplicates = _sort(job, spill, (of_users, of_items), memory)
        for name, array in arrays.items():
            job.array(name, array.dtype)[0:] = array
        files = (job.file(name) for name in ("indptr", "indices", *arrays))
        job.commit(*files, events={"kinds": kinds, "reading": asdict(reading)})
    stored = job.state["events"]
    data, reading = read_arrays(job.path, stored["kinds"], job.file), Reading(**stored["reading"])
    return replace(data, duplicates=reading.duplicates, readings=(reading,))


def _numbers(known: dict[Any, int], ids: list[Any]) -> NDArray[np.int64]:
    """Return the numbers of ids in the order in which they became known.

    Whole numbers become text if ids before or after them are: both are exact.
    """
    if ids and isinstance(next(iter(known), ids[0]), str):
        ids = list(map(str, ids))
    elif ids and isinstance(ids[0], str):
        texts = {str(key): number for key, number in known.items()}
        known.clear()
        known |= texts
    return np.array([known.setdefault(key, len(known)) for key in ids], np.int64)


def _sort(job: Job, spill: DiskArray, ranks: Sequence[NDArray[np.int64]], memory: int) -> int:
    """Write the items of all users, ascending; return the number of repeated events."""
    users, width = map(len, ranks)
    of_users, lengths, repeated = *np.zeros((2, users), np.int64), 0
    for start in range(0, len(spill), _ROWS):
        pairs = spill[start : start + _ROWS]
        rows = ranks[0][pairs >> _ITEM]
        of_users += np.bincount(rows, minlength=users)
        spill[start:] = rows * width + ranks[1][pairs & ((1 << _ITEM) - 1)]
    indices = job.array("indices", "int32")
    indices.truncate(0)
    starts = np.concatenate(([0], np.cumsum(of_users)))
    for first, last in pairwise(cut(starts, max(memory // _EVENT_BYTES, 1))):
        keys = _between(spill, first * width, last * width, int(starts[last] - starts[first]))
        distinct = np.unique(keys)
        repeated += len(keys) - len(distinct)
        lengths += np.bincount(distinct // width, minlength=users)
        indices.append((distinct % width).astype(np.int32))
    job.array("indptr", "int64")[0:] = np.concatenate(([0], np.cumsum(lengths)))
    spill.path.unlink()
    return repeated


def _between(spill: DiskArray, low: int, high: int, count: int) -> NDArray[np.int64]:
    """Return the keys of a range, from one pass over all."""
    out, at = np.empty(count, np.int64), 0
    for start in range(0, len(spill), _ROWS):
        keys = spill[start : start + _ROWS]
        keys = keys[(keys >= low) & (keys < high)]
        out[at : at + len(keys)] = keys
        at += len(keys)
    return out
