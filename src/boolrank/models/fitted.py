"""The fitted state of a model, and its answers: rankings, scores and similar items by number."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import one_of, whole
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.items import ItemTable
from ..data.rows import Rows
from ..data.vocabulary import check_list
from ..errors import ParameterTypeError
from ..storage.disk_array import release_pages
from ..storage.state import pack
from .profiles import NO_WEIGHTS, Profiles, check_times, recency_weights
from .recommendations import Recommendations
from .scorer import Floats, Ranked, Scorer, checked_scores, empty_lists
from .selection import Selection
from .tag_columns import TagSets, tag_columns

if TYPE_CHECKING:
    from .recommender import Recommender

# A scorer in larger files gives its pages back after this many profiles: long ones read most rows.
_LARGE, _PROFILES = 1 << 31, 16

Ids = Sequence[Hashable] | NDArray[Any]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted state of a model, with its training data and validated parameters.

    Attributes
    ----------
    overlaps : counts from which an update continues, for models that keep them
    created : seconds since 1970
    choice : how the model was chosen, as JSON types, if it was
    table : the item table, if there is one, with rows of other items too
    last_event : number and id of the last event of a service that the data contain, if any
    """

    params: Mapping[str, Any]
    interactions: Interactions
    scorer: Scorer
    overlaps: Overlaps | None
    created: float
    choice: Mapping[str, Any] | None = None
    table: ItemTable | None = None
    last_event: Sequence[Any] | None = None

    @staticmethod
    def of(
        model: Recommender,
        data: Interactions,
        overlaps: Overlaps | None,
        table: ItemTable | None = None,
        choice: Mapping[str, Any] | None = None,
        last_event: Sequence[Any] | None = None,
    ) -> Fitted:
        """Return what a model with validated parameters learns."""
        params = model.get_params()
        exponent, cap = params.get("user_exponent", 0.0), params.get("activity_cap")
        if params.get("recency"):
            check_times(type(model).__name__, data)
        if table is None:
            table = data.table  # of a fold, whose items are fixed
        elif model.uses_tags:
            before, data = data, data.with_items(table.ids)
            if overlaps is not None:
                overlaps = overlaps.updated(before.capped(cap), data.capped(cap))
        data = data if table is data.table else replace(data, table=table)
        counted = data.capped(cap)
        if overlaps is not None and (
            overlaps.user_exponent != exponent
            or (cap and not np.array_equal(overlaps.degrees, counted.popularity()))
        ):
            overlaps = None  # of users with other weights, or of all users
        if model.keeps_overlaps and overlaps is None:
            overlaps = Overlaps.of(counted, user_exponent=exponent)
        scorer = model._learn(counted, overlaps)  # noqa: SLF001 - called from here alone
        if not isinstance(scorer, Scorer):
            problem = f"_learn of {type(model).__name__} returns {type(scorer).__name__}"
            raise ParameterTypeError(f"{problem}, not a Scorer", hint="return the fitted state")
        kept = overlaps if model.keeps_overlaps else None
        return Fitted(params, data, scorer, kept, time.time(), choice, table, last_event)

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
        """Return the items of users, all by default, and their weights if recency counts.

        -1 stands for unknown users, who have no items.
        """
        rows, time, weights = self.interactions.rows, self.interactions.time, NO_WEIGHTS
        known = np.arange(rows.n_rows) if users is None else users[users >= 0]
        taken, recency = rows.take(known), self.params.get("recency")
        if recency and time is not None:
            when = time if taken is rows else time[rows.places(known)]
            weights = recency_weights(recency, taken, when)
        if users is not None and len(known) < len(users):
            lengths = np.zeros(len(users), np.int64)
            lengths[users >= 0] = taken.lengths
            taken = Rows.of_lengths(lengths, taken.indices)
        return Profiles(*taken, weights)

    def new_profiles(self, lists: Iterable[Iterable[Hashable]], unknown: str) -> Profiles:
        """Return profiles with items by id; ``unknown`` is ``"raise"`` or ``"ignore"``."""
        one_of("unknown", unknown, ("raise", "ignore"))
        check_list("profiles", lists, "lists of items")
        items = self.interactions.items
        if unknown == "raise":
            return Profiles.of_lists([items.numbers(each) for each in lists])
        found = (items.find(each) for each in lists)
        return Profiles.of_lists([numbers[numbers >= 0] for numbers in found])

    @cached_property
    def _mapped(self) -> list[NDArray[Any]]:
        """Arrays of a large scorer in files; none of a small one."""
        stored = pack(self.scorer)[1].values()
        arrays: list[NDArray[Any]] = [each for each in stored if isinstance(each, np.memmap)]
        return arrays if sum(each.nbytes for each in arrays) > _LARGE else []

    def ranked(
        self, profiles: Profiles, n: int, hidden: NDArray[np.int64], exclude_own: bool
    ) -> Ranked:
        """(u, n) Return the best items of profiles and scores, by popularity where these are empty.

        There are -1 and NaN where a list is shorter.
        """
        count, some = profiles.n_rows, profiles.lengths > 0
        if self._mapped and count > _PROFILES:  # pages read count as memory of the process
            chosen, scores = empty_lists(count, n)
            for start in range(0, count, _PROFILES):
                stop = min(start + _PROFILES, count)
                part = self.ranked(profiles.part(start, stop), n, hidden, exclude_own)
                chosen[start:stop], scores[start:stop] = part
                release_pages(self._mapped)
            return chosen, scores
        if some.all():
            return self.scorer.top(profiles, n, hidden, exclude_own)
        chosen, scores = empty_lists(count, n)
        if some.any():
            found = self.scorer.top(_nonempty(profiles), n, hidden, exclude_own)
            chosen[some], scores[some] = found
        popular = self.popular(n, hidden)
        chosen[~some, : len(popular)] = popular
        scores[~some, : len(popular)] = self.users_of_items[popular]
        return chosen, scores

    def lists(self, profiles: Profiles, n: int, selection: Selection, exclude_own: bool) -> Ranked:
        """(u, n) Return the items that a selection picks for profiles, and scores."""
        rank = partial(self.ranked, hidden=selection.hidden, exclude_own=exclude_own)
        return selection.lists(rank, profiles, n, self.scorer)

    def scores(self, profiles: Profiles, items: Ids | None = None) -> Floats:
        """(u, items) Return the scores of items by id, all by default; NaN for empty profiles."""
        some = profiles.lengths > 0
        out = np.full((len(some), len(self.interactions.items)), np.nan)
        if some.any():
            out[some] = checked_scores(self.scorer, _nonempty(profiles))
        return out if items is None else out[:, self.interactions.items.numbers(items)]

    def recommend(
        self,
        users: list[Any] | None,
        profiles: Profiles,
        n: int,
        exclude_own: bool,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
        **picked: Any,
    ) -> Recommendations:
        """Return the best items of profiles by id; see `Recommender.recommend`."""
        items = self.interactions.items
        allowed = None if candidates is None else items.find(candidates)
        hidden = None if exclude is None else items.find(exclude)
        selection = Selection.of(len(items), self.attributes, allowed, hidden, **picked)
        n = min(whole("", "n", n, low=0), len(items))
        chosen, scores = self.lists(profiles, n, selection, exclude_own)
        names, titles = self._names(chosen)
        return Recommendations(users, names, scores, profiles.lengths == 0, titles=titles)

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

    def nearest(self, items: Ids, n: int, where: str | None) -> Recommendations:
        """Return the items most similar to each; see `Recommender.similar_items`."""
        known = self.interactions.items
        n, numbers = min(whole("", "n", n, low=0), len(known)), known.numbers(items)
        hidden = Selection.of(len(known), self.attributes, where=where).hidden
        chosen, values = self.similar(numbers, n, hidden)
        names, titles = self._names(chosen)
        popular = np.zeros(len(numbers), bool)
        return Recommendations(known.names(numbers).tolist(), names, values, popular, True, titles)

    def _names(self, items: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return ids and titles of items."""
        titles = None if self.attributes is None else self.attributes.titles_of(items)
        return self.interactions.items.names(items), titles


def _nonempty(profiles: Profiles) -> Profiles:
    """Return the profiles that have items."""
    starts = profiles.indptr[:-1][profiles.lengths > 0]
    return profiles._replace(indptr=np.append(starts, profiles.indptr[-1]))
