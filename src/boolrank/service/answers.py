"""Answers of the service as plain values, from a catalogue and the events it does not contain."""

from __future__ import annotations

import json
import re
import time
import uuid
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import Any

import numpy as np

from ..data.vocabulary import Vocabulary
from ..errors import InputError, ParameterError, UnknownIdError
from ..table import counted
from .catalogue import Catalogue, finite, folded, json_id
from .events import Change, EventStore
from .history import History
from .problems import StoreError
from .schemas import Event, Query

_INT64 = 1 << 63
# Weights of a history take time that grows with its square: a second with the kernel ranker.
_MOST_WORK = 10_000_000


def recommend_batch(catalogue: Catalogue, queries: Sequence[Query]) -> dict[str, Any]:
    """Return the answers to all queries; raise the first error, or if they are too much work."""
    results = recommend_together(catalogue, queries, _MOST_WORK)
    for each in results:
        if isinstance(each, Exception):
            raise each
        del each["model"]
    return {"results": results}


def recommend_together(
    catalogue: Catalogue, queries: Sequence[Query], most_work: float = np.inf
) -> list[Any]:
    """Return an answer or an error for each query; rank those with the same options at once."""
    changes: dict[str, list[Change]] | StoreError
    users = [query.user for query in queries if "user" in query.model_fields_set]
    try:
        changes = catalogue.changes(users)
    except StoreError as error:
        changes = error
    out: list[Any] = []
    groups: dict[Any, list[tuple[int, History]]] = {}
    work = 0
    for at, query in enumerate(queries):
        try:
            answer, history = _prepared(catalogue, query, changes)
        except (UnknownIdError, StoreError) as error:
            out.append(error)
            continue
        out.append(answer)
        work += len(history.items) ** 2
        options = query.model_dump_json(exclude={"user", "items", "reasons", "strict"})
        # Profiles have no times; an error of reasons is that of queries with reasons alone.
        kind = history.times is None, bool(query.reasons and len(history.items))
        groups.setdefault((options, *kind), []).append((at, history))
    if work > most_work and len(queries) > 1:
        raise InputError(
            "the histories of these queries are too long for one batch",
            hint=f"the squares of their lengths sum to {work:,}; send at most {most_work:,}",
        )
    for members in groups.values():
        first = queries[members[0][0]]
        try:
            limits = {"where": first.where, "per": first.per, "diversity": first.diversity}
            selection = catalogue.selection(first.exclude, first.candidates, **limits)
            histories = [history for _, history in members]
            lists = catalogue.best(histories, first.n, selection, first.exclude_seen)
            for (at, history), (items, scores) in zip(members, lists, strict=True):
                pairs, count = zip(items, scores, strict=True), queries[at].reasons
                entries = [{**catalogue.named(k), "score": finite(score)} for k, score in pairs]
                if count and len(history.items):
                    parts = catalogue.reasons(history, items, count)
                    entries = [a | b for a, b in zip(entries, parts, strict=True)]
                out[at]["items"] = entries
        except (InputError, ParameterError) as error:
            for at, _ in members:
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
        history = catalogue.history(key, own)
        ignored: list[Any] = sorted(map(str, history.new))
    else:
        found, ignored = catalogue.find(data.items, query.items), []
        history = History(np.unique(found[found >= 0]).astype(np.int32))
    ignored += catalogue.unknown([*query.items, *query.exclude, *(query.candidates or ())])
    if query.strict and ignored:
        more = f", nor {counted(len(ignored) - 1, 'other')}" if len(ignored) > 1 else ""
        raise UnknownIdError(
            f"there is no item {ignored[0]!r}{more}", hint="leave them out, or leave strict out"
        )
    answer = {"model": catalogue.hash, "user": user, "popular": not len(history.items)}
    return {**answer, "items": [], "unknown": ignored}, history


def similar(catalogue: Catalogue, item: str, n: int, where: str | None) -> dict[str, Any]:
    """Return the items most similar to an item."""
    number = catalogue.number(item)
    if "similar" not in catalogue.abilities:
        raise ParameterError(
            "this model cannot compare items", hint="see abilities in GET /v1/model"
        )
    hidden = catalogue.selection(where=where).hidden
    found = catalogue.model.fitted.similar(np.array([number]), n, hidden)
    pairs = zip(*(each[0].tolist() for each in found), strict=True)
    entries = [{**catalogue.named(k), "similarity": finite(value)} for k, value in pairs if k >= 0]
    return {**catalogue.named(number), "items": entries}


def explanation(catalogue: Catalogue, user: str, item: str, n: int) -> dict[str, Any]:
    """Return what each item of a user adds to the score of an item."""
    number = catalogue.number(item)
    key, own, history = _user(catalogue, user)
    if not own and key not in catalogue.data.users:
        raise UnknownIdError("there is no such user", hint="GET /v1/users?q= finds users")
    answer = {"user": json_id(key), **catalogue.named(number)}
    if not len(history.items):
        users = float(catalogue.model.fitted.users_of_items[number])
        return {**answer, "popular": True, "score": users, "reasons": [], "rest": 0.0}
    (reasons,) = catalogue.reasons(history, [number], n)
    return {**answer, "popular": False, "score": catalogue.score(history, number), **reasons}


def popular(catalogue: Catalogue, n: int) -> dict[str, Any]:
    """Return the items with most users."""
    fitted = catalogue.model.fitted
    chosen, count = fitted.by_popularity[:n].tolist(), fitted.users_of_items
    return {"items": [{**catalogue.named(k), "score": int(count[k])} for k in chosen]}


def items(catalogue: Catalogue, q: str, n: int) -> dict[str, Any]:
    """Search titles and ids of items."""
    text, ends = catalogue.search_text
    wanted, count = folded(q), catalogue.model.fitted.users_of_items
    if not wanted:
        numbers, total = catalogue.model.fitted.by_popularity, len(ends)
    else:
        at = np.array([found.start() for found in re.finditer(re.escape(wanted), text)], int)
        found, first = np.unique(np.searchsorted(ends, at, side="right"), return_index=True)
        later = at[first] != np.append(0, ends)[found]  # not at the beginning of the title
        other = found != catalogue.find(catalogue.data.items, [q])  # than the item with this id
        numbers, total = found[np.lexsort((-count[found], later, other))], len(found)
    entries = [{**catalogue.named(k), "users": int(count[k])} for k in numbers[:n].tolist()]
    return {"total": total, "items": entries}


def users(catalogue: Catalogue, q: str, n: int) -> dict[str, Any]:
    """Search ids of users by their beginning."""
    names, lengths = catalogue.data.users, catalogue.data.rows.lengths
    in_order = isinstance(names[0], str)  # those with the same beginning stand together
    numbers = range(bisect_left(names.ids, q) if in_order else 0, len(names))
    matching = takewhile if in_order else filter
    found = islice(matching(lambda k: str(names[k]).startswith(q), numbers), n)
    return {"users": [{"user": json_id(names[k]), "items": int(lengths[k])} for k in found]}


def _user(catalogue: Catalogue, user: str) -> tuple[Any, list[Change], History]:
    key = catalogue.data.users.parsed(user)
    own = catalogue.changes([key]).get(str(key), [])
    return key, own, catalogue.history(key, own)


def one_user(catalogue: Catalogue, user: str, n: int) -> dict[str, Any]:
    """Return the history of a user."""
    key, own, history = _user(catalogue, user)
    return {
        "user": json_id(key),
        "known": bool(own) or key in catalogue.data.users,
        "total": len(history.items),
        "items": [catalogue.named(k) for k in history.items[:n].tolist()],
        "events": len(own),
        "unknown": sorted(map(str, history.new)),
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
    return {
        "model": catalogue.hash,
        "stored": stored,
        "duplicates": len(rows) - stored,
        "sequence": last,
        "unknown": catalogue.unknown([row[2] for row in rows]),
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
