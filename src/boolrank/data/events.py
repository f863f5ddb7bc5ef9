"""Events in frames and matrices: users, items, times and ratings, and an account of reading."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, sparray, spmatrix

from ..errors import InputError
from ..table import counted
from .columns import find_columns, opened
from .conditions import BOOLEANS, Condition
from .database import ArrowStream
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame
    from numpy.typing import ArrayLike

    MatrixLike = ArrayLike | sparray[Any, Any] | spmatrix[Any]

Ids = Sequence[Hashable] | None


@dataclass
class Reading:
    """An account of reading: columns by role, numbers of rows, and dropped rows by reason.

    ``padded`` counts ids with blanks around them, ``notes`` are shown to the user.
    """

    source: str = "a frame"
    columns: Mapping[str, str | None] = field(default_factory=dict)
    rows: int = 0
    users: int = 0
    items: int = 0
    duplicates: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    padded: int = 0
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, count: int) -> None:
        """Count rows that are left out."""
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count

    def check(self, count: int) -> None:
        """Raise if no event is left."""
        if not count:
            dropped = ", ".join(f"{n:,} {why}" for why, n in self.dropped.items())
            why = f"all rows are dropped, {dropped}" if dropped else f"{self.source} has no rows"
            hint = "choose other events" if dropped else "give some"
            raise InputError(f"there are no interactions: {why}", hint=hint)

    def __str__(self) -> str:
        roles = [f"{role} {name!r}" for role, name in self.columns.items() if name is not None]
        roles += [] if self.columns.get("time") else ["no time"]
        things = ("row", "user", "item", "duplicate")
        counts = [counted(getattr(self, f"{thing}s"), thing) for thing in things]
        text = f"{self.source}: {', '.join(roles)}; {', '.join(counts)}"
        if self.dropped:
            reasons = (f"{counted(count, 'row')} {why}" for why, count in self.dropped.items())
            text += f"; dropped {', '.join(reasons)}"
        return text + (
            f"; removed blanks around {counted(self.padded, 'id')}" if self.padded else ""
        )


class Events(NamedTuple):
    """Users, items, the row and column number of each event, its time, and how it was read."""

    users: Vocabulary
    items: Vocabulary
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    time: NDArray[Any] | None
    reading: Reading


def read_frame(
    frame: IntoFrame, given: Mapping[str, str | None], positive: str | None = None
) -> Events:
    """Return the events of a frame or an Arrow stream; see `Interactions.from_frame`."""
    import narwhals as nw

    condition = None if positive is None else Condition.parse(positive)
    table: Any = opened(frame, "events", "Interactions.from_pairs")
    stream = None if isinstance(table, nw.DataFrame) else ArrowStream(table)
    columns = find_columns((stream or table).columns, positive, **given)
    table = table if stream is None else nw.from_native(stream.collect(columns))
    if given["time"] is None and columns["time"] and not _is_time(table[columns["time"]].dtype):
        columns["time"] = None
    return to_events(table, columns, condition, Reading(columns=columns, rows=len(table)))


def to_events(
    table: Any,
    columns: Mapping[str, str | None],
    condition: Condition | None,
    reading: Reading,
    *,
    drop_missing: bool = False,
) -> Events:
    """Return the events of a narwhals frame; raise for rows without an id, or drop them."""
    import narwhals as nw

    rating, time = columns["rating"], columns["time"]
    table = table if rating is None else _positive(table, rating, condition, reading)
    for role in ("user", "item"):
        name = str(columns[role])
        missing = table[name].null_count()
        if missing and not drop_missing:
            raise InputError(
                f"{counted(missing, 'row', 'have')} nothing in the column {name!r}",
                hint=f"drop these rows, or name another {role} column",
            )
        if missing:
            reading.drop(f"without {role}", missing)
            table = table.filter(~nw.col(name).is_null())
    users, rows = _encode(table[columns["user"]], "user")
    items, numbers = _encode(table[columns["item"]], "item")
    when = None if time is None else _times(table[time])
    if when is not None and when.dtype.kind == "M" and table[time].dtype.is_numeric():
        example = str(when[np.isfinite(when)][0]).replace("-", "")
        reading.notes.append(f"times such as {example} are read as dates")
    if when is not None and (timeless := int((~np.isfinite(when)).sum())):
        reading.notes.append(f"{counted(timeless, 'row', 'have')} no time")
    return Events(users, items, rows, numbers, when, reading)


def check_times(values: Any, count: int) -> NDArray[Any]:
    """Return the times of ``count`` events as numbers or datetimes in UTC, or raise."""
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, date) for value in array.ravel()):
        zoned = ((value, getattr(value, "tzinfo", None)) for value in array.tolist())
        naive = [v.astimezone(UTC).replace(tzinfo=None) if zone else v for v, zone in zoned]
        array = np.array(naive, "datetime64[us]")
    if array.dtype.kind not in "iufM":
        raise InputError(
            f"times are numbers, dates or datetimes, not {array.dtype} values", parameter="time"
        )
    if array.shape != (count,):
        raise InputError(
            f"times of {counted(count, 'event')} have the shape {array.shape}", parameter="time"
        )
    return as_dates(array)


def as_dates(times: NDArray[Any]) -> NDArray[Any]:
    """Return numbers such as 20240304 as dates if all are days from 1900 to 2100, else unchanged.

    >>> as_dates(np.array([20240229, np.nan])), as_dates(np.array([20240229, 20240230]))
    (array(['2024-02-29', 'NaT'], dtype='datetime64[D]'), array([20240229, 20240230]))
    """
    if times.dtype.kind not in "iuf":
        return times
    known = np.isfinite(times)
    some = times[known]
    if not some.size or some.min() < 19000101 or some.max() > 21001231:
        return times
    whole = some.astype(np.int64)
    month, day = whole // 100 % 100 - 1, whole % 100 - 1
    first = ((whole // 10_000 - 1970) * 12 + month).astype("datetime64[M]")
    made = first.astype("datetime64[D]") + day
    if (month // 12 != 0).any() or (made.astype("datetime64[M]") != first).any():
        return times
    dates = np.full(times.shape, np.datetime64("NaT", "D"))
    dates[known] = made
    return dates if np.array_equal(whole, some) else times


def _positive(table: Any, name: str, condition: Condition | None, reading: Reading) -> Any:
    """Return the rows of a narwhals frame with a rating that counts: all by default, unless false.

    A condition compares numbers with numbers, truth values with both, and text with text, where
    yes, Y and TRUE are one value: FALSE is not ``!= false``.
    """
    import narwhals as nw

    ratings = table[name]
    is_bool, is_number = ratings.dtype == nw.Boolean, ratings.dtype.is_numeric()
    if condition is None and not is_bool:
        return table
    unwanted = "false" if condition is None else f"not {condition.text}"
    condition = condition or Condition("= true", "=", "true")
    truth = BOOLEANS.get(str(condition.value).lower())
    if is_bool:
        ratings = ratings.cast(nw.Float64)
        condition = condition if truth is None else condition._replace(value=truth)
    is_word = isinstance(condition.value, str)
    is_text = ratings.dtype in (nw.String, nw.Categorical, nw.Enum)
    if not (is_text if is_word else is_bool or is_number):
        kind = "truth values" if is_bool else "numbers" if is_number else "not numbers"
        raise InputError(
            f"the ratings in {name!r} are {kind}",
            hint="compare numbers as '>= 4', text as '= good'",
            parameter="positive",
        )
    if is_word and truth is not None:
        words = [word for word, value in BOOLEANS.items() if value is truth]
        alike = ratings.cast(nw.String).str.to_lowercase().is_in(words)
        chosen = condition._replace(value=True)(alike)
    else:
        chosen = condition(ratings)
    chosen = chosen.fill_null(False) & ~ratings.is_null()
    missing = ratings.null_count()
    reading.drop(f"without {name}", missing)
    reading.drop(f"with {name} {unwanted}", len(table) - missing - int(chosen.sum()))
    return table.filter(chosen)


def _is_time(dtype: Any) -> bool:
    import narwhals as nw

    return dtype.is_numeric() or (dtype.is_temporal() and dtype not in (nw.Duration, nw.Time))


def _times(series: Any) -> NDArray[Any]:
    """Return a narwhals column as numbers or datetimes in UTC."""
    import narwhals as nw

    if not _is_time(series.dtype):
        raise InputError(
            f"the column {series.name!r} has neither numbers nor dates, so it is not a time",
            hint="name another column",
            parameter="time",
        )
    if series.dtype == nw.Date:
        return np.asarray(series.cast(nw.Datetime("us")).to_numpy()).astype("datetime64[D]")
    if series.dtype == nw.Datetime and series.dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return as_dates(np.asarray(series.to_numpy()))


def _encode(series: Any, kind: str) -> tuple[Vocabulary, NDArray[np.int64]]:
    """Return the vocabulary of a narwhals column, and the number of each value."""
    import narwhals as nw

    if series.dtype in (nw.Int128, nw.UInt128):
        return Vocabulary.of(series.to_list(), kind)
    if series.implementation.is_polars() and series.dtype in (nw.String, nw.Categorical, nw.Enum):
        import polars as pl

        # Ten times as fast as a dictionary in Python.
        codes = series.to_native()
        codes = codes.cast(pl.Categorical) if codes.dtype == pl.String else codes
        distinct = codes.unique()
        texts = distinct.cast(pl.String)
        order = texts.arg_sort().to_numpy()
        places = distinct.to_physical().to_numpy()[order]
        ranks = np.empty(int(places.max(initial=0)) + 1, np.int64)
        ranks[places] = np.arange(len(places))
        ids = np.array(texts.gather(order).to_list(), object)
        return Vocabulary(ids, kind), ranks[codes.to_physical().to_numpy()]
    return Vocabulary.of(series.to_numpy(), kind)


def read_matrix(matrix: MatrixLike, users: Ids, items: Ids) -> tuple[Any, ...]:
    """Return users, items, and the row and column number of each nonzero cell."""
    unchecked: Any = matrix
    try:
        cells = coo_array(unchecked)
    except (TypeError, ValueError) as error:
        raise InputError(f"{type(matrix).__name__} is not a matrix: {error}") from None
    if cells.ndim != 2:
        raise InputError(f"a matrix of users and items has 2 dimensions, not {cells.ndim}")
    cells.sum_duplicates()
    odd = np.flatnonzero(~(cells.data >= 0))  # True for NaN
    if len(odd):
        row, column = int(cells.row[odd[0]]), int(cells.col[odd[0]])
        raise InputError(
            f"the matrix has {cells.data[odd[0]]} in row {row}, column {column}",
            hint="choose the cells that count, such as with matrix > 0",
        )
    some = cells.data != 0
    names, rows = _side(users, "user", cells.shape[0])
    titles, columns = _side(items, "item", cells.shape[1])
    return names, titles, rows[cells.row[some]], columns[cells.col[some]]


def _side(given: Ids, kind: str, size: int) -> tuple[Vocabulary, NDArray[np.int64]]:
    """Return the ids of the rows or columns of a matrix, by default their numbers."""
    names, numbers = Vocabulary.of(np.arange(size) if given is None else given, kind)
    if len(numbers) != size:
        ids = counted(len(numbers), "id", "are")
        raise InputError(f"the matrix has {counted(size, kind)}, but {ids} given")
    if len(names) != size:
        raise InputError(f"the ids of {kind}s are not distinct", parameter=f"{kind}s")
    return names, numbers
