"""Refreshes: a saved model is updated with the events that it does not contain.

The result equals a fit on all events. The folder is replaced in one step; a process that is killed
leaves the old model or the new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ..data.interactions import Interactions
from ..errors import BoolrankError
from ..models import Recommender, load_model, model_info
from ..models.model_folder import save_model
from ..storage.folder import locked
from .catalogue import changed_history
from .events import Change, EventStore

Pair = tuple[Any, Any, Any]  # user, item and time


def refresh(folder: str | Path, store: EventStore) -> dict[str, Any]:
    """Update a model folder; return its hash, the one before, and the number of changed pairs."""
    start, folder = time.monotonic(), Path(folder).resolve()
    with locked(folder.parent):  # the folder itself is locked while it is written
        before = now = model_info(folder)["hash"]
        first, last = store.contained(before), store.last()
        changed = 0
        if first < last:
            model = load_model(folder)
            changed = apply_changes(model, store.since(first, last))
            if changed:
                save_model(model, folder, instead_of=before)  # never over a newer fit
                now = model_info(folder)["hash"]
            store.record(now, last)
    seconds = time.monotonic() - start
    return {"model": now, "previous": before, "changed": changed, "seconds": round(seconds, 3)}


def apply_changes(model: Recommender, changes: dict[str, list[Change]]) -> int:
    """Update a model with the changes of users; return the number of pairs that are others."""
    data = model.interactions
    timed = data.time if model.fitted.params.get("recency") else None
    added, removed = list[Pair](), list[Pair]()
    for text, events in changes.items():
        user = data.users.parsed(text)
        number = int(data.users.find([user])[0])
        part = slice(0, 0) if number < 0 else slice(*data.indptr[number : number + 2].tolist())
        items = [data.items[k] for k in data.indices[part].tolist()]
        held = (
            dict.fromkeys(items, 0) if timed is None else dict(zip(items, timed[part], strict=True))
        )
        known = ((data.items.parsed(event.item), event) for event in events)
        after = changed_history(held, known, timed)
        for item in held.keys() | after.keys():
            if item not in after or (item in held and after[item] != held[item]):
                removed.append((user, item, held[item]))
            if item in after and (item not in held or after[item] != held[item]):
                added.append((user, item, after[item]))
    again = {pair[:2] for pair in removed} & {pair[:2] for pair in added}
    if again:  # an update adds before it removes
        model.update(removed=_interactions(removed, timed))
        model.update(added=_interactions(added, timed))
    elif added or removed:
        model.update(
            _interactions(added, timed) if added else None,
            _interactions(removed, timed) if removed else None,
        )
    return len(added) + len(removed) - len(again)


def _interactions(pairs: Iterable[Pair], timed: Any) -> Interactions:
    users, items, times = zip(*sorted(pairs, key=lambda pair: pair[:2]), strict=True)
    return Interactions.from_pairs(users, items, None if timed is None else list(times))


def answer_refreshes(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Refresh in a process of its own, so that its memory is returned: see `engines.worker`."""
    store = EventStore(about["events"])

    def answer(_: dict[str, Any]) -> dict[str, Any]:
        try:
            return refresh(about["folder"], store)
        except BoolrankError as error:
            return {"error": str(error), "cause": repr(error.__cause__)}

    return answer
