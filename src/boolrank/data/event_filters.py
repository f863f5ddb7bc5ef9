"""Filters of events: by their time, and by how often a user and an item occur together."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..checks import whole
from ..errors import InputError, ParameterError
from .events import Events

_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800}
# Whole numbers from the first to the second are Unix times (1973 to 5138) of so many per second.
_UNIX = ((1e8, 1e11, 1), (1e11, 1e14, 1_000), (1e14, 1e17, 1_000_000))


class EventFilters(TypedDict, total=False):
    """Which events count.

    ``min_count`` : events of a user with an item, in the chosen time, for a pair to count
    ``since``, ``until`` : the first time that counts, and the first after it that does not: a date
    such as 2026-01-31, with or without a clock time, or a number if times are numbers
    ``last`` : the time before the newest event, such as 90d, 2w or 12h
    """

    min_count: int | None
    since: str | None
    until: str | None
    last: str | None


def filtered(events: Events, filters: EventFilters) -> Events:
    """Return the events that count, and the users and items that occur in them."""
    given = {name: value for name, value in filters.items() if value is not None}
    unknown = given.keys() - EventFilters.__annotations__.keys()
    if unknown:
        raise TypeError(f"there is no filter {min(unknown)!r}")
    for name in ("since", "until", "last"):
        if name in given:
            events = _within(events, name, str(given[name]))
    least = whole("", "min_count", given.get("min_count", 1), 1)
    if least > 1:
        keys = events.rows * len(events.items) + events.columns
        _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
        why = f"of a user with an item fewer than {least} times"
        events = _chosen(events, counts[places] >= least, why, "min_count")
    return events


def _within(events: Events, name: str, value: str) -> Events:
    """Return the events in the time that one option allows."""
    time = events.time
    if time is None:
        raise InputError(
            f"{name} needs the times of events",
            hint="name their column with time=...",
            parameter=name,
        )
    timeless = ~np.isfinite(time)
    if timeless.any():
        return _within(_chosen(events, ~timeless, "without time", name), name, value)
    if name == "until":
        return _chosen(events, time < _moment(time, name, value), f"not before {value}", name)
    if name == "since":
        return _chosen(events, time >= _moment(time, name, value), f"before {value}", name)
    newest = time.max()
    return _chosen(events, time >= newest - _span(time, value), f"before the last {value}", name)


def _chosen(events: Events, keep: NDArray[np.bool_], why: str, name: str) -> Events:
    """Return the events where a mask is True; count the others."""
    if keep.all():
        return events
    if not keep.any():
        time = events.time
        range_ = (
            "" if time is None or not len(time) else f"; times are {time.min()} to {time.max()}"
        )
        raise InputError(
            f"no event is left: all {len(keep):,} are {why}{range_}",
            hint=f"change or leave out {name}=...",
            parameter=name,
        )
    events.reading.drop(why, int((~keep).sum()))
    sides = []
    for vocabulary, numbers in ((events.users, events.rows), (events.items, events.columns)):
        occurs = np.bincount(numbers[keep], minlength=len(vocabulary)) > 0
        sides.append((vocabulary.chosen(occurs), (np.cumsum(occurs) - 1)[numbers[keep]]))
    (users, rows), (items, columns) = sides
    time = None if events.time is None else events.time[keep]
    return Events(users, items, rows, columns, time, events.reading)


def _moment(time: NDArray[Any], name: str, value: str) -> Any:
    """Return a date or a number as the times are."""
    is_number = re.fullmatch(r"[-+]?\d+(\.\d+)?", value)
    if is_number and time.dtype.kind != "M":
        return float(value)
    try:
        when = datetime.fromisoformat(value)
    except ValueError:
        when = None
    if when is None or is_number:
        example = "a date such as 2026-01-31" if time.dtype.kind == "M" else "a date or a number"
        raise ParameterError(f"{name} is {example}, not {value!r}", parameter=name)
    when = when.astimezone(UTC).replace(tzinfo=None) if when.tzinfo else when
    if time.dtype.kind == "M":
        return np.datetime64(when, "us")
    return when.replace(tzinfo=UTC).timestamp() * _per_second(time, name)


def _span(time: NDArray[Any], value: str) -> Any:
    match = re.fullmatch(r"(\d+)([hdw])", value.strip())
    if match is None:
        raise ParameterError(
            f"last is a time such as 90d, 2w or 12h, not {value!r}", parameter="last"
        )
    seconds = int(match[1]) * _SECONDS[match[2]]
    is_date = time.dtype.kind == "M"
    return np.timedelta64(seconds, "s") if is_date else seconds * _per_second(time, "last")


def _per_second(time: NDArray[Any], name: str) -> int:
    """Return the units in a second of Unix times."""
    low, high = float(time.min()), float(time.max())
    for first, last, units in _UNIX:
        if first <= low and high < last:
            return units
    raise InputError(
        f"times are numbers from {low:g} to {high:g}, which are not seconds since 1970",
        hint="use since=... and until=... with such numbers, or a column of dates",
        parameter=name,
    )
