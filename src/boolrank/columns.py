"""Columns of a table of events: which is whose, and their values as ids, times and ratings."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, ParameterError
from .vocabulary import Vocabulary

__all__ = ["USUAL_NAMES", "checked_times", "encoded", "find_columns", "parse_threshold", "times"]

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
