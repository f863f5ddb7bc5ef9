"""Histories of users after events: items in the model, changed in the order of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..models.recency import units_per_second
from .events import Change


class History(NamedTuple):
    """Numbers of somebody's items, ascending, and their times if the model uses them."""

    items: NDArray[np.int32]
    times: NDArray[Any] | None = None


def known_history(data: Interactions, user: Any, timed: bool) -> History:
    """Return the history of a user in the data; an empty one for others."""
    number = int(data.users.find([user])[0])
    part = slice(0, 0) if number < 0 else slice(*data.indptr[number : number + 2].tolist())
    return History(data.indices[part], data.time[part] if timed and data.time is not None else None)


def changed_history(
    data: Interactions, user: Any, changes: Sequence[Change], timed: bool
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the time of each item of a user before and after changes; 0 where times do not count.

    An item that is added again keeps its earlier time. Applying the same changes again changes
    nothing.

    >>> data = Interactions.from_pairs(["ann"], ["tea"], [5])
    >>> changes = [Change("jam", True, 9.0), Change("tea", False, 9.0)]
    >>> changed_history(data, "ann", changes, timed=True)
    ({'tea': np.int64(5)}, {'jam': np.int64(9)})
    """
    known = known_history(data, user, timed)
    items = [data.items[k] for k in known.items.tolist()]
    times = [0] * len(items) if known.times is None else known.times
    before = dict(zip(items, times, strict=True))
    after = dict(before)
    for change in changes:
        item = data.items.parsed(change.item)
        if not change.adds:
            after.pop(item, None)
            continue
        when = 0 if known.times is None else event_time(change.time, data.time)
        after[item] = min(after[item], when) if item in after else when
    return before, after


def event_time(seconds: float, times: Any) -> Any:
    """Return the time of an event in the type and the unit of a model's times.

    >>> event_time(1.7e9, np.array([1_600_000_000_000]))
    np.int64(1700000000000)
    """
    if times.dtype.kind == "M":
        return np.datetime64(round(seconds * 1e6), "us").astype(times.dtype)
    return times.dtype.type(seconds * units_per_second(times[:1000]))
