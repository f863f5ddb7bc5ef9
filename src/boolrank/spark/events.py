"""Events of a Spark frame as the arrays of a model folder: ids in order, and rows of item numbers.

Spark sorts events by user and item, in ranges of users. So users of a range are in the order of the
vocabulary, and the number of a user is that of the users in the ranges before. Items are numbered
by one task that writes all of them in order; each range then looks its items up.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..counts.weighting import Weighting, user_weights, weight_table
from ..data.columns import find_columns
from ..data.interactions import Interactions, none_within
from ..data.packing import id_arrays, unpacked
from ..data.rows import Rows
from ..errors import InputError, ModelFileError
from ..storage.state import Reader
from .cluster import Batches, Place, gather, streamed, task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

# Rows of an Arrow batch.
_ROWS = 1 << 16


class Part(NamedTuple):
    """A range of users: the files with its ids and events, and what comes before it."""

    file: str
    users: int
    events: int
    first_user: int
    first_event: int
    first_byte: int


class Staged(NamedTuple):
    """Sorted events in the folder, not yet numbered.

    Attributes
    ----------
    kinds : types of the ids of users and items in the folder
    item_type : that of items in Spark
    activity, numbers : distinct numbers of items of users, and how many users have each
    text_bytes : length of the text of all user ids
    cap : the most items of a user that counts, or None; ``activity`` of others is 0
    """

    parts: list[Part]
    kinds: dict[str, str]
    item_type: str
    activity: NDArray[np.int64]
    numbers: NDArray[np.int64]
    text_bytes: int
    cap: int | None


def stage(
    frame: DataFrame,
    user: str | None,
    item: str | None,
    place: Place,
    n: int,
    cap: int | None = None,
) -> Staged:
    """Sort events by user and item into n ranges of users, without repetitions."""
    found = find_columns(frame.columns, user=user, item=item)
    names = {role: str(found[role]) for role in ("user", "item")}
    ids = [id_column(frame, name, role).alias(role) for role, name in names.items()]
    events = frame.select(ids).repartitionByRange(n, "user").sortWithinPartitions("user", "item")
    answers = gather(events, partial(_stage, place, names))
    answers.sort(key=lambda answer: int(answer["part"]))
    if not any(answer["events"] for answer in answers):
        raise InputError("there are no interactions: the input has no rows", hint="give some")
    kinds = {}
    for role in names:
        of_role = {answer[role] for answer in answers} - {None}
        # Numbers are text where one of them is past 64 bits.
        kinds[f"{role}s"] = "int" if "int" in of_role else of_role.pop()
    counts = [[answer[name] for answer in answers] for name in ("users", "events", "bytes")]
    before = [[0, *accumulate(numbers)] for numbers in counts]
    files = [answer["file"] for answer in answers]
    parts = [Part(*values) for values in zip(files, *counts[:2], *before, strict=False)]
    histogram: dict[int, int] = {}
    for answer in answers:
        for length, number in answer["activity"]:
            histogram[length] = histogram.get(length, 0) + number
    activity, numbers = np.array(sorted(histogram.items()), np.int64).T
    activity = activity if cap is None else activity * (activity <= cap)
    if not activity.any():
        raise none_within(cap)
    some, item_type = [part for part in parts if part.users], events.schema["item"].dataType
    return Staged(some, kinds, item_type.simpleString(), activity, numbers, before[2][-1], cap)


def id_column(frame: DataFrame, name: str, role: str) -> Column:
    """Return a column of ids as 64-bit numbers, decimals without fraction, or text."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

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


def _stage(place: Place, names: dict[str, str], batches: Batches) -> dict[str, Any]:
    """Write the sorted events of a range of users; the answer says how many there are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place.check()
    users, items, numbers, last, n_users = [], [], [np.empty(0, np.int64)], None, 0
    for batch in filter(len, batches):
        for role, name in names.items():
            if batch.column(role).null_count:
                raise InputError(
                    f"some rows have no id in the column {name!r}",
                    hint=f"drop rows without one, or name another column with {role}=...",
                    parameter=role,
                )
        new_user, new_item = (_changes(batch, role, last) for role in names)
        last = batch.slice(len(batch) - 1)
        kept, number = new_user | new_item, n_users - 1 + np.cumsum(new_user)
        n_users = int(number[-1]) + 1
        numbers.append(number[kept])
        users.append(batch.column("user").filter(pa.array(new_user)))
        items.append(batch.column("item").filter(pa.array(kept)))
    lengths, file = np.bincount(np.concatenate(numbers)), place.fresh("events")
    answer = {"part": task().partitionId(), "file": file, "users": n_users}
    answer |= {"events": int(lengths.sum()), "bytes": 0, "user": None, "item": None, "activity": []}
    if n_users:
        ids = pa.chunked_array(users).combine_chunks()
        texts = pc.cast(ids, pa.large_string())
        activity = zip(*(x.tolist() for x in np.unique(lengths, return_counts=True)), strict=True)
        answer |= {"bytes": pc.sum(pc.binary_length(texts)).as_py(), "activity": list(activity)}
        answer |= {"user": _kind(ids), "item": _kind(pa.chunked_array(items))}
        save(place, f"{file}-users", {"id": ids, "length": lengths})
        save(place, f"{file}-items", {"id": pa.chunked_array(items)})
    return answer


def _changes(batch: pa.RecordBatch, role: str, last: pa.RecordBatch | None) -> NDArray[np.bool_]:
    """Return where a column differs from the row above, which may be the last of a batch before."""
    import pyarrow.compute as pc

    column = batch.column(role)
    first = last is None or column[0] != last.column(role)[0]
    rest = pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate(([first], rest))


def _kind(ids: Any) -> str:
    import pyarrow as pa

    if pa.types.is_decimal(ids.type):
        try:
            ids.cast(pa.int64())
        except pa.ArrowInvalid:
            return "int"
    return "str" if pa.types.is_string(ids.type) else "int64"


def save(place: Place, name: str, columns: dict[str, Any]) -> None:
    """Write an Arrow table that `table` maps."""
    import pyarrow as pa

    made = pa.table(columns)
    with pa.ipc.new_file(str(place.path(name)), made.schema) as file:
        file.write_table(made)


def table(place: Place, name: str) -> pa.Table:
    """Return a mapped Arrow table."""
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(place.path(name)))).read_all()


class Numbered(NamedTuple):
    """Numbered items, the files of arrays over them, and the weights of users.

    Executors map the same files. ``active`` users count, ``total`` is their weight.
    """

    users: int
    active: int
    exponent: float
    total: int
    items: int
    files: dict[str, str]

    @property
    def dtype(self) -> str:
        """Type of counts, or of masses of weighted users."""
        return "int64" if self.exponent else "int32"

    def array(self, place: Place, name: str) -> NDArray[np.int64]:
        """Return users (degree), mass, or work to count the row, of each item."""
        return np.asarray(place.array(self.files[name], "int64")[:])

    def overlaps(self, place: Place, *, pairs: bool = True) -> Overlaps:
        """Return the counts, mapped; without pairs before they are complete."""
        kinds = {"indptr": "int64", "columns": "int32", "counts": self.dtype} if pairs else {}
        found = {k: place.array(f"pairs-{k}", kind).mapped() for k, kind in kinds.items()}
        weighting = None
        if self.exponent:
            degrees = self.array(place, "degree")
            weighting = Weighting(self.exponent, self.total, self.active, degrees)
        return Overlaps(self.users, self.array(place, "mass"), weighting=weighting, **found)


def number_items(session: SparkSession, staged: Staged, place: Place, exponent: float) -> Numbered:
    """Write the ids of items in order, with their users, mass and work."""
    total = int(weight_table(staged.activity, staged.numbers, exponent) @ staged.numbers)
    n, schema = len(staged.parts), f"item {staged.item_type}, degree long, mass long, work long"
    count = partial(streamed, partial(_count_items, place, staged, exponent))
    found = session.range(0, n, 1, n).mapInArrow(count, schema).groupBy("item").sum()
    sums = [f"`sum({name})` as {name}" for name in ("degree", "mass", "work")]
    one = found.selectExpr("item", *sums).repartition(1).sortWithinPartitions("item")
    (answer,) = gather(one, partial(_write_items, place, staged.kinds["items"]))
    active = int(staged.numbers[staged.activity > 0].sum())
    return Numbered(int(staged.numbers.sum()), active, exponent, total, **answer)


def _count_items(place: Place, staged: Staged, exponent: float, batches: Batches) -> Batches:
    import pyarrow as pa

    for part in (staged.parts[k] for batch in batches for k in batch.column(0).to_pylist()):
        lengths = table(place, f"{part.file}-users").column("length").to_numpy()
        codes = table(place, f"{part.file}-items").column("id").combine_chunks().dictionary_encode()
        places, items = codes.indices.to_numpy(), codes.dictionary
        made, counts = [items], lengths <= (staged.cap or lengths.max())
        for weights in (counts, counts * user_weights(lengths, exponent), counts * lengths):
            sums = np.zeros(len(items), np.int64)
            np.add.at(sums, places, np.repeat(weights, lengths))
            made.append(pa.array(sums))
        whole = pa.RecordBatch.from_arrays(made, ["item", "degree", "mass", "work"])
        yield from (whole.slice(k, _ROWS) for k in range(0, len(whole), _ROWS))


def _write_items(place: Place, kind: str, batches: Batches) -> dict[str, Any]:
    import pyarrow as pa

    whole = pa.Table.from_batches(batches)
    ids = whole.column("item").combine_chunks()
    save(place, file := place.fresh("vocabulary"), {"id": ids})
    arrays = {f"items-{name}": values for name, values in _packed(kind, ids).items()}
    arrays |= {name: whole.column(name).to_numpy() for name in ("degree", "mass", "work")}
    files = {name: place.fresh(name) for name in arrays}
    for name, values in arrays.items():
        values.tofile(place.path(files[name]))
    return {"items": len(ids), "files": files | {"vocabulary": file}}


def _packed(kind: str, ids: pa.Array) -> dict[str, NDArray[Any]]:
    """Return ids as a model folder has them; see `boolrank.data.packing`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "int64":
        return {"ids": pc.cast(ids, pa.int64()).to_numpy(zero_copy_only=False)}
    texts = pc.cast(ids, pa.large_string())
    ends = np.cumsum(pc.binary_length(texts).to_numpy())
    text = np.frombuffer(b"".join(texts.cast(pa.large_binary()).to_pylist()), np.uint8)
    return {"text": text, "ends": ends}


def number_events(place: Place, staged: Staged, numbered: Numbered, part: Part) -> Rows:
    """Write ids of users and rows of item numbers of a range of users; return the rows."""
    import pyarrow.compute as pc

    users = table(place, f"{part.file}-users")
    items = table(place, f"{part.file}-items").column("id")
    known = table(place, numbered.files["vocabulary"]).column("id").combine_chunks()
    indices = pc.index_in(items, value_set=known).to_numpy().astype(np.int32)
    rows = Rows.of_lengths(users.column("length").to_numpy(), indices)
    for name, values in _packed(staged.kinds["users"], users.column("id").combine_chunks()).items():
        first = part.first_byte if name == "text" else part.first_user
        moved = values + part.first_byte if name == "ends" else values
        place.put(f"users-{name}", first, moved)
    place.put("indptr", part.first_user, rows.indptr + part.first_event)
    place.put("indices", part.first_event, indices)
    return rows


def mapped_events(place: Place, staged: Staged, numbered: Numbered) -> Interactions:
    """Return the numbered events, mapped; ids that are text are held in memory."""
    arrays = {"indptr": place.array("indptr", "int64"), "indices": place.array("indices", "int32")}
    for role in staged.kinds:
        for file, kind in id_arrays(staged.kinds, role).items():
            arrays[file] = place.array(numbered.files.get(file, file), kind)
    reader = Reader(place.folder, {k: array.mapped() for k, array in arrays.items()}, verify=False)
    return unpacked(staged.kinds, reader)
