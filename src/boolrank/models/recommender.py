"""Recommender: the interface of all models, with ids and histories around a fitted `Scorer`.

The fitted state is one immutable value, so a fit in one thread never disturbs readers in others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from inspect import isabstract
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..checks import one_of
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions, check_interactions
from ..data.items import ItemTable, updated_table
from ..data.vocabulary import check_list
from ..engines.threads import threads
from ..errors import InputError, NotFittedError, ParameterError, ParameterTypeError
from ..table import Table
from .fitted import Fitted, Ids
from .parameters import Estimator
from .profiles import Profiles, check_times
from .recommendations import Recommendations
from .scorer import Floats, Scorer
from .tag_columns import SharedTags

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame


class Recommender(Estimator, ABC):
    """A model that ranks items for users and profiles.

    Subclasses are dataclasses whose fields are declared with `param`, and implement `_learn`.

    Parameters with the same meaning in all models that have them:

    - ``user_exponent``: users weigh activity^-user_exponent
    - ``input_exponent``: above 0, popular items of a profile count less
    - ``output_exponent``: above 0, popular items score less
    - ``recency``: half-life of the weights of a user's items, in events, or in days as ``"30d"``
    - ``activity_cap``: users with more items are not counted, which saves most steps of counting;
      they are ranked by all their items
    - ``n_threads``: threads of compiled loops and products of matrices, all by default

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

    def __init_subclass__(cls) -> None:
        """Raise if a class that can be fitted does not say what it is saved as."""
        super().__init_subclass__()
        scorers = getattr(cls, "scorers", ())
        if not scorers and not getattr(cls._learn, "__isabstractmethod__", False):
            hint = "write scorers: ClassVar = (MyScorer,), the classes that _learn returns"
            raise ParameterTypeError(f"{cls.__name__} has no scorers", hint=hint)
        for each in scorers:
            if not isabstract(each) and not hasattr(each, "kind"):
                hint = 'write kind: ClassVar[str] = "name", which names it in saved models'
                raise ParameterTypeError(f"{each.__name__} has no kind", hint=hint)

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
        table = None if items is None else _table(items).matched(interactions.items)
        self._fit(self.checked(), interactions, overlaps, table)
        return self

    def memory_beside_pairs(self, users: int, items: int) -> int:  # noqa: ARG002
        """Return the bytes that a fit takes beside counts and values of pairs of items."""
        return 0

    def needs_pairs(self) -> str:
        """Return why a fit needs all pairs in memory, and "" if they may be in files."""
        return ""

    def _fit(self, checked: Self, data: Interactions, *given: Any) -> None:
        with threads(self._n_threads):
            self.restore(Fitted.of(checked, data, *given))

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
        if added is not None and self.fitted.params.get("recency"):
            check_interactions(added, "added interactions are")
            check_times(type(self).__name__, added, self.fitted.interactions)
        return self.refit(self.fitted.interactions.updated(added, removed), items)

    def refit(self, after: Interactions, items: ItemTable | IntoFrame | None = None) -> Self:
        """Update the model to the interactions that it is to have."""
        fitted = self.fitted
        if not after.size:
            hint = "the model stays as it is; leave some"
            raise InputError("no interactions are left", hint=hint, parameter="removed")
        overlaps, table = fitted.overlaps, fitted.table
        if overlaps is not None:
            cap = fitted.params.get("activity_cap")
            overlaps = overlaps.updated(fitted.interactions.capped(cap), after.capped(cap))
        if items is not None:
            new = _table(items)
            table = new.matched(after.items) if table is None else updated_table(table, new)
        kept = fitted.choice, fitted.last_event
        self._fit(type(self)(**fitted.params), after, overlaps, table, *kept)
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
        """The fitted scorer."""
        return self.fitted.scorer

    @property
    def _n_threads(self) -> int | None:
        return getattr(self, "n_threads", None)

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
        known = fitted.interactions.users
        names, numbers = list(known), None
        if users is not None:
            one_of("unknown", unknown, ("raise", "popular"))
            check_list("users", users)
            ids = list(users)
            numbers = known.numbers(ids) if unknown == "raise" else known.find(ids)
            names = [known[int(k)] if k >= 0 else ids[at] for at, k in enumerate(numbers)]
        picked = {"where": where, "per": per, "diversity": diversity}
        with threads(self._n_threads):
            own = fitted.profiles(numbers)
            return fitted.recommend(names, own, n, exclude_seen, candidates, exclude, **picked)

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
        unknown: str = "raise",
        **options: Any,
    ) -> Recommendations:
        """Return the n best items for each of several lists of items.

        ``unknown="ignore"`` leaves unknown items out of the lists. The other options are those of
        `recommend`: candidates, exclude, where, per and diversity.
        """
        fitted = self.fitted
        own = fitted.new_profiles(profiles, unknown)
        with threads(self._n_threads):
            return fitted.recommend(None, own, n, exclude_seen, **options)

    def score(self, users: Ids | None = None, items: Ids | None = None) -> Floats:
        """(users, items) Return scores, by default of all users and items; NaN without history.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).score([3], ["a", "c"]).round(3)
        array([[ 0.098, -0.236]])
        """
        fitted = self.fitted
        numbers = None if users is None else fitted.interactions.users.numbers(users)
        with threads(self._n_threads):
            return fitted.scores(fitted.profiles(numbers), items)

    def score_profiles(
        self,
        profiles: Iterable[Iterable[Hashable]],
        items: Ids | None = None,
        unknown: str = "raise",
    ) -> Floats:
        """(profiles, items) Return scores for lists of items; NaN for empty ones."""
        fitted = self.fitted
        with threads(self._n_threads):
            return fitted.scores(fitted.new_profiles(profiles, unknown), items)

    def explain(self, user: Hashable, item: Hashable) -> list[tuple[Any, float]]:
        """Return the part that each of a user's items adds to the score of an item, largest first.

        Parts add up to the score, or to its logarithm if no double holds the score.

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
        if not len(profile.indices):
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
        own = profile.indices.tolist()
        return [(own, parts) for parts in fitted.scorer.parts(profile, items)]

    def similar_items(self, items: Ids, n: int = 10, where: str | None = None) -> Recommendations:
        """Return the n items most similar to each item, of those that pass the filter.

        Where no double holds the values, their logarithms are given, as in scores.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).similar_items(["a"], n=1).lists()
        [['c']]
        """
        self._check_ability(self.scorer.compares(), "compare items")
        return self.fitted.nearest(items, n, where)

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
        title = type(self).__name__
        if self._fitted is None:
            title += ", not fitted"
        else:
            rows.append(["fitted on", repr(self._fitted.interactions)])
        return Table.of(title, ["", ""], rows).to_html()


def _table(items: ItemTable | IntoFrame) -> ItemTable:
    return items if isinstance(items, ItemTable) else ItemTable.from_frame(items)
