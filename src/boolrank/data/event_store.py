"""Events of files as interactions in files: read batch by batch, sorted in parts.

A first pass over the input collects the ids, a second one writes the events as numbers into parts
by user, which are then sorted one by one. In memory are the ids, a batch, and a part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._memory import size
from ..errors import InputError, MatrixTooLargeError
from ..storage.disk_array import mapped
from ..storage.job import Job
from ..storage.state import Reader
from .events import Events, Reading, without_ids
from .files import read_batches
from .interactions import Interactions
from .packing import id_arrays, packed_ids, unpacked_ids
from .vocabulary import Vocabulary

# Rows of a batch, and bytes that one takes while it is read: text, numbers, and their order.
_ROWS, _ROW_BYTES = 1 << 20, 200
# Bytes per event while a part is sorted, and per id with its text.
_EVENT_BYTES, _ID_BYTES = 32, 200


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
    if "events" not in job.state:
        length = int(np.clip(memory // _ROW_BYTES, 10_000, _ROWS))
        batches = partial(read_batches, paths, columns, positive, length)
        users, items, reading = _ids(batches(), memory)
        rows, reading.duplicates = _store(job, batches(), users, items, memory)
        if rows != reading.rows:
            raise _changed()
        reading.users, reading.items, reading.partial = len(users), len(items), False
        kinds, stored_in = {}, [job.array("indptr", "int64"), job.array("indices", "int32")]
        for name, vocabulary in (("users", users), ("items", items)):
            kinds[name], arrays = packed_ids(name, vocabulary)
            for each, array in arrays.items():
                stored_in.append(job.array(each, array.dtype))
                stored_in[-1][0:] = array
        job.commit(*stored_in, events={"kinds": kinds, "reading": asdict(reading)})
    kinds, reading = job.state["events"]["kinds"], Reading(**job.state["events"]["reading"])
    users, items = (_restored(job, kinds, name) for name in ("users", "items"))
    indptr, indices = job.array("indptr", "int64")[:], mapped(job.array("indices", "int32"))
    return Interactions(users, items, indptr, indices, None, reading.duplicates, (reading,))


def _restored(job: Job, kinds: Any, name: str) -> Vocabulary:
    arrays = {file: job.array(file, kind)[:] for file, kind in id_arrays(kinds, name).items()}
    return unpacked_ids(kinds, name, Reader(job.path, arrays))


def _ids(batches: Iterator[Events], memory: int) -> tuple[Vocabulary, Vocabulary, Reading]:
    """Return the users and the items of all batches, and an account of what was read."""
    users = items = np.empty(0, np.int64)
    reading = Reading()
    for events in batches:
        users, items = _union(users, events.users.ids), _union(items, events.items.ids)
        reading, known = events.reading, len(users) + len(items)
        if known * _ID_BYTES > memory:
            raise MatrixTooLargeError(
                f"{known:,} ids of users and items and more take over {size(known * _ID_BYTES)}",
                hint="allow more memory",
                parameter="memory",
            )
    if not len(users):
        raise InputError("there are no interactions: no row of the input counts", hint="give some")
    for role in ("user", "item"):
        missing = reading.dropped.get(f"without {role}", 0)
        if 2 * missing > reading.rows:
            raise without_ids(missing, role, str(reading.columns[role]))
    return Vocabulary(users, "user"), Vocabulary(items, "item"), reading


def _union(ids: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return distinct ids in order. Whole numbers become text if others are: both are exact."""
    if not len(ids) or not len(more):
        return ids if len(ids) else more
    return Vocabulary.of(np.concatenate((_like(ids, more), _like(more, ids))))[0].ids


def _like(ids: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return 64-bit numbers as text or as numbers of any size, if other ids are either."""
    if ids.dtype.kind != "i" or others.dtype.kind == "i":
        return ids
    numbers = ids.tolist()
    return np.array(numbers if type(others[0]) is int else list(map(str, numbers)), object)


def _store(
    job: Job, batches: Iterator[Events], users: Vocabulary, items: Vocabulary, memory: int
) -> tuple[int, int]:
    """Write the items of all users, ascending; return the numbers of rows and repeated events."""
    width, total, repeated = len(items), 0, 0
    spill = job.array("events", "int64")
    spill.truncate(0)
    of_users = np.zeros(len(users), np.int64)
    for events in batches:
        rows = _numbers(users, events.users)[events.rows]
        of_users += np.bincount(rows, minlength=len(users))
        spill.append(rows * width + _numbers(items, events.items)[events.columns])
        total = events.reading.rows
    starts = np.concatenate(([0], np.cumsum(of_users)))
    indices, lengths = job.array("indices", "int32"), np.zeros(len(users), np.int64)
    indices.truncate(0)
    first = 0
    while first < len(users):
        most = starts[first] + max(memory // _EVENT_BYTES, 1)
        last = max(int(np.searchsorted(starts, most, side="right")) - 1, first + 1)
        keys = _between(spill, first * width, last * width, int(starts[last] - starts[first]))
        distinct = np.unique(keys)
        repeated += len(keys) - len(distinct)
        lengths += np.bincount(distinct // width, minlength=len(users))
        indices.append((distinct % width).astype(np.int32))
        first = last
    job.array("indptr", "int64")[0:] = np.concatenate(([0], np.cumsum(lengths)))
    job.remove("events")
    return total, repeated


def _between(spill: Any, low: int, high: int, count: int) -> NDArray[np.int64]:
    """Return the keys of a range, from one pass over all."""
    out, at = np.empty(count, np.int64), 0
    for start in range(0, len(spill), _ROWS):
        keys = spill[start : start + _ROWS]
        keys = keys[(keys >= low) & (keys < high)]
        out[at : at + len(keys)] = keys
        at += len(keys)
    return out


def _numbers(names: Vocabulary, some: Vocabulary) -> NDArray[np.int64]:
    """Return the numbers of the ids of a batch, whose whole numbers may be text among all."""
    found = names.find(_like(some.ids, names.ids))
    if (found < 0).any():
        raise _changed()
    return found


def _changed() -> InputError:
    hint = "fit again when nothing writes to it"
    return InputError("the input has changed since it was read first", hint=hint)
