"""Refreshes: a saved model is updated with the events that it does not contain.

The result equals a fit on all events. The folder is replaced in one step; a process that is killed
leaves the old model or the new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.interactions import Interactions
from ..models import Recommender, model_info
from ..models.model_folder import updating
from .events import Change, EventStore
from .history import history_of

Pair = tuple[Any, Any, Any]  # user, item and time


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
