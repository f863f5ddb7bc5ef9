"""Answers of the service as plain values, from a catalogue and the events it does not contain."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.vocabulary import Vocabulary
from ..errors import InputError, ParameterError, UnknownIdError
from .catalogue import Catalogue, finite, json_id
from .events import Change, EventStore, StoreError
from .history import History
from .schemas import Event, Query

_INT64 = 1 << 63
# Weights of a history take time that grows with its square: a second with the kernel ranker.
_MOST_WORK = 10_000_000


def recommend_batch(
    catalogue: Catalogue, store: EventStore, queries: Sequence[Query]
) -> dict[str, Any]:
    """Return the answers to all queries; raise the first error, or if they are too much work."""
    results = recommend_together(catalogue, store, queries, _MOST_WORK)
    for each in results:
        if isinstance(each, Exception):
            raise each
        del each["model"]
    return {"results": results}


def recommend_together(
    catalogue: Catalogue, store: EventStore, queries: Sequence[Query], most_work: float = np.inf
) -> list[dict[str, Any] | Exception]:
    """Return an answer or an error for each query; rank those with the same options at once."""
    known: dict[str, list[Change]] | StoreError
    try:
        users = [query.user for query in queries if "user" in query.model_fields_set]
        known = _changes(catalogue, store, users)
    except StoreError as error:
        known = error
    out: list[dict[str, Any] | Exception] = []
    groups: dict[Any, list[tuple[int, History]]] = {}
    for at, query in enumerate(queries):
        try:
            answer, history = _prepared(catalogue, query, known)
        except (UnknownIdError, StoreError) as error:
            out.append(error)
            continue
        out.append(answer)
        candidates = None if query.candidates is None else tuple(query.candidates)
        shown = query.n, tuple(query.exclude), candidates, query.exclude_seen
        options = *shown, query.where, tuple(query.per.items()), query.diversity
        # Profiles have no times, and are not weighted by recency.
        groups.setdefault((*options, history.times is None), []).append((at, history))
    work = sum(len(own.items) ** 2 for members in groups.values() for _, own in members)
    if work > most_work and len(queries) > 1:
        raise InputError(
            "the histories of these queries are too long for one batch",
            hint=f"the squares of their lengths sum to {work:,}; send at most {most_work:,}",
        )
    for members in groups.values():
        first = queries[members[0][0]]
        try:
            picked = {"where": first.where, "per": first.per, "diversity": first.diversity}
            selection = catalogue.selection(first.exclude, first.candidates, **picked)
            own = [history for _, history in members]
            lists = catalogue.best(own, first.n, selection, first.exclude_seen)
        except (InputError, ParameterError) as error:
            for at, _ in members:
                out[at] = error
            continue
        for (at, history), (items, scores) in zip(members, lists, strict=True):
            pairs = zip(items, scores, strict=True)
            entries = [{**catalogue.named(k), "score": finite(score)} for k, score in pairs]
            try:
                if queries[at].reasons and len(history.items):
                    reasons = catalogue.reasons(history, items, queries[at].reasons)
                    for entry, more in zip(entries, reasons, strict=True):
                        entry.update(more)
                out[at] |= {"items": entries}  # type: ignore[operator]  # an answer
            except ParameterError as error:
                out[at] = error
    return out


def _prepared(
    catalogue: Catalogue, query: Query, changes: dict[str, list[Change]] | StoreError
) -> tuple[dict[str, Any], History]:
    """Return an answer without its items, and the history to rank for."""
    data, user = catalogue.data, None
    if "user" in query.model_fields_set:
        if isinstance(changes, StoreError):
            raise changes
        key = data.users.parsed(str(query.user))
        user, own = json_id(key), changes.get(str(key), [])
        if query.strict and not own and key not in data.users:
            raise UnknownIdError("there is no such user", hint="leave strict out for popular items")
        history, unknown = catalogue.history(key, own)
        ignored: list[Any] = list(unknown)
    else:
        found = catalogue.find(data.items, query.items)
        ignored = [each for each, at in zip(query.items, found.tolist(), strict=True) if at < 0]
        history = History(np.unique(found[found >= 0]).astype(np.int32))
    if query.strict:
        rest = [*query.exclude, *(query.candidates or ())]
        if rest:
            found = catalogue.find(data.items, rest)
            ignored += [each for each, at in zip(rest, found.tolist(), strict=True) if at < 0]
        if ignored:
            more = f", nor {len(ignored) - 1} others" if len(ignored) > 1 else ""
            raise UnknownIdError(
                f"there is no item {ignored[0]!r}{more}", hint="leave them out, or leave strict out"
            )
    empty = not len(history.items)
    return {
        "model": catalogue.hash,
        "user": user,
        "popular": empty,
        "items": [],
        "unknown": ignored,
    }, history


def _changes(
    catalogue: Catalogue, store: EventStore, users: Sequence[Any]
) -> dict[str, list[Change]]:
    names = [str(catalogue.data.users.parsed(str(user))) for user in users]
    return store.of_users(names, catalogue.sequence) if names else {}


def explain(
    catalogue: Catalogue, store: EventStore, user: str, item: str, n: int
) -> dict[str, Any]:
    """Return what each item of a user adds to the score of an item."""
    number = catalogue.number(item)
    key = catalogue.data.users.parsed(user)
    own = _changes(catalogue, store, [key]).get(str(key), [])
    if not own and key not in catalogue.data.users:
        raise UnknownIdError("there is no such user", hint="GET /v1/users?q= finds users")
    history, _ = catalogue.history(key, own)
    answer = {"user": json_id(key), **catalogue.named(number)}
    if not len(history.items):
        users = float(catalogue.model.fitted.users_of_items[number])
        return {**answer, "popular": True, "score": users, "reasons": [], "rest": 0.0}
    (reasons,) = catalogue.reasons(history, [number], n)
    return {**answer, "popular": False, "score": catalogue.score(history, number), **reasons}


def describe_user(catalogue: Catalogue, store: EventStore, user: str, n: int) -> dict[str, Any]:
    """Return the history of a user."""
    key = catalogue.data.users.parsed(user)
    own = _changes(catalogue, store, [key]).get(str(key), [])
    history, unknown = catalogue.history(key, own)
    known = key in catalogue.data.users
    items = [catalogue.named(k) for k in history.items[:n].tolist()]
    return {
        "user": json_id(key),
        "known": bool(known or own),
        "total": len(history.items),
        "items": items,
        "events": len(own),
        "unknown": unknown,
    }


def store_events(
    catalogue: Catalogue, store: EventStore, events: Sequence[Event]
) -> dict[str, Any]:
    """Make events durable; ids get the type of the model's ids."""
    data, now = catalogue.data, time.time()
    rows = [
        (
            event.id or str(uuid.uuid4()),
            _checked(data.users, event.user, at),
            _checked(data.items, event.item, at),
            event.action,
            now if event.time is None else event.time,
        )
        for at, event in enumerate(events)
    ]
    stored, last = store.add(rows)
    items = list(dict.fromkeys(row[2] for row in rows))
    found = catalogue.find(data.items, items).tolist()
    unknown = [each for each, at in zip(items, found, strict=True) if at < 0]
    return {
        "model": catalogue.hash,
        "stored": stored,
        "duplicates": len(rows) - stored,
        "sequence": last,
        "unknown": unknown,
    }


def _checked(names: Vocabulary, given: Any, at: int) -> str:
    """Return an id as text; raise if it has another type than those of the model."""
    key = names.parsed(str(given))
    whole = names.ids.dtype.kind == "i"
    if len(names) and (type(key) is not type(names[0]) or (whole and not -_INT64 <= key < _INT64)):
        raise InputError(
            f"the {names.kind} of event {at} has another type than the {names.kind}s of the model",
            hint=f"{names.kind}s are of type {type(names[0]).__name__}",
        )
    return str(key)


def to_json(content: Any) -> bytes:
    """Return a value as compact JSON."""
    return json.dumps(content, separators=(",", ":")).encode()
