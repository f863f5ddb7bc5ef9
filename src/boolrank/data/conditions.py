"""Conditions on events: on ratings, on times, and on the number of events of user and item."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import partial
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..checks import known_name, whole
from ..errors import InputError, ParameterError, ParameterTypeError
from ..table import counted

if TYPE_CHECKING:
    from .events import Events

# Texts of a missing value, as pandas, R, SQL and spreadsheets write it.
MISSING = ("", "NaN", "nan", "NaT", "NA", "N/A", "n/a", "<NA>", "#N/A", "null", "NULL", "None")
COMPARISONS = {">=": ge, "<=": le, "==": eq, "=": eq, "!=": ne, "<>": ne, ">": gt, "<": lt}
BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y"), True),
    **dict.fromkeys(("false", "f", "no", "n"), False),
}
_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800}
_COLUMNS = ("user", "item", "time", "rating", "positive")
_DROPPED = {"since": "before", "until": "not before", "last": "before the last"}


class Condition(NamedTuple):
    """A condition on ratings, such as ``>= 4`` or ``= good``."""

    text: str
    sign: str
    value: float | str

    @staticmethod
    def parse(text: Any) -> Condition:
        """Parse a condition.

        >>> Condition.parse(">= 3.5").value
        3.5
        >>> Condition.parse("= good")
        Condition(text='= good', sign='=', value='good')
        """
        match = re.fullmatch(r"(>=|<=|==|=|!=|>|<)\s*(\w.*|[-+.]\d.*)", str(text).strip())
        if match is not None:
            if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)", match[2]):
                return Condition(match[0], match[1], float(match[2]))
            if COMPARISONS[match[1]] in (eq, ne):
                return Condition(match[0], match[1], match[2])
        raise ParameterError(
            f"positive is a comparison with a number, or with = and a text, not {text!r}",
            hint="write it as '>= 4', or for text as '= good'",
            parameter="positive",
        )

    def __call__(self, ratings: Any) -> Any:
        """Return the expression that is true where it holds, and null without a rating."""
        return COMPARISONS[self.sign](ratings, self.value)


def parse_date(text: str) -> datetime:
    """Return a date in ISO format, in UTC unless it has a zone; raise `ValueError`."""
    when = datetime.fromisoformat(text)
    return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)


class EventFilters(TypedDict, total=False):
    """Which events count.

    ``min_count`` : minimum number of events of a user with an item, in the chosen period
    ``since``, ``until`` : start (included) and end (excluded) of the period: a date such as
    2026-01-31, with or without a clock time
    ``last`` : length of the period up to the newest event, such as 90d, 2w or 12h
    """

    min_count: int | None
    since: str | None
    until: str | None
    last: str | None


def parse_filters(filters: EventFilters) -> dict[str, Any]:
    """Return filters as numbers and datetimes, in the order in which they apply; raise early."""
    given: dict[str, Any] = {name: v for name, v in filters.items() if v is not None}
    for name in given:
        names = *_COLUMNS, *EventFilters.__annotations__
        known_name(name, names, f"there is no parameter {name!r}", error=ParameterTypeError)
    parsers: dict[str, Any] = {"since": _moment, "until": _moment, "last": _span}
    parsers |= {"min_count": partial(whole, "", low=1)}
    return {name: parse(name, given[name]) for name, parse in parsers.items() if name in given}


def _moment(name: str, value: Any) -> datetime:
    try:
        return parse_date(str(value))
    except (ValueError, OverflowError):
        problem = f"{name} is a date such as 2026-01-31, not {str(value)!r}"
        raise ParameterError(problem, parameter=name) from None


def _span(name: str, value: Any) -> int:
    match = re.fullmatch(r"([1-9]\d{0,4})([hdw])", str(value).strip())
    if match is None:
        problem = f"{name} is a time such as 90d, 2w or 12h, not {value!r}"
        raise ParameterError(problem, parameter=name)
    return int(match[1]) * _SECONDS[match[2]]


def filtered(events: Events, filters: EventFilters) -> Events:
    """Return the events that count; users and items may be left without events."""
    given = parse_filters(filters)
    for name in given.keys() - {"min_count"}:
        if events.time is None:
            hint = "name a column of times"
            raise InputError(f"{name} needs the times of events", hint=hint, parameter=name)
        events = _chosen(events, np.isfinite(events.time), "without time")
    for name, value in given.items():
        if not len(events.rows):
            break
        if name == "min_count":
            keys = events.rows * len(events.items) + events.columns
            _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
            why = f"of a user with an item fewer than {counted(value, 'time')}"
            events = _chosen(events, counts[places] >= value, why)
        else:
            time: NDArray[Any] = np.asarray(events.time)
            edge = _edge(name, value, time)
            why = f"{_DROPPED[name]} {filters[name]}"  # type: ignore[literal-required]
            events = _chosen(events, time < edge if name == "until" else time >= edge, why)
    return events


def _edge(name: str, value: Any, time: NDArray[Any]) -> Any:
    """Return the start or the end of a period, in the type and unit of the times of events."""
    are_dates = time.dtype.kind == "M"
    units = 1 if are_dates else _per_second(time, name)
    if name == "last":
        return time.max() - (np.timedelta64(value, "s") if are_dates else value * units)
    if are_dates:
        return np.datetime64(value.replace(tzinfo=None), "us")
    return value.timestamp() * units


def units_per_second(times: NDArray[Any]) -> int:
    """Return 1 for seconds, 1000 for milliseconds and so on: no time is after the year 5000.

    >>> units_per_second(np.array([1.6e9])), units_per_second(np.array([1.6e12]))
    (1, 1000)
    """
    largest, units = float(times.max(initial=0)), 1
    while largest >= 1e11 * units:
        units *= 1000
    return units


def _per_second(time: NDArray[Any], name: str) -> int:
    """Return the units in a second; raise unless times are from 1973 to 2128."""
    low, high, units = float(time.min()), float(time.max()), units_per_second(time)
    if low < 1e8 * units or high > 5e9 * units or units > 1_000_000:
        raise InputError(
            f"times are numbers from {low:g} to {high:g}, which are not seconds since 1970",
            hint="use a column of dates",
            parameter=name,
        )
    return units


def _chosen(events: Events, keep: NDArray[np.bool_], why: str) -> Events:
    """Return the events where a mask is True; count the others."""
    if keep.all():
        return events
    events.reading.drop(why, int((~keep).sum()))
    time = None if events.time is None else events.time[keep]
    return events._replace(rows=events.rows[keep], columns=events.columns[keep], time=time)
