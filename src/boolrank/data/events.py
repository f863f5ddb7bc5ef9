"""Events in frames: users, items, times and ratings, and an account of reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterTypeError
from ..table import counted
from .columns import find_columns, opened
from .database import ArrowStream
from .values import BOOLEANS, Condition
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


@dataclass
class Reading:
    """An account of reading: columns by role, numbers of rows, and dropped rows by reason.

    ``padded`` counts ids with blanks around them, ``notes`` has remarks for people. ``partial``
    marks one of many batches, in which it is no error if few rows count.
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
    partial: bool = False

    def drop(self, reason: str, count: int) -> None:
        """Count rows that are left out."""
        if count:
            self.dropped[reason] = self.dropped.get(reason, 0) + count

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
    table = opened(frame, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame) and hasattr(frame, "__arrow_c_stream__"):
        table = ArrowStream(frame)
    elif not isinstance(table, nw.DataFrame):
        try:
            lazy: Any = nw.from_native(frame)
            table = lazy.collect()
        except TypeError:
            raise ParameterTypeError(
                f"events are a frame or an Arrow stream, not {type(frame).__name__}",
                hint="make a pandas, polars or pyarrow frame, or use Interactions.from_pairs",
            ) from None
    columns = find_columns(table.columns, positive, **given)
    if isinstance(table, ArrowStream):
        table = nw.from_native(table.collect(columns))
    if given["time"] is None and columns["time"] and not _is_time(table[columns["time"]].dtype):
        columns["time"] = None
    return to_events(table, columns, condition, Reading(columns=columns, rows=len(table)))


def to_events(
    table: Any,
    columns: Mapping[str, str | None],
    condition: Condition | None,
    reading: Reading,
    place: Callable[[str, str | None], str] | None = None,
) -> Events:
    """Return the events of a narwhals frame.

    A missing id in a frame is an error. Files and queries have a ``place``, which tells where a
    column first has a value, or none: their rows without an id are dropped, unless most lack one.
    """
    import narwhals as nw

    rating, time = columns["rating"], columns["time"]
    table = table if rating is None else _positive(table, rating, condition, reading)
    for role in ("user", "item"):
        name = str(columns[role])
        missing = table[name].null_count()
        if missing and (place is None or (2 * missing > len(table) and not reading.partial)):
            raise without_ids(missing, role, name, place and place(name, None))
        if missing:
            reading.drop(f"without {role}", missing)
            table = table.filter(~nw.col(name).is_null())
    users, rows = _encode(table[columns["user"]], "user")
    items, numbers = _encode(table[columns["item"]], "item")
    when = None if time is None else _times(table[time])
    if when is not None:
        if timeless := int(np.isnan(when).sum()):
            reading.notes.append(f"{counted(timeless, 'row', 'have')} no time")
        if odd := _odd_range(when):
            reading.notes.append(odd)
    return Events(users, items, rows, numbers, when, reading)


def without_ids(missing: int, role: str, name: str, place: str | None = None) -> InputError:
    """Return the error for rows without a user or an item."""
    where = f", the first in {place}" if place else ""
    return InputError(
        f"{counted(missing, 'row', 'have')} nothing in the column {name!r}{where}",
        hint=f"drop these rows, or name another column with {role}=...",
    )


def _odd_range(times: NDArray[Any]) -> str:
    """Return the range of times if dates are in the far future, or seconds beside milliseconds."""
    known = times[np.isfinite(times)]
    if not known.size:
        return ""
    first, last = known.min(), known.max()
    if times.dtype.kind == "M":
        first, last = first.astype("M8[D]"), last.astype("M8[D]")
        is_odd = last > np.datetime64("today") + 366
    else:
        is_odd = 1e8 < first < 1e11 < last  # 1e11 s are in 5138, 1e11 ms in 1973
    return f"times are from {first} to {last}" if is_odd else ""


def check_times(values: Any, count: int) -> NDArray[Any]:
    """Return the times of ``count`` events as numbers or datetimes in UTC, or raise."""
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, date) for value in array.ravel()):
        array = np.array([_naive(value) for value in array.tolist()], "datetime64[us]")
    if array.dtype.kind not in "iufM":
        raise InputError(
            f"times are numbers, dates or datetimes, not {array.dtype} values", parameter="time"
        )
    if array.shape != (count,):
        raise InputError(
            f"times have the shape {array.shape}, but there are {count:,} events", parameter="time"
        )
    return array


def _naive(when: Any) -> Any:
    zoned = getattr(when, "tzinfo", None) is not None
    return when.astimezone(UTC).replace(tzinfo=None) if zoned else when


def _positive(table: Any, name: str, condition: Condition | None, reading: Reading) -> Any:
    """Return the rows of a narwhals frame with a rating that counts: all by default, unless false.

    A condition compares numbers with numbers, truth values with both, and text with text.
    """
    import narwhals as nw

    ratings = table[name]
    is_bool, is_number = ratings.dtype == nw.Boolean, ratings.dtype.is_numeric()
    if condition is None and not is_bool:
        return table
    unwanted = "false" if condition is None else f"not {condition.text}"
    condition = condition or Condition("= true", "=", "true")
    if is_bool:
        ratings = ratings.cast(nw.Float64)
        truth = BOOLEANS.get(str(condition.value).lower(), condition.value)
        condition = condition._replace(value=truth)
    is_word = isinstance(condition.value, str)
    is_text = ratings.dtype in (nw.String, nw.Categorical, nw.Enum)
    if not (is_text if is_word else is_bool or is_number):
        kind = "truth values" if is_bool else "numbers" if is_number else "not numbers"
        raise InputError(
            f"the ratings in {name!r} are {kind}",
            hint="compare numbers as positive='>= 4', text as positive='= good'",
            parameter="positive",
        )
    chosen = condition(ratings).fill_null(False) & ~ratings.is_null()
    if len(table) and not chosen.any() and not reading.partial:
        values = sorted(ratings.drop_nulls().unique().to_list())
        shown = "missing" if not values else f"{values[0]} to {values[-1]}"
        shown = ", ".join(map(repr, values[:5])) if values and is_word else shown
        raise InputError(
            f"no rating is {condition.text}: those in {name!r} are {shown}",
            hint="compare with one of these" if is_word else "compare with a number in this range",
            parameter="positive",
        )
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
    return np.asarray(series.to_numpy())


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
