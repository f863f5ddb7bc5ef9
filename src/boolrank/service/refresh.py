"""Refreshes: a saved model is updated with the events that it does not contain.

The result equals a fit on all events. The folder is replaced in one step; a process that is killed
leaves the old model or the new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..data.interactions import Interactions
from ..errors import InputError
from ..models import Recommender, load_model, model_info
from ..models.model_folder import save_model
from ..storage.folder import locked
from .events import Change, EventStore
from .history import history_of

Pair = tuple[Any, Any, Any]  # user, item and time


def refresh(folder: str | Path, store: EventStore) -> dict[str, Any]:
    """Update a model folder; return its hash, the one before, and the number of changed pairs."""
    start, folder = time.monotonic(), Path(folder).resolve()
    with locked(folder.parent):  # the folder itself is locked while it is written
        info = model_info(folder)
        before = now = info["hash"]
        first, last = store.contained(info["last_event"]), store.last()
        changed = 0
        if first < last[0]:
            model = load_model(folder)
            changed = apply_changes(model, store.since(first, last[0]))
            save_model(model, folder, instead_of=before, last_event=last)  # never over a newer fit
            now = model_info(folder)["hash"]
    seconds = time.monotonic() - start
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
    if len(removed) - len(added) == data.size:
        raise InputError("the events remove all interactions", hint="the model stays as it is")
    new, old = (_interactions(pairs, timed) for pairs in (added, removed))
    again = {pair[:2] for pair in removed} & {pair[:2] for pair in added}
    if again:  # with another time; an update adds before it removes
        model.update(removed=old)
        old = None
    if new or old:
        model.update(new, old)
    return len(added) + len(removed) - len(again)


def _interactions(pairs: list[Pair], timed: bool) -> Interactions | None:
    if not pairs:
        return None
    users, items, times = zip(*sorted(pairs, key=lambda pair: pair[:2]), strict=True)
    return Interactions.from_pairs(users, items, list(times) if timed else None)


def refresher(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Refresh in a separate process, which returns its memory: see `engines.worker`."""
    store = EventStore(about["events"])
    return lambda _: refresh(about["folder"], store)
