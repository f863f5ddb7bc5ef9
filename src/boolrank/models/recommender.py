"""What all models share: ids and rows, profiles, candidates, and who has no history.

A model says what it learns (`fit`) and how it scores all items for profiles (`_scored`); the rest
of the contract is here. One that ranks faster than by scoring everything overrides `_ranked`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions, check_interactions
from ..errors import NotFittedError, ParameterError
from ..table import Table
from .parameters import allowed, whole
from .profiles import Profiles
from .recommendations import Recommendations

__all__ = ["Recommender"]

Floats = NDArray[np.float64]
Ids = Sequence[Hashable] | NDArray[Any]

# Scores that are held at a time when recommending: 32 MB.
_BLOCK = 1 << 22


class Recommender(ABC):
    """A model that ranks items for profiles. Its parameters are those of its constructor."""

    _interactions: Interactions

    @abstractmethod
    def fit(self, interactions: Interactions) -> Self:
        """Learn from interactions; gives the model itself."""

    @abstractmethod
    def _scored(self, profiles: Profiles) -> Floats:
        """(u, m) scores of all items for each profile, none of which is empty, as a new array."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """The constructor's parameters, by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set some of the constructor's parameters; they count from the next fit on.

        The number of threads, which changes no result, counts at once.
        """
        for name, value in params.items():
            if name not in self.get_params():
                known = ", ".join(self.get_params()) or "none"
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}; there are {known}"
                )
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's searches ask of an estimator: neither classifier nor regressor."""
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_interactions")

    @property
    def interactions(self) -> Interactions:
        """What the model was fitted on."""
        self._check_fitted()
        return self._interactions

    def recommend(
        self,
        users: Ids | None = None,
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
    ) -> Recommendations:
        """The n best items of each user.

        Parameters
        ----------
        users : ids; everybody where not given
        n : how many items, at most; never more than there are
        exclude_seen : leave out what the user has touched
        candidates : ids of the only items to recommend
        exclude : ids of items not to recommend

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).recommend(n=5, exclude=["c"]).lists()
        [[], ['b'], ['a']]
        """
        rows, known = self._rows(users), self.interactions.users
        ids = list(known) if users is None else [known[int(row)] for row in rows]
        profiles = Profiles.of_users(self.interactions, rows)
        return self._listed(ids, profiles, n, exclude_seen, candidates, exclude)

    def recommend_profile(
        self,
        items: Iterable[Hashable],
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
    ) -> Recommendations:
        """The n best items for somebody with these items, known or not.

        The other parameters are those of ``recommend``.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).recommend_profile(["a", "b"]).lists()
        [['c']]
        """
        return self.recommend_profiles([items], n, exclude_seen, candidates, exclude)

    def recommend_profiles(
        self,
        profiles: Iterable[Iterable[Hashable]],
        n: int = 10,
        exclude_seen: bool = True,
        candidates: Iterable[Hashable] | None = None,
        exclude: Iterable[Hashable] | None = None,
    ) -> Recommendations:
        """The n best items for each of several people, each a list of items."""
        lists = Profiles.of_lists(self.interactions.items, list(profiles))
        return self._listed(None, lists, n, exclude_seen, candidates, exclude)

    def score(self, users: Ids | None = None, items: Ids | None = None) -> Floats:
        """(users, items) scores of items for users, all where not given; NaN without a history.

        >>> from boolrank import KernelRanker
        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).score([3], ["a", "c"]).round(3)
        array([[ 0.098, -0.236]])
        """
        return self._scores(Profiles.of_users(self.interactions, self._rows(users)), items)

    def score_profiles(
        self, profiles: Iterable[Iterable[Hashable]], items: Ids | None = None
    ) -> Floats:
        """(profiles, items) the same for people with these items, at training or not."""
        return self._scores(Profiles.of_lists(self.interactions.items, list(profiles)), items)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        fitted = getattr(self, "_interactions", None)
        state = ", not fitted" if fitted is None else f" on {fitted!r}"
        return f"{type(self).__name__}({given}){state}"

    def _repr_html_(self) -> str:
        rows = [[name, repr(value)] for name, value in self.get_params().items()]
        if not hasattr(self, "_interactions"):
            return Table.of(f"{type(self).__name__}, not fitted", ["", ""], rows).to_html()
        rows += [["fitted on", repr(self._interactions)], *self._facts()]
        return Table.of(type(self).__name__, ["", ""], rows).to_html()

    def _facts(self) -> list[list[str]]:
        """What else a notebook should tell of a fitted model: names and values."""
        return []

    def _check_fitted(self) -> None:
        if not hasattr(self, "_interactions"):
            raise NotFittedError(
                f"this {type(self).__name__} has seen no data yet; call fit(interactions) first"
            )

    def _given(self, interactions: Interactions) -> Interactions:
        """The interactions to fit on, if they are some."""
        check_interactions(interactions, f"{type(self).__name__} fits")
        return interactions

    def _rows(self, users: Ids | None) -> NDArray[np.int64]:
        known = self.interactions.users
        return np.arange(len(known)) if users is None else known.numbers(users)

    def _scores(self, profiles: Profiles, items: Ids | None) -> Floats:
        some = profiles.lengths > 0
        out = np.full((len(some), len(self.interactions.items)), np.nan)
        if some.any():
            out[some] = self._scored(profiles.with_items())
        return out if items is None else out[:, self.interactions.items.numbers(items)]

    def _listed(
        self,
        users: list[Any] | None,
        profiles: Profiles,
        n: int,
        exclude_seen: bool,
        candidates: Iterable[Hashable] | None,
        exclude: Iterable[Hashable] | None,
    ) -> Recommendations:
        items = self.interactions.items
        n, among = whole(n, len(items)), allowed(items, candidates, exclude)
        empty = profiles.lengths == 0
        chosen, scores = np.full((len(empty), n), -1, np.int32), np.full((len(empty), n), np.nan)
        if not empty.all():
            some = profiles.with_items()
            chosen[~empty], scores[~empty] = self._ranked(some, among, exclude_seen, n)
        if empty.any():
            popular, sizes = self._popular(among, n)
            chosen[empty, : len(popular)], scores[empty, : len(popular)] = popular, sizes
        return Recommendations(users, items.names(chosen), scores, empty)

    def _popular(
        self, among: NDArray[np.bool_], n: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The candidates of the most users, at most n, and how many users they have."""
        sizes = self.interactions.popularity()
        chosen = np.flatnonzero(among)[np.argsort(-sizes[among], kind="stable")][:n]
        return chosen, sizes[chosen]

    def _ranked(
        self, profiles: Profiles, among: NDArray[np.bool_], exclude_own: bool, n: int
    ) -> tuple[NDArray[np.int32], Floats]:
        """(u, n) the best candidates of each profile, and their scores; -1 and NaN where too few.

        None of the profiles is empty.
        """
        from .._compiled.ranking import best

        people, items = len(profiles.lengths), len(among)
        chosen, scores = np.full((people, n), -1, np.int32), np.full((people, n), np.nan)
        exact = np.zeros(items)
        for first, part in profiles.blocks(max(1, _BLOCK // items)):
            for k, row in enumerate(self._scored(part)):
                row[~among] = -np.inf
                if exclude_own:
                    row[part.own[part.start[k] : part.start[k + 1]]] = -np.inf
                best(row, exact, 0.0, n, chosen[first + k], scores[first + k])
        return chosen, scores
