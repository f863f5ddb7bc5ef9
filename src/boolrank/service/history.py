"""Histories of users, changed by events in the order of the log; and refreshes of the model.

A refresh updates a saved model with the events that it does not contain; the result equals a fit
on all events. The folder is replaced in one step; a process that is killed leaves the old model or
the new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.conditions import units_per_second
from ..data.interactions import Interactions
from ..models import Recommender, model_info
from ..models.model_folder import updating
from .events import Change, EventStore

Pair = tuple[Any, Any, Any]  # user, item and time


class History(NamedTuple):
    """Numbers of somebody's items, ascending, and their times if the model uses them.

    ``new`` has the items that the model does not know, with their times.
    """

    items: NDArray[np.int32]
    times: NDArray[Any] | None = None
    new: Mapping[Any, Any] = MappingProxyType({})

    def pairs(self, data: Interactions) -> dict[Any, Any]:
        """Return the time of each item by id; 0 where times do not count."""
        times = [0] * len(self.items) if self.times is None else self.times
        ids = data.items.names(self.items).tolist()
        return {**dict(zip(ids, times, strict=True)), **self.new}


def history_of(
    data: Interactions, user: Any, changes: Sequence[Change], timed: bool = False
) -> History:
    """Return the history of a user after changes; without any, that in the model.

    An item that is added again keeps its earlier time. Applying the same changes again changes
    nothing.

    >>> data = Interactions.from_pairs(["ann"], ["tea"], [5])
    >>> changes = [Change("jam", True, 9.0), Change("tea", False, 9.0)]
    >>> history_of(data, "ann", changes, timed=True).pairs(data)
    {'jam': np.int64(9)}
    """
    number = int(data.users.find([user])[0])
    part = slice(0, 0) if number < 0 else slice(*data.indptr[number : number + 2].tolist())
    items, times = data.indices[part], data.time[part] if timed and data.time is not None else None
    if not changes:
        return History(items, times)
    held = dict(zip(items.tolist(), [0] * len(items) if times is None else times, strict=True))
    new: dict[Any, Any] = {}
    ids = [data.items.parsed(change.item) for change in changes]
    for change, name, place in zip(changes, ids, data.items.find(ids).tolist(), strict=True):
        after, key = (new, name) if place < 0 else (held, place)
        if change.adds:
            when = 0 if times is None else event_time(change.time, data.time)
            after[key] = min(after.get(key, when), when)
        else:
            after.pop(key, None)
    order = sorted(held)
    kept = None if times is None else np.array([held[k] for k in order], times.dtype)
    return History(np.array(order, np.int32), kept, new)


def event_time(seconds: float, times: Any) -> Any:
    """Return the time of an event in the type and the unit of a model's times.

    >>> event_time(1.7e9, np.array([1_600_000_000_000]))
    np.int64(1700000000000)
    """
    if times.dtype.kind == "M":
        return np.datetime64(round(seconds * 1e6), "us").astype(times.dtype)
    return times.dtype.type(seconds * units_per_second(times[:1000]))


def refresh(folder: str | Path, store: EventStore) -> dict[str, Any]:
    """Update a model folder; return its hash, the one before, and the number of changed pairs."""
    start, changed, folder = time.monotonic(), 0, Path(folder).resolve()
    with updating(folder) as model:
        before = model_info(folder)["hash"]
        first, last = store.contained(model.fitted.last_event), store.last()
        if first < last[0]:
            changed = apply_changes(model, store.since(first, last[0]))
            model.restore(replace(model.fitted, last_event=last))
    now, seconds = model_info(folder)["hash"], time.monotonic() - start
    return {"model": now, "previous": before, "changed": changed, "seconds": round(seconds, 3)}


def apply_changes(model: Recommender, changes: dict[str, list[Change]]) -> int:
    """Update a model with the changes of users; return the number of pairs that changed."""
    data, timed = model.interactions, bool(model.fitted.params.get("recency"))
    added, removed = list[Pair](), list[Pair]()
    for text, events in changes.items():
        user = data.users.parsed(text)
        before, after = (history_of(data, user, some, timed).pairs(data) for some in ((), events))
        removed += [(user, *pair) for pair in before.items() - after.items()]
        added += [(user, *pair) for pair in after.items() - before.items()]
    if added or removed:
        new, old = (_interactions(pairs, timed) for pairs in (added, removed))
        model.refit(data.updated(removed=old).updated(new))  # some may only get another time
    return len({pair[:2] for pair in added + removed})


def _interactions(pairs: list[Pair], timed: bool) -> Interactions | None:
    if not pairs:
        return None
    users, items, times = zip(*sorted(pairs, key=lambda pair: pair[:2]), strict=True)
    return Interactions.from_pairs(users, items, list(times) if timed else None)


def refresher(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Refresh in a separate process, which returns its memory: see `engines.worker`."""
    store = EventStore(about["events"])
    return lambda _: refresh(about["folder"], store)
