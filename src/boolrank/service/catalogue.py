"""A catalogue: one model, ready to answer. Immutable, so that it is swapped as a whole."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..data.items import ItemTable
from ..data.rows import Rows
from ..data.vocabulary import Vocabulary, plain_id
from ..engines.threads import threads
from ..errors import ModelFileError, ParameterError, UnknownIdError
from ..models import Recommender, load_model, model_info
from ..models.profiles import Profiles, recency_weights
from ..models.selection import Selection
from ..models.tag_columns import SharedTags
from ..table import plain_score
from .events import Change, EventStore
from .history import History, history_of
from .schemas import EXACT

_TRIES = 10


@dataclass(frozen=True, eq=False)
class Catalogue:
    """A loaded model, and the events that it does not contain."""

    model: Recommender
    table: ItemTable | None  # rows in the order of the items: titles, and columns of filters
    info: Mapping[str, Any]  # facts of the header
    store: EventStore | None
    sequence: int  # of the last event that the model contains
    n_threads: int  # of one call

    @classmethod
    def load(
        cls,
        folder: str | Path,
        store: EventStore | None = None,
        items: ItemTable | None = None,
        n_threads: int = 1,
    ) -> Self:
        """Open and verify a saved model; raise if it is damaged. ``items`` replace its table."""
        for _ in range(_TRIES):  # the folder may be replaced between both reads
            info = model_info(folder)
            model = load_model(folder, n_threads=n_threads)
            if not model.interactions.size:
                raise ModelFileError("the model has no interactions", hint="fit it on some events")
            if model_info(folder)["hash"] == info["hash"]:
                names, table = model.interactions.items, model.item_table
                if items is not None:
                    table = items.matched(names).aligned(names)
                contained = 0 if store is None else store.contained(info["last_event"])
                made = cls(model, table, info, store, contained, n_threads)
                made.prepare()
                return made
        raise ModelFileError("the model is replaced faster than it can be read", hint="try again")

    def prepare(self) -> None:
        """Compute what requests need, and compile what they call."""
        rows = self.data.rows
        some = int(np.argmax(rows.lengths > 0))
        self.data.users.find([self.data.users[some]])
        history = History(rows.row(some)[:10])
        self.best([history], 1, self.selection(), exclude_seen=True)
        _ = self.search_text

    @property
    def hash(self) -> str:
        return str(self.info["hash"])

    @property
    def data(self) -> Any:
        return self.model.interactions

    @property
    def abilities(self) -> list[str]:
        scorer = self.model.scorer
        able = {"reasons": scorer.explains(), "similar": scorer.compares()}
        return [name for name in able if able[name]]

    @cached_property
    def titles(self) -> list[str | None]:
        found = None if self.table is None else self.table.titles
        return [None] * len(self.data.items) if found is None else found.tolist()

    def named(self, number: int) -> dict[str, Any]:
        """Return the id and the title of an item."""
        return {"item": json_id(self.data.items[number]), "title": self.titles[number]}

    def changes(self, users: Sequence[Any]) -> dict[str, list[Change]]:
        """Return the changes of users by events that the model does not contain."""
        names = [str(self.data.users.parsed(str(user))) for user in users]
        return self.store.of_users(names, self.sequence) if self.store and names else {}

    def history(self, user: Any, changes: Sequence[Change] = ()) -> History:
        """Return the history of a user after changes."""
        return history_of(self.data, user, changes, bool(self.model.fitted.params.get("recency")))

    def find(self, names: Vocabulary, ids: Sequence[Any]) -> NDArray[np.int64]:
        """Return the numbers of ids, given as text or numbers; -1 for unknown ones."""
        if names.ids.dtype.kind == "i" and all(type(each) is int for each in ids):
            return names.find(ids)
        return names.find([names.parsed(str(each)) for each in ids])

    def unknown(self, items: Sequence[Any]) -> list[Any]:
        """Return the items that the model does not know, each once."""
        found = zip(items, self.find(self.data.items, items).tolist(), strict=True)
        return list(dict.fromkeys(item for item, number in found if number < 0))

    def number(self, item: str) -> int:
        """Return the number of an item, or raise."""
        found = int(self.find(self.data.items, [item])[0])
        if found < 0:
            raise UnknownIdError("there is no such item", hint="GET /v1/items?q= finds items")
        return found

    def selection(
        self, exclude: Sequence[Any] = (), candidates: Sequence[Any] | None = None, **more: Any
    ) -> Selection:
        """Return which items may be recommended, and how they are picked; see `Selection.of`."""
        items = self.data.items
        allowed = None if candidates is None else self.find(items, candidates)
        hidden = self.find(items, exclude)
        return Selection.of(len(items), self.table, allowed, hidden, **more)

    def best(
        self, histories: Sequence[History], n: int, selection: Selection, exclude_seen: bool
    ) -> list[tuple[list[int], list[float]]]:
        """Return n items and scores for each history; popular items for empty ones."""
        n, profiles = min(n, len(self.data.items)), self._profiles(histories)
        with threads(self.n_threads):
            lists = self.model.fitted.lists(profiles, n, selection, exclude_seen)
        pairs = zip(*(each.tolist() for each in lists), strict=True)
        return [(items[: n - items.count(-1)], of[: n - items.count(-1)]) for items, of in pairs]

    def _profiles(self, histories: Sequence[History]) -> Profiles:
        lengths = np.array([len(history.items) for history in histories], np.int64)
        rows = Rows.of_lengths(lengths, np.concatenate([history.items for history in histories]))
        times = [history.times for history in histories if history.times is not None]
        if not times:
            return Profiles(*rows)
        recency = self.model.fitted.params["recency"]
        return Profiles(*rows, recency_weights(recency, rows, np.concatenate(times)))

    def reasons(self, history: History, items: Sequence[int], count: int) -> list[dict[str, Any]]:
        """Return the largest parts of the score of each item, and the sum of the others."""
        if "reasons" not in self.abilities:
            raise ParameterError("this model cannot explain its scores", hint="leave reasons out")
        with threads(self.n_threads):
            every = self.model.reasons(self.model.fitted, self._profiles([history]), items)
        out = []
        for keys, parts in every:
            order = np.argsort(-parts, kind="stable")
            shown = [(keys[k], float(parts[k])) for k in order[:count].tolist()]
            reasons = [{**self._reason(key), "adds": finite(adds)} for key, adds in shown]
            rest = finite(float(parts[order[count:]].sum()))
            out.append({"reasons": reasons, "rest": rest})
        return out

    def _reason(self, key: int | SharedTags) -> dict[str, Any]:
        if isinstance(key, SharedTags):
            return {"item": None, "title": str(key), "column": key.column, "tags": key.tags}
        return self.named(key)

    def score(self, history: History, item: int) -> float | None:
        """Return the score of an item."""
        with threads(self.n_threads):
            return finite(float(self.model.scorer.scores(self._profiles([history]))[0, item]))

    @cached_property
    def search_text(self) -> tuple[str, NDArray[np.int64]]:
        """Titles and ids of all items, folded, a line each, and where each ends."""
        both = zip(self.titles, self.data.items, strict=True)
        lines = [folded(f"{title or ''} {key}") for title, key in both]
        ends = np.cumsum(np.array([len(line) + 1 for line in lines], np.int64))
        return "\n".join(lines), ends


def json_id(key: Any) -> Any:
    """Return an id as JSON has it; numbers that JavaScript rounds are text."""
    return str(key) if isinstance(key, int) and abs(key) > EXACT else plain_id(key)


def finite(value: float) -> float | None:
    """Return a number for JSON, which has no infinity."""
    return plain_score(value) if abs(value) < np.inf else None


def folded(text: str) -> str:
    """Return a text on one line without case and accents.

    >>> folded("Amélie")
    'amelie'
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).split())
