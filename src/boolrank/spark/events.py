"""Events of a Spark frame as the arrays of a model folder: ids in order, and rows of item numbers.

Spark sorts events by user and item, in ranges of users. So users of a range are in the order of the
vocabulary, and the number of a user is that of the users in the ranges before. Items are numbered
by one task that writes all of them in order; each range then looks its items up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from ..counts.overlaps import Overlaps
from ..counts.weighting import Weighting, user_weights, weight_table
from ..data.columns import find_columns
from ..data.interactions import Interactions, none_within
from ..data.packing import packed_texts, read_arrays
from ..data.rows import Rows
from ..errors import InputError, ModelFileError
from ..storage.job import Job
from .cluster import Batches, check_folder, fresh, gather, put, streamed, task

# Rows of an Arrow batch.
_ROWS = 1 << 16


class Part(NamedTuple):
    """A range of users: the file of its events, and the users, events and bytes of ids before."""

    file: str
    first_user: int
    first_event: int
    first_byte: int


@dataclass(frozen=True)
class Stored:
    """Events in files of a job: sorted by user and item, and numbered by `number_items`.

    ``kinds`` are the types of ids in the folder, ``item_type`` that of items in Spark. Of users,
    ``numbers`` have ``activity`` items, 0 if these are more than the ``cap``; ``total`` is the
    weight of all. ``files`` are those of arrays over items.
    """

    job: Job
    parts: list[Part]
    kinds: dict[str, str]
    item_type: str
    cap: int | None
    exponent: float
    activity: NDArray[np.int64]
    numbers: NDArray[np.int64]
    total: int
    items: int = 0
    files: dict[str, str] = field(default_factory=dict)

    @property
    def dtype(self) -> str:
        """Type of counts, or of masses of weighted users."""
        return "int64" if self.exponent else "int32"

    def array(self, name: str) -> NDArray[np.int64]:
        """Return users (degree), mass, or work to count the row, of each item."""
        return np.asarray(self.job.array(self.files[name], "int64")[:])

    def overlaps(self, *, pairs: bool = True) -> Overlaps:
        """Return the counts, mapped; without pairs before they are complete."""
        kinds = {"indptr": "int64", "columns": "int32", "counts": self.dtype} if pairs else {}
        found = {k: self.job.array(f"pairs-{k}", kind).mapped() for k, kind in kinds.items()}
        weighting = None
        if self.exponent:
            active = int(self.numbers[self.activity > 0].sum())
            weighting = Weighting(self.exponent, self.total, active, self.array("degree"))
        users = int(self.numbers.sum())
        return Overlaps(users, self.array("mass"), weighting=weighting, **found)

    def interactions(self) -> Interactions:
        """Return the numbered events, mapped; ids that are text are held in memory."""
        job, files = self.job, self.files
        return read_arrays(job.path, self.kinds, lambda name: job.file(files.get(name, name)))


def stage(
    frame: DataFrame,
    user: str | None,
    item: str | None,
    job: Job,
    n: int,
    cap: int | None = None,
    exponent: float = 0.0,
) -> Stored:
    """Sort events by user and item into n ranges of users, without repetitions."""
    found = find_columns(frame.columns, user=user, item=item)
    names = {role: str(found[role]) for role in ("user", "item")}
    ids = [id_column(frame, name, role).alias(role) for role, name in names.items()]
    events = frame.select(ids).repartitionByRange(n, "user").sortWithinPartitions("user", "item")
    answers = list(filter(None, gather(events, partial(_stage, job, names))))
    answers.sort(key=lambda answer: int(answer["part"]))
    if not answers:
        raise InputError("there are no interactions: the input has no rows", hint="give some")
    parts, before, histogram = [], np.zeros(3, np.int64), Counter[int]()
    for answer in answers:
        parts.append(Part(answer["file"], *before.tolist()))
        before += answer["counts"]
        histogram.update(dict(answer["activity"]))
    kinds = {}
    for role in names:
        of_role = {answer[role] for answer in answers}
        # Numbers are text where one of them is past 64 bits.
        kinds[f"{role}s"] = "int" if "int" in of_role else of_role.pop()
    activity, numbers = np.array(sorted(histogram.items()), np.int64).T
    activity = activity if cap is None else activity * (activity <= cap)
    if not activity.any():
        raise none_within(cap)
    total = int(weight_table(activity, numbers, exponent) @ numbers)
    item_type = events.schema["item"].dataType.simpleString()
    return Stored(job, parts, kinds, item_type, cap, exponent, activity, numbers, total)


def id_column(frame: DataFrame, name: str, role: str) -> Column:
    """Return a column of ids as 64-bit numbers, decimals without fraction, or text."""
    column, kind = f.col(f"`{name.replace('`', '``')}`"), frame.schema[name].dataType
    if isinstance(kind, t.IntegralType):
        return column.cast("long")
    if isinstance(kind, t.FractionalType) and not isinstance(kind, t.DecimalType):
        # As in other frames: whole numbers were floats if one was missing once.
        is_whole = (column % 1 == 0) & (f.abs(column) < 2.0**53)
        return f.when(is_whole, column.cast("long"))
    if isinstance(kind, t.DecimalType) and kind.scale == 0:
        return column.cast("long" if kind.precision <= 18 else kind)
    if isinstance(kind, t.StringType):
        return column.cast("string")
    raise ModelFileError(
        f"{role}s of type {kind.simpleString()} cannot be saved",
        hint="use whole numbers or text",
    )


def _stage(job: Job, names: dict[str, str], batches: Batches) -> dict[str, Any]:
    """Write the sorted events of a range of users; the answer says how many there are."""
    check_folder(job)
    users, items, numbers, last, n_users = [], [], [], None, 0
    for batch in filter(len, batches):
        for role, name in names.items():
            if batch.column(role).null_count:
                raise InputError(
                    f"some rows have no id in the column {name!r}",
                    hint=f"drop rows without one, or name another {role} column",
                    parameter=role,
                )
        new_user, new_item = (_changes(batch, role, last) for role in names)
        last = batch.slice(len(batch) - 1)
        kept, number = new_user | new_item, n_users - 1 + np.cumsum(new_user)
        n_users = int(number[-1]) + 1
        numbers.append(number[kept])
        users.append(batch.column("user").filter(pa.array(new_user)))
        items.append(batch.column("item").filter(pa.array(kept)))
    if not users:
        return {}
    lengths, file = np.bincount(np.concatenate(numbers)), fresh("events")
    ids, of_items = pa.chunked_array(users).combine_chunks(), pa.chunked_array(items)
    save(job, f"{file}-users", {"id": ids, "length": lengths})
    save(job, f"{file}-items", {"id": of_items})
    length = pc.sum(pc.binary_length(pc.cast(ids, pa.large_string()))).as_py()
    return {
        "part": task().partitionId(),
        "file": file,
        "counts": [n_users, int(lengths.sum()), length],
        "activity": np.stack(np.unique(lengths, return_counts=True), axis=1).tolist(),
        "user": _kind(ids),
        "item": _kind(of_items),
    }


def _changes(batch: pa.RecordBatch, role: str, last: pa.RecordBatch | None) -> NDArray[np.bool_]:
    """Return where a column differs from the row above, which may be the last of a batch before."""
    column = batch.column(role)
    first = last is None or column[0] != last.column(role)[0]
    rest = pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate(([first], rest))


def _kind(ids: Any) -> str:
    if pa.types.is_decimal(ids.type):
        try:
            ids.cast(pa.int64())
        except pa.ArrowInvalid:
            return "int"
    return "str" if pa.types.is_string(ids.type) else "int64"


def save(job: Job, name: str, columns: dict[str, Any]) -> None:
    """Write an Arrow table that `table` maps."""
    made = pa.table(columns)
    with pa.ipc.new_file(str(job.file(name)), made.schema) as file:
        file.write_table(made)


def table(job: Job, name: str) -> pa.Table:
    """Return a mapped Arrow table."""
    return pa.ipc.open_file(pa.memory_map(str(job.file(name)))).read_all()


def number_items(session: SparkSession, events: Stored) -> Stored:
    """Write the ids of items in order, with their users, mass and work."""
    n, schema = len(events.parts), f"item {events.item_type}, degree long, mass long, work long"
    count = partial(streamed, partial(_count_items, events))
    found = session.range(0, n, 1, n).mapInArrow(count, schema).groupBy("item").sum()
    sums = [f"`sum({name})` as {name}" for name in ("degree", "mass", "work")]
    one = found.selectExpr("item", *sums).repartition(1).sortWithinPartitions("item")
    (answer,) = gather(one, partial(_write_items, events.job, events.kinds["items"]))
    return replace(events, **answer)


def _count_items(events: Stored, batches: Batches) -> Batches:
    for part in (events.parts[k] for batch in batches for k in batch.column(0).to_pylist()):
        lengths = table(events.job, f"{part.file}-users").column("length").to_numpy()
        ids = table(events.job, f"{part.file}-items").column("id")
        codes = ids.combine_chunks().dictionary_encode()
        places, items = codes.indices.to_numpy(), codes.dictionary
        made, counts = [items], lengths <= (events.cap or lengths.max())
        for weights in (counts, counts * user_weights(lengths, events.exponent), counts * lengths):
            sums = np.zeros(len(items), np.int64)
            np.add.at(sums, places, np.repeat(weights, lengths))
            made.append(pa.array(sums))
        whole = pa.RecordBatch.from_arrays(made, ["item", "degree", "mass", "work"])
        yield from (whole.slice(k, _ROWS) for k in range(0, len(whole), _ROWS))


def _write_items(job: Job, kind: str, batches: Batches) -> dict[str, Any]:
    whole = pa.Table.from_batches(batches)
    ids = whole.column("item").combine_chunks()
    save(job, file := fresh("vocabulary"), {"id": ids})
    arrays = {f"items-{name}": values for name, values in _packed(kind, ids).items()}
    arrays |= {name: whole.column(name).to_numpy() for name in ("degree", "mass", "work")}
    files = {name: fresh(name) for name in arrays}
    for name, values in arrays.items():
        values.tofile(job.file(files[name]))
    return {"items": len(ids), "files": files | {"vocabulary": file}}


def _packed(kind: str, ids: pa.Array) -> dict[str, NDArray[Any]]:
    """Return ids as a model folder has them; see `boolrank.data.packing`."""
    if kind == "int64":
        return {"ids": pc.cast(ids, pa.int64()).to_numpy(zero_copy_only=False)}
    text, ends = packed_texts(map(str, ids.to_pylist()))
    return {"text": text, "ends": ends}


def number_events(events: Stored, part: Part) -> Rows:
    """Write ids of users and rows of item numbers of a range of users; return the rows."""
    job = events.job
    users = table(job, f"{part.file}-users")
    items = table(job, f"{part.file}-items").column("id")
    known = table(job, events.files["vocabulary"]).column("id").combine_chunks()
    indices = pc.index_in(items, value_set=known).to_numpy().astype(np.int32)
    rows = Rows.of_lengths(users.column("length").to_numpy(), indices)
    for name, values in _packed(events.kinds["users"], users.column("id").combine_chunks()).items():
        first = part.first_byte if name == "text" else part.first_user
        put(job, f"users-{name}", first, values + part.first_byte if name == "ends" else values)
    put(job, "indptr", part.first_user, rows.indptr + part.first_event)
    put(job, "indices", part.first_event, indices)
    return rows
