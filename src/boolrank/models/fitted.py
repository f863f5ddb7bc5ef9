"""The fitted state of a model, and its answers: rankings, scores and similar items by number."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import one_of
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.items import ItemTable
from ..data.rows import Rows
from ..storage.disk_array import release_pages
from ..storage.state import pack
from .recency import recency_weights
from .recommendations import Recommendations
from .scorer import Floats, Scorer, given
from .selection import Ranked, Selection
from .tag_columns import TagSets, tag_columns

# A scorer in larger files gives its pages back after this many profiles: long ones read most rows.
_LARGE, _PROFILES = 1 << 31, 16

Profiles = tuple[Rows, Floats | None]  # items, and weights in their order


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted state of a model, with its training data.

    Attributes
    ----------
    params : the validated parameters
    interactions : the training data
    scorer : the fitted state
    overlaps : counts from which an update continues, for models that keep them
    created : seconds since 1970
    choice : how the model was chosen, as JSON types, if it was
    table : the item table, if there is one, with rows of other items too
    """

    params: Mapping[str, Any]
    interactions: Interactions
    scorer: Scorer
    overlaps: Overlaps | None
    created: float
    choice: Mapping[str, Any] | None = None
    table: ItemTable | None = None

    @cached_property
    def attributes(self) -> ItemTable | None:
        """The rows of the item table in the order of the items."""
        return None if self.table is None else self.table.aligned(self.interactions.items)

    @cached_property
    def tags(self) -> dict[str, TagSets]:
        """Columns of tags that the kernel is bound to, by name."""
        data = replace(self.interactions, table=self.table)
        columns = tag_columns(self.params["kernel"], data)
        return {name: TagSets.of(name, words) for name, words in columns.items()}

    @cached_property
    def users_of_items(self) -> NDArray[np.int64]:
        """(m,) Users of each item."""
        return self.interactions.popularity()

    @cached_property
    def by_popularity(self) -> NDArray[np.int64]:
        """(m,) Items by number of users, ties in the order of ids."""
        return np.argsort(-self.users_of_items, kind="stable")

    def popular(self, n: int, hidden: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the n items with most users, without hidden ones."""
        first = self.by_popularity[: n + len(hidden)]
        return first[~np.isin(first, hidden)][:n]

    def profiles(self, users: NDArray[np.int64] | None = None) -> Profiles:
        """Return the items of some users or of all, and their weights if recency counts."""
        rows, time = self.interactions.rows, self.interactions.time
        taken = rows if users is None else rows.take(users)
        recency = self.params.get("recency")
        if not recency or time is None:
            return taken, None
        when = time if users is None else time[rows.places(users)]
        return taken, recency_weights(recency, taken, when)

    def new_profiles(self, lists: Iterable[Iterable[Hashable]], unknown: str) -> Profiles:
        """Return profiles with items by id; ``unknown`` is ``"raise"`` or ``"ignore"``."""
        one_of("unknown", unknown, ("raise", "ignore"))
        items = self.interactions.items
        if unknown == "raise":
            return Rows.of_lists([items.numbers(each) for each in lists]), None
        found = (items.find(each) for each in lists)
        return Rows.of_lists([numbers[numbers >= 0] for numbers in found]), None

    @cached_property
    def _mapped(self) -> list[NDArray[Any]]:
        """Arrays of a large scorer in files; none of a small one."""
        stored = pack(self.scorer)[1].values()
        arrays: list[NDArray[Any]] = [each for each in stored if isinstance(each, np.memmap)]
        return arrays if sum(each.nbytes for each in arrays) > _LARGE else []

    def _ranked_in_parts(self, profiles: Profiles, *request: Any) -> Ranked:
        """Rank some profiles at a time: pages that they read count as memory of the process."""
        rows, weights = profiles
        found = []
        for start in range(0, rows.n_rows, _PROFILES):
            stop = min(start + _PROFILES, rows.n_rows)
            part = slice(rows.indptr[start], rows.indptr[stop])
            own = None if weights is None else weights[part]
            found.append(self.ranked((rows.part(start, stop), own), *request))
            release_pages(self._mapped)
        chosen, scores = zip(*found, strict=True)
        return np.concatenate(chosen), np.concatenate(scores)

    def ranked(
        self, profiles: Profiles, n: int, hidden: NDArray[np.int64], exclude_own: bool
    ) -> Ranked:
        """(u, n) Return the best items of profiles and scores, by popularity where these are empty.

        There are -1 and NaN where a list is shorter.
        """
        rows, weights = profiles
        if self._mapped and rows.n_rows > _PROFILES:
            return self._ranked_in_parts(profiles, n, hidden, exclude_own)
        some = rows.lengths > 0
        if some.all():
            return self.scorer.top(rows, n, hidden, exclude_own, **given(weights))
        chosen, scores = np.full((len(some), n), -1, np.int32), np.full((len(some), n), np.nan)
        if some.any():
            found = self.scorer.top(_nonempty(rows), n, hidden, exclude_own, **given(weights))
            chosen[some], scores[some] = found
        popular = self.popular(n, hidden)
        chosen[~some, : len(popular)] = popular
        scores[~some, : len(popular)] = self.users_of_items[popular]
        return chosen, scores

    def lists(self, profiles: Profiles, n: int, selection: Selection, exclude_own: bool) -> Ranked:
        """(u, n) Return the items that a selection picks for profiles, and scores."""
        rows, weights = profiles

        def rank(some: NDArray[np.int64], depth: int) -> Ranked:
            taken = rows.take(some)
            own = weights if weights is None or taken is rows else weights[rows.places(some)]
            return self.ranked((taken, own), depth, selection.hidden, exclude_own)

        return selection.lists(rank, rows.n_rows, n, self.scorer)

    def scores(self, profiles: Profiles) -> Floats:
        """(u, m) Return the scores of all items, NaN for empty profiles."""
        rows, weights = profiles
        some = rows.lengths > 0
        out = np.full((len(some), len(self.interactions.items)), np.nan)
        if some.any():
            out[some] = self.scorer.scores(_nonempty(rows), **given(weights))
        return out

    def similar(self, items: NDArray[np.int64], n: int, hidden: NDArray[np.int64]) -> Ranked:
        """(items, n) Return the items most similar to each, without hidden ones, and values."""
        visible = len(self.interactions.items) - len(hidden)
        chosen, values = np.full((len(items), n), -1), np.full((len(items), n), np.nan)
        for k, item in enumerate(items):
            keys, shown = self.scorer.similar(int(item))
            keys = np.array(keys)
            keys[hidden], keys[item] = -np.inf, -np.inf
            order = np.argsort(-keys, kind="stable")[: min(n, visible - (item not in hidden))]
            chosen[k, : len(order)], values[k, : len(order)] = order, shown[order]
        return chosen, values

    def named(
        self,
        users: list[Any] | None,
        found: Ranked,
        popular: NDArray[np.bool_],
        near: bool = False,
    ) -> Recommendations:
        """Return lists of item numbers with ids and titles."""
        chosen, scores = found
        titles = None if self.attributes is None else self.attributes.titles_of(chosen)
        names = self.interactions.items.names(chosen)
        return Recommendations(users, names, scores, popular, near, titles)


def _nonempty(profiles: Rows) -> Rows:
    """Return the rows that have items."""
    lengths = profiles.lengths
    return profiles if lengths.all() else Rows.of_lengths(lengths[lengths > 0], profiles.indices)
