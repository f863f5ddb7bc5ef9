"""Recommender: a model with ids and histories around its fitted `Scorer`.

A model declares its parameters as dataclass fields and learns a scorer from interactions. The rest
of the interface is here, for all models. The fitted state is one immutable value, so a fit in one
thread never disturbs readers in others.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..checks import one_of, whole
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions, check_interactions
from ..data.items import ItemTable, updated_table
from ..data.rows import Rows
from ..engines.threads import threads
from ..errors import NotFittedError, ParameterError
from ..kernels import Kernel
from ..table import Table
from .fitted import Fitted, Profiles
from .parameters import parameters_of
from .recency import check_times
from .recommendations import Recommendations
from .scorer import Floats, Scorer, given
from .selection import Selection
from .tag_columns import SharedTags

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

Ids = Sequence[Hashable] | NDArray[Any]


class Recommender(ABC):
    """A model that ranks items for users and profiles.

    Subclasses are dataclasses whose fields are declared with `param`, and implement `_learn`.

    Attributes
    ----------
    uses_overlaps : whether ``fit`` can share overlaps that were counted before
    keeps_overlaps : whether overlaps are kept, so that updates need not count everything again
    scales : whether it can be fitted within a limit of memory, see `fit_on_disk`, and on Spark
    scorers : classes of scorers that the model learns
    """

    uses_overlaps: ClassVar[bool] = False
    keeps_overlaps: ClassVar[bool] = False
    scales: ClassVar[bool] = False
    scorers: ClassVar[tuple[type[Scorer], ...]]

    _fitted: Fitted | None = None

    @abstractmethod
    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> Scorer:
        """Return the fitted state; parameters are validated, and overlaps those of the data."""

    def fit(
        self,
        interactions: Interactions,
        overlaps: Overlaps | None = None,
        items: ItemTable | IntoFrame | None = None,
    ) -> Self:
        """Learn from interactions; return the model.

        Models on the same interactions can share their ``overlaps``. Models without them, and those
        with another ``user_exponent`` or an ``activity_cap``, ignore them. ``items`` is a table of
        items, or a frame (see `ItemTable.from_frame`): it gives titles, columns to filter by, and
        tags for kernels that are bound to columns. These rank all items of the table, with
        interactions or without.
        """
        check_interactions(interactions, f"{type(self).__name__} fits")
        if overlaps is not None and getattr(self, "activity_cap", None) is None:
            overlaps.check(interactions)
        if items is not None:
            table = items if isinstance(items, ItemTable) else ItemTable.from_frame(items)
            items = table.matched(interactions.items)
        self._fit(self.checked(), interactions, overlaps, table=items)
        return self

    def memory_beside_pairs(self, users: int, items: int) -> int:  # noqa: ARG002
        """Return the bytes that a fit takes beside counts and values of pairs of items."""
        return 0

    def needs_pairs(self) -> str:
        """Return why a fit needs all pairs in memory, and "" if they may be in files."""
        return ""

    def checked(self) -> Self:
        """Return an unfitted copy with validated parameters; raise if one is not allowed."""
        owner = type(self).__name__
        given = {p.name: p.check(owner, getattr(self, p.name)) for p in parameters_of(type(self))}
        return type(self)(**given)

    def _fit(
        self,
        checked: Self,
        data: Interactions,
        overlaps: Overlaps | None,
        choice: Mapping[str, Any] | None = None,
        table: ItemTable | None = None,
    ) -> None:
        exponent = getattr(checked, "user_exponent", 0.0)
        cap = getattr(checked, "activity_cap", None)
        if getattr(checked, "recency", 0.0):
            check_times(type(self).__name__, data)
        if table is None:
            table = data.table  # of a fold, whose items are fixed
        elif checked.uses_tags:
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
        with threads(self._n_threads):
            if self.keeps_overlaps and overlaps is None:
                overlaps = Overlaps.of(counted, self._n_threads, exponent)
            scorer = checked._learn(counted, overlaps)
        kept = overlaps if self.keeps_overlaps else None
        self.restore(Fitted(checked.get_params(), data, scorer, kept, time.time(), choice, table))

    @property
    def uses_tags(self) -> bool:
        """Whether the kernel is bound to columns of the item table."""
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, Kernel) and kernel.variables != ("",)

    def restore(self, fitted: Fitted) -> None:
        """Take over a fitted state."""
        self._fitted = fitted

    def update(
        self,
        added: Interactions | None = None,
        removed: Interactions | None = None,
        items: ItemTable | IntoFrame | None = None,
    ) -> Self:
        """Add interactions and remove others; the result equals a fit on all data.

        Users and items that lose their last interaction are forgotten, as a fit would not know
        them. Models that keep overlaps count only what changed; others fit again. ``items`` has new
        rows of the item table, and rows in place of old ones.

        >>> from boolrank import KernelRanker
        >>> model = KernelRanker("linear").fit(Interactions.from_pairs([1, 1, 2], ["a", "b", "b"]))
        >>> model.update(added=Interactions.from_pairs([3], ["a"])).recommend([3]).lists()
        [['b']]
        """
        fitted = self.fitted
        after, table = fitted.interactions.updated(added, removed), fitted.table
        overlaps = fitted.overlaps
        if overlaps is not None:
            cap = fitted.params.get("activity_cap")
            overlaps = overlaps.updated(fitted.interactions.capped(cap), after.capped(cap))
        if items is not None:
            new = items if isinstance(items, ItemTable) else ItemTable.from_frame(items)
            table = new.matched(after.items) if table is None else updated_table(table, new)
        self._fit(type(self)(**fitted.params), after, overlaps, fitted.choice, table)
        return self

    @property
    def fitted(self) -> Fitted:
        """The fitted state, with the parameters of that fit."""
        if self._fitted is None:
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted", hint="call fit(interactions) first"
            )
        return self._fitted

    @property
    def interactions(self) -> Interactions:
        """The training data."""
        return self.fitted.interactions

    @property
    def item_table(self) -> ItemTable | None:
        """Titles and attributes of the items, in their order."""
        return self.fitted.attributes

    @property
    def scorer(self) -> Scorer:
        """The fitted state."""
        return self.fitted.scorer

    @property
    def _n_threads(self) -> int | None:
        return getattr(self, "n_threads", None)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """Return the constructor's parameters by name."""
        return {each.name: getattr(self, each.name) for each in parameters_of(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Set parameters for the next fit; the number of threads takes effect at once."""
        for name, value in params.items():
            if name not in self.get_params():
                known = ", ".join(self.get_params()) or "none"
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}",
                    hint=f"its parameters: {known}",
                    parameter=name,
                )
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn's searches that this is neither a classifier nor a regressor."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def recommend(
        self,
        users: Ids | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
        unknown: str = "raise",
        where: str | None = None,
        per: Mapping[str, int] | None = None,
        diversity: float = 0.0,
    ) -> Recommendations:
        """Return the n best items of each user.

        Parameters
        ----------
        users : ids; all users by default
        n : number of items; lists are shorter if there are fewer
        exclude_seen : leave out items that the user has interacted with
        candidates : ids of the only items to recommend; unknown ones are ignored
        exclude : ids of items not to recommend; unknown ones are ignored
        unknown : ``"raise"`` for users without training data, or ``"popular"`` to give them the
            most popular items
        where : filter on the columns of the item table, such as ``"price < 20"``
        per : the most items of a group by column, such as ``{"category": 2}``; items without a
            value are not limited
        diversity : 0 to 1; above 0, items that are similar to those above them come later

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).recommend(n=5, exclude=["c"]).lists()
        [[], ['b'], ['a']]
        """
        fitted = self.fitted
        data = fitted.interactions
        chosen = candidates, exclude, where, per, diversity
        if users is None:
            return self._lists(fitted, list(data.users), fitted.profiles(), n, exclude_seen, chosen)
        one_of("unknown", unknown, ("raise", "popular"))
        ids = users if isinstance(users, str) else list(users)
        found = data.users.numbers(ids) if unknown == "raise" else data.users.find(ids)
        known, lengths = found >= 0, np.zeros(len(found), np.int64)
        rows, weights = fitted.profiles(found[known])
        lengths[known] = rows.lengths
        profiles = Rows.of_lengths(lengths, rows.indices), weights
        names = [data.users[int(k)] if k >= 0 else ids[at] for at, k in enumerate(found)]
        return self._lists(fitted, names, profiles, n, exclude_seen, chosen)

    def recommend_profile(
        self, items: Iterable[Hashable], n: int = 10, **options: Any
    ) -> Recommendations:
        """Return the n best items for somebody with these items.

        The options are those of `recommend_profiles`.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).recommend_profile(["a", "b"]).lists()
        [['c']]
        """
        return self.recommend_profiles([items], n, **options)

    def recommend_profiles(
        self,
        profiles: Iterable[Iterable[Hashable]],
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
        unknown: str = "raise",
        where: str | None = None,
        per: Mapping[str, int] | None = None,
        diversity: float = 0.0,
    ) -> Recommendations:
        """Return the n best items for each of several lists of items.

        ``unknown="ignore"`` leaves unknown items out of the lists; the other parameters are those
        of `recommend`.
        """
        fitted = self.fitted
        chosen = candidates, exclude, where, per, diversity
        own = fitted.new_profiles(profiles, unknown)
        return self._lists(fitted, None, own, n, exclude_seen, chosen)

    def score(self, users: Ids | None = None, items: Ids | None = None) -> Floats:
        """(users, items) Return scores, by default of all users and items; NaN without history.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).score([3], ["a", "c"]).round(3)
        array([[ 0.098, -0.236]])
        """
        fitted = self.fitted
        numbers = None if users is None else fitted.interactions.users.numbers(users)
        return self._scores(fitted, fitted.profiles(numbers), items)

    def score_profiles(
        self,
        profiles: Iterable[Iterable[Hashable]],
        items: Ids | None = None,
        unknown: str = "raise",
    ) -> Floats:
        """(profiles, items) Return scores for lists of items; NaN for empty ones."""
        fitted = self.fitted
        return self._scores(fitted, fitted.new_profiles(profiles, unknown), items)

    def explain(self, user: Hashable, item: Hashable) -> list[tuple[Any, float]]:
        """Return the part that each of a user's items adds to the score of an item, largest first.

        The parts add up to the score. If scores are logarithms, because no double holds them, parts
        are shares of the logarithm.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> [(i, round(part, 3)) for i, part in KernelRanker("linear").fit(data).explain(1, "c")]
        [('a', 0.328), ('b', -0.072)]
        """
        fitted = self.fitted
        users = np.array([fitted.interactions.users.number(user)])
        return self._reasons(fitted, fitted.profiles(users), item)

    def explain_profile(
        self, items: Iterable[Hashable], item: Hashable, unknown: str = "raise"
    ) -> list[tuple[Any, float]]:
        """Return the same for somebody with these items, seen in training or not."""
        fitted = self.fitted
        return self._reasons(fitted, fitted.new_profiles([items], unknown), item)

    def _reasons(
        self, fitted: Fitted, profile: Profiles, item: Hashable
    ) -> list[tuple[Any, float]]:
        self._check_ability(fitted.scorer.explains(), "explain its scores by items")
        names = fitted.interactions.items
        target = names.number(item)
        if not len(profile[0].indices):
            return []
        with threads(self._n_threads):
            ((own, parts),) = self.reasons(fitted, profile, [target])
        order = np.argsort(-parts, kind="stable").tolist()
        keys = [each if isinstance(each, SharedTags) else names[int(each)] for each in own]
        return [(keys[k], float(parts[k])) for k in order]

    def reasons(
        self, fitted: Fitted, profile: Profiles, items: Sequence[int]
    ) -> list[tuple[Sequence[Any], Floats]]:
        """Return for each item the numbers of own items, or tags, and what each adds."""
        (_, own), weights = profile
        every = fitted.scorer.parts_each(own, items, **given(weights))
        return [(own.tolist(), parts) for parts in every]

    def similar_items(self, items: Ids, n: int = 10, where: str | None = None) -> Recommendations:
        """Return the n items most similar to each item, of those that pass the filter.

        Where no double holds the values, their logarithms are given, as in scores.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).similar_items(["a"], n=1).lists()
        [['c']]
        """
        fitted = self.fitted
        self._check_ability(fitted.scorer.compares(), "compare items")
        names = fitted.interactions.items
        n = min(whole("", "n", n, low=0), len(names))
        numbers = names.numbers(items)
        hidden = Selection.of(len(names), fitted.attributes, where=where).hidden
        found = fitted.similar(numbers, n, hidden)
        none = np.zeros(len(numbers), bool)
        return fitted.named(names.names(numbers).tolist(), found, none, near=True)

    def _check_ability(self, able: bool, what: str) -> None:
        if not able:
            raise ParameterError(
                f"{type(self).__name__} cannot {what}", hint="`boolrank models` lists abilities"
            )

    def save(self, path: str | Path) -> None:
        """Write the model into a folder, all or nothing; `load_model` opens it."""
        from .model_folder import save_model

        save_model(self, path)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        state = ", not fitted" if self._fitted is None else f" on {self._fitted.interactions!r}"
        return f"{type(self).__name__}({given}){state}"

    def _repr_html_(self) -> str:
        rows = [[name, repr(value)] for name, value in self.get_params().items()]
        if self._fitted is None:
            return Table.of(f"{type(self).__name__}, not fitted", ["", ""], rows).to_html()
        rows.append(["fitted on", repr(self._fitted.interactions)])
        return Table.of(type(self).__name__, ["", ""], rows).to_html()

    def _scores(self, fitted: Fitted, profiles: Profiles, items: Ids | None) -> Floats:
        with threads(self._n_threads):
            out = fitted.scores(profiles)
        return out if items is None else out[:, fitted.interactions.items.numbers(items)]

    def _lists(
        self,
        fitted: Fitted,
        users: list[Any] | None,
        profiles: Profiles,
        n: int,
        exclude_seen: bool,
        chosen: tuple[Any, ...],
    ) -> Recommendations:
        items = fitted.interactions.items
        candidates, exclude, *rest = chosen
        allowed = None if candidates is None else items.find(candidates)
        hidden = None if exclude is None else items.find(exclude)
        selection = Selection.of(len(items), fitted.attributes, allowed, hidden, *rest)
        n = min(whole("", "n", n, low=0), len(items))
        with threads(self._n_threads):
            found = fitted.lists(profiles, n, selection, exclude_seen)
        return fitted.named(users, found, profiles[0].lengths == 0)
