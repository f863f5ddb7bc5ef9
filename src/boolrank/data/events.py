"""Events of frames and files: which column is whose, and users, items, ratings and times of it.

In files nothing is guessed from the first rows. Columns of text files are text until all of them
is known, and become whole numbers only if every value is written as one is written: with ``007``
among them, they stay text.
"""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._extras import needs
from ..errors import InputError, ParameterError
from .files import FileScan, expand, joined, scan_file, unreadable
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "USUAL_NAMES",
    "checked_times",
    "encoded",
    "find_columns",
    "parse_threshold",
    "read_events",
    "times",
]

Columns = dict[str, str | None]

# Names that columns usually have, in lower case; the first that a table has is taken.
USUAL_NAMES = {
    "user": (
        *("user", "user_id", "userid", "uid", "customer", "customer_id", "customerid"),
        *("visitor_id", "visitorid", "reviewer_id", "reviewerid", "session_id", "sessionid"),
    ),
    "item": (
        *("item", "item_id", "itemid", "iid", "product", "product_id", "productid", "asin"),
        *("parent_asin", "movie", "movie_id", "movieid", "film", "film_id", "book", "book_id"),
        *("isbn", "track_id", "song_id", "article_id", "business_id"),
    ),
    "time": ("time", "timestamp", "date", "datetime", "unixreviewtime", "created_at"),
    "rating": ("rating", "ratings", "score", "stars", "overall", "value"),
}

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def find_columns(
    names: Sequence[str], *, needed: Sequence[str] = ("user", "item"), **given: str | None
) -> dict[str, str | None]:
    """Which column is the user's, the item's, the time's, the rating's: as given, or as usual.

    Those that are ``needed`` and not there are an error, one for all of them.

    >>> find_columns(["userId", "movieId", "stars"], user=None, item="movieId", rating=None)
    {'user': 'userId', 'item': 'movieId', 'rating': 'stars'}
    """
    found: dict[str, str | None] = {}
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    for role, name in given.items():
        if name is not None and name not in names:
            raise InputError(f"there is no column {name!r} for the {role}; there are {list(names)}")
        usual = next((by_lower[n] for n in USUAL_NAMES[role] if n in by_lower), None)
        found[role] = name if name is not None else usual
    missing = [role for role in needed if found[role] is None]
    if missing:
        which = " or the ".join(missing)
        to_name = " and ".join(f"{role}=..." for role in missing)
        raise InputError(
            f"no column looks like the {which}; name {'it' if len(missing) == 1 else 'them'} with "
            f"{to_name}, of {list(names)}"
        )
    if found["user"] == found["item"]:
        raise InputError(f"user and item are the same column, {found['user']!r}; name two")
    return found


def parse_threshold(text: str) -> tuple[Callable[[Any, Any], Any], float]:
    """A comparison and a number from text.

    >>> at_least, bound = parse_threshold(">= 4")
    >>> at_least(3.5, bound), at_least(4, bound)
    (False, True)
    """
    match = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*", text)
    if match is None:
        raise ParameterError(
            f"positive is a comparison with a number, such as '>= 4', not {text!r}"
        )
    return _COMPARISONS[match[1]], float(match[2])


def times(series: Any) -> NDArray[Any] | None:
    """A narwhals column as numbers or datetimes (in UTC); None where it is neither."""
    import narwhals as nw

    if series.dtype.is_numeric():
        return np.asarray(series.to_numpy())
    if not series.dtype.is_temporal() or series.dtype in (nw.Duration, nw.Time):
        return None
    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    elif series.dtype.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return np.asarray(series.to_numpy())


def checked_times(values: Any, count: int) -> NDArray[Any]:
    """Times of so many events, from any sequence of numbers, dates or datetimes (then in UTC).

    >>> checked_times([3, 1], 2).tolist()
    [3, 1]
    """
    array = np.asarray(values)
    if array.dtype.kind == "O" and all(isinstance(value, date) for value in array.ravel()):
        array = np.array([_naive(value) for value in array.tolist()], "datetime64[us]")
    if array.dtype.kind not in "iufM":
        raise InputError(f"times are numbers, dates or datetimes, not {array.dtype} values")
    if array.shape != (count,):
        raise InputError(
            f"there are times of the shape {array.shape} for {count:,} events; each has one"
        )
    return array


def _naive(when: Any) -> Any:
    zoned = getattr(when, "tzinfo", None) is not None
    return when.astimezone(UTC).replace(tzinfo=None) if zoned else when


def encoded(series: Any, kind: str) -> tuple[Vocabulary, NDArray[np.int64]]:
    """The vocabulary of a narwhals column without nulls, and the number of each of its values."""
    import narwhals as nw

    if series.dtype.is_float() and series.is_nan().any():
        raise InputError(
            f"some {kind}s are NaN, in the column {series.name!r}; leave them out first"
        )
    if series.dtype in (nw.Int128, nw.UInt128):
        return Vocabulary.of(series.to_list(), kind)
    if series.implementation.is_polars() and series.dtype in (nw.String, nw.Categorical, nw.Enum):
        import polars as pl

        # A dictionary in compiled code: ten times as fast as one of Python's.
        text = series.to_native().cast(pl.String)
        ids = text.unique().sort()
        names = np.empty(len(ids), dtype=object)
        names[:] = ids.to_list()
        numbers = text.cast(pl.Enum(ids)).to_physical().to_numpy()
        return Vocabulary(names, kind), numbers.astype(np.int64)
    return Vocabulary.of(series.to_numpy(), kind)


def read_events(
    paths: str | Path | Iterable[str | Path],
    choose: Callable[[list[str]], Columns],
    optional: Iterable[str] = (),
) -> tuple[pl.DataFrame, Columns]:
    """The columns that ``choose`` picks among the names for each role, and which they are.

    Users and items are whole numbers where every one of them is written so, and text otherwise;
    ratings and times are numbers, times dates too. Roles that are ``optional`` are left out where
    the values are of another kind, with a warning that says which.
    """
    with needs("cli", "Reading files"):
        import polars as pl

    scans = [scan_file(path) for path in expand(paths)]
    events, untyped = joined(scans)
    columns = _chosen(scans[0], choose)
    frame = _collected(events.select(list(_roles(columns))), scans)
    if any(scan.is_text for scan in scans):
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for name, role in _roles(columns).items():
        if name in untyped or (role in ("time", "rating") and frame[name].dtype == pl.String):
            typed = _typed(frame[name], role)
            if typed is not None:
                frame = frame.with_columns(typed)
            elif role in optional:
                columns[role] = None
                warnings.warn(f"left out: {_not_of(frame[name], role, scans)}", stacklevel=4)
            else:
                raise InputError(_not_of(frame[name], role, scans))
    if not len(frame):
        raise InputError(
            f"there are no interactions: {scans[0].path} has no rows; below the names of the "
            "columns stands a row per event"
        )
    _check_no_nulls(frame, columns, scans)
    return frame, columns


def _chosen(scan: FileScan, choose: Callable[[list[str]], Columns]) -> Columns:
    names = list(scan.schema)
    try:
        return dict(choose(names))
    except InputError as error:
        usual = {name for each in USUAL_NAMES.values() for name in each}
        if scan.is_text and usual.isdisjoint(name.strip().lower() for name in names):
            error.add_note(
                f"the first line of {scan.path} is taken for the names of its columns: if it is "
                "data, add a line above it, such as user,item"
            )
        raise


def _roles(columns: Mapping[str, str | None]) -> dict[str, str]:
    return {name: role for role, name in columns.items() if name is not None}


def _collected(events: pl.LazyFrame, scans: list[FileScan]) -> pl.DataFrame:
    try:
        with unreadable():
            return events.collect()
    except InputError as error:
        # Which file it was polars does not say; looking again is slow, and only for this.
        raise next(filter(None, (scan.trouble() for scan in scans)), error) from None


def _check_no_nulls(frame: pl.DataFrame, columns: Columns, scans: list[FileScan]) -> None:
    """Refuse rows without a user or an item, and say where the first of them stands."""
    for name in filter(None, (columns["user"], columns["item"])):
        missing = frame[name].null_count()
        if missing:
            where = _first(scans, name, None)
            raise InputError(
                f"{missing} rows have nothing in the column {name!r}, the first in {where}; fill "
                "it in, or take such rows out of the file"
            )


def _first(scans: list[FileScan], name: str, value: str | None) -> str:
    """Where a value stands first. Reads again: for what is refused anyway."""
    import polars as pl

    for scan in scans:
        rows = scan.frame.filter(~pl.all_horizontal(pl.all().is_null()))
        same = rows.select(pl.col(name).cast(pl.String).eq_missing(value)).collect().to_series()
        if same.any():
            return f"{scan.path}, row {same.arg_true()[0] + 1} below the header"
    return "these files"


def _typed(series: pl.Series, role: str) -> pl.Series | None:
    """The column in the first form of its role that loses nothing; None where there is none."""
    made = (make(series) for make in _FORMS[role])
    return next((each for each in made if each.null_count() == series.null_count()), None)


def _not_of(series: pl.Series, role: str, scans: list[FileScan]) -> str:
    # What the fewest values break is what the column was meant to be.
    broken = [series.filter(make(series).is_null() & series.is_not_null()) for make in _FORMS[role]]
    wrong = min(broken, key=len).first()
    return (
        f"the column {series.name!r} is no {role}: it has {wrong!r}, for one, in "
        f"{_first(scans, series.name, str(wrong))}; correct it, or name another with {role}=..."
    )


def _whole_numbers(series: pl.Series) -> pl.Series:
    """Text as whole numbers where that loses nothing, be it a leading zero."""
    import polars as pl

    if series.dtype.is_integer():
        return series
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String).ne_missing(series), None)


def _numbers(series: pl.Series) -> pl.Series:
    import polars as pl

    return series.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)


def _dates(series: pl.Series) -> pl.Series:
    import polars as pl

    try:
        return series.str.to_datetime(time_unit="us", strict=False, time_zone="UTC")
    except pl.exceptions.PolarsError:  # no form of dates that it knows
        return pl.Series(series.name, [None] * len(series), pl.Datetime("us", "UTC"))


def _as_it_is(series: pl.Series) -> pl.Series:
    return series


# What a column of a role may be, null where a value is none of that.
_FORMS: dict[str, tuple[Callable[[pl.Series], pl.Series], ...]] = {
    "user": (_whole_numbers, _as_it_is),
    "item": (_whole_numbers, _as_it_is),
    "rating": (_numbers,),
    "time": (_whole_numbers, _numbers, _dates),
}
