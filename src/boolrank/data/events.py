"""Events in frames: the columns of users, items, times and ratings, and their content."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterError, ParameterTypeError
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

# users, items, the row and column number of each event, and its time
Events = tuple[Vocabulary, Vocabulary, NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]

# Usual names of columns, in lower case; the first that a table has is taken.
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

_COMPARISONS = {">=": ge, "<=": le, "==": eq, "!=": ne, ">": gt, "<": lt}


def read_frame(
    frame: IntoFrame,
    given: Mapping[str, str | None],
    positive: str | None = None,
    place: Callable[[str], str] = lambda _: "",
) -> Events:
    """Return the events of a pandas, polars or pyarrow frame; see `Interactions.from_frame`.

    ``place`` tells for a column where its first missing value is.
    """
    import narwhals as nw

    try:
        table: Any = nw.from_native(frame, eager_only=False)
    except TypeError:
        raise ParameterTypeError(
            f"events are a pandas, polars or pyarrow frame, not {type(frame).__name__}",
            hint="make a frame of them, or use Interactions.from_pairs",
        ) from None
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    columns = find_columns(list(table.columns), positive, **given)
    if positive is not None:
        table = _filter(table, str(columns["rating"]), positive)
    for name in (columns["user"], columns["item"]):
        missing = table[name].null_count()
        if missing:
            raise InputError(
                f"{missing} rows have nothing in the column {name!r}{place(str(name))}",
                hint="fill it in, or drop these rows",
            )
    users, rows = _encode(table[columns["user"]], "user")
    items, numbers = _encode(table[columns["item"]], "item")
    when = None if columns["time"] is None else _times(table[columns["time"]])
    if when is None and given["time"] is not None:
        raise InputError(
            f"the column {given['time']!r} has neither numbers nor dates, so it is not a time",
            hint="name another column",
            parameter="time",
        )
    return users, items, rows, numbers, when


def find_columns(
    names: Sequence[str], positive: str | None = None, **given: str | None
) -> dict[str, str | None]:
    """Return the column of each role: the given one, or the first with a usual name.

    Raise if the user, the item, or the rating that ``positive`` needs is not found.

    >>> find_columns(["userId", "movieId", "stars"], user=None, item="movieId", rating=None)
    {'user': 'userId', 'item': 'movieId', 'rating': 'stars'}
    """
    by_lower = {name.strip().lower(): name for name in reversed(names)}
    found = dict(given)
    for role, name in given.items():
        if name is None:
            found[role] = next((by_lower[n] for n in USUAL_NAMES[role] if n in by_lower), None)
        elif name not in names:
            raise InputError(
                f"there is no column {name!r} for the {role}",
                hint=f"there are {list(names)}",
                parameter=role,
            )
    needed = ("user", "item") if positive is None else ("user", "item", "rating")
    missing = [role for role in needed if found[role] is None]
    if missing:
        to_name = " and ".join(f"{role}=..." for role in missing)
        raise InputError(
            f"no column looks like the {' or the '.join(missing)}",
            hint=f"name {'it' if len(missing) == 1 else 'them'} with {to_name}, of {list(names)}",
            parameter=missing[0],
        )
    if found["user"] == found["item"]:
        raise InputError(
            f"user and item are the same column, {found['user']!r}", hint="name two columns"
        )
    return found


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


def _filter(table: Any, name: str, positive: str) -> Any:
    """Return the rows of a narwhals frame whose rating passes a threshold such as ``">= 4"``."""
    import narwhals as nw

    match = re.fullmatch(r"\s*(>=|<=|==|!=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+))\s*", positive)
    if match is None:
        raise ParameterError(
            f"positive is a comparison with a number, not {positive!r}",
            hint="write it as '>= 4'",
            parameter="positive",
        )
    ratings = table[name]
    if not ratings.dtype.is_numeric():
        raise InputError(
            f"the ratings in {name!r} are not numbers but {ratings.dtype}",
            hint="name another column",
            parameter="rating",
        )
    chosen = table.filter(_COMPARISONS[match[1]](nw.col(name), float(match[2])))
    if len(table) and not len(chosen):
        raise InputError(
            f"no rating is {positive.strip()}: those in {name!r} are {ratings.min()} to "
            f"{ratings.max()}",
            hint="compare with a number in this range",
            parameter="positive",
        )
    return chosen


def _times(series: Any) -> NDArray[Any] | None:
    """Return a narwhals column as numbers or datetimes in UTC; None if it is neither."""
    import narwhals as nw

    if series.dtype.is_numeric():
        return np.asarray(series.to_numpy())
    if not series.dtype.is_temporal() or series.dtype in (nw.Duration, nw.Time):
        return None
    if series.dtype == nw.Date:
        return np.asarray(series.cast(nw.Datetime("us")).to_numpy()).astype("datetime64[D]")
    if series.dtype.time_zone is not None:
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
        text = series.to_native().cast(pl.String)
        ids = text.unique().sort()
        numbers = text.cast(pl.Enum(ids)).to_physical().to_numpy()
        return Vocabulary(np.array(ids.to_list(), object), kind), numbers.astype(np.int64)
    return Vocabulary.of(series.to_numpy(), kind)
