"""What models share that give every item a score for a profile: ids, lists, and who has what.

A model of this kind says in two methods what it learns and how it scores; the rest of the contract
is here. Profiles are compressed rows: where each begins, and item numbers in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import NotFittedError, ParameterError, ParameterTypeError
from ..interactions import Interactions
from ..recommendations import Recommendations

__all__ = ["Floats", "Profiles", "ScoringModel"]

Floats = NDArray[np.float64]
Profiles = tuple[NDArray[np.int64], NDArray[np.int32]]
Self = TypeVar("Self", bound="ScoringModel")

# Scores that are held at a time when recommending: 32 MB.
_BLOCK = 1 << 22


class ScoringModel(ABC):
    """A model that scores all items for profiles. Its parameters are those of its constructor."""

    _interactions: Interactions

    @abstractmethod
    def _learn(self, interactions: Interactions) -> None:
        """Take from the interactions whatever scores need."""

    @abstractmethod
    def _scored(self, profiles: Profiles) -> Floats:
        """Scores of all items for u profiles, none of them empty, as a fresh (u, items) array."""

    def fit(self: Self, interactions: Interactions) -> Self:
        """Learn from interactions."""
        if not isinstance(interactions, Interactions):
            raise ParameterTypeError(
                f"{type(self).__name__} fits Interactions, not {type(interactions).__name__}; make "
                "them with Interactions.from_frame, from_matrix, from_pairs or from_files"
            )
        self._learn(interactions)
        self._interactions = interactions
        self._popularity = interactions.popularity()
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - scikit-learn's
        """The constructor's parameters, by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self: Self, **params: Any) -> Self:
        """Set some of the constructor's parameters; they count from the next fit on."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)
        return self

    @property
    def interactions(self) -> Interactions:
        """What the model was fitted on."""
        if not hasattr(self, "_interactions"):
            raise NotFittedError(
                f"this {type(self).__name__} has seen no data yet; call fit(interactions) first"
            )
        return self._interactions

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        fitted = getattr(self, "_interactions", None)
        state = ", not fitted" if fitted is None else f" on {fitted!r}"
        return f"{type(self).__name__}({given}){state}"

    def recommend(
        self,
        users: Sequence[Hashable] | NDArray[Any] | None = None,
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
        """
        known = self.interactions.users
        rows = self._rows(users)
        ids = [known[int(row)] for row in rows]
        return self._ranked(ids, self._histories(rows), n, exclude_seen, candidates, exclude)

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
        lists = self._profiles(profiles)
        return self._ranked(None, lists, n, exclude_seen, candidates, exclude)

    def score(
        self, users: Sequence[Hashable] | None = None, items: Sequence[Hashable] | None = None
    ) -> Floats:
        """Scores of items for users, as a (users, items) matrix; NaN for users with no history."""
        return self._scores(self._histories(self._rows(users)), items)

    def score_profiles(
        self, profiles: Iterable[Iterable[Hashable]], items: Sequence[Hashable] | None = None
    ) -> Floats:
        """The same for people with these items, whether they were there at training or not."""
        return self._scores(self._profiles(profiles), items)

    def _rows(self, users: Sequence[Hashable] | NDArray[Any] | None) -> NDArray[np.int64]:
        known = self.interactions.users
        return np.arange(len(known)) if users is None else known.numbers(users)

    def _histories(self, rows: NDArray[np.int64]) -> Profiles:
        return _joined([self.interactions.row(int(row)) for row in rows])

    def _profiles(self, lists: Iterable[Iterable[Hashable]]) -> Profiles:
        numbers = self.interactions.items.numbers
        return _joined([np.unique(numbers(items)) for items in lists])

    def _scores(self, profiles: Profiles, items: Sequence[Hashable] | None) -> Floats:
        start, own = profiles
        lengths = np.diff(start)
        some = lengths > 0
        out = np.full((len(lengths), len(self.interactions.items)), np.nan)
        if some.any():  # empty profiles take no place among the items, so that own stays as it is
            out[some] = self._scored((np.concatenate(([0], np.cumsum(lengths[some]))), own))
        return out if items is None else out[:, self.interactions.items.numbers(items)]

    def _ranked(
        self,
        users: list[Any] | None,
        profiles: Profiles,
        n: int,
        exclude_seen: bool,
        candidates: Iterable[Hashable] | None,
        exclude: Iterable[Hashable] | None,
    ) -> Recommendations:
        from .._compiled.ranking import best

        items = self.interactions.items
        n = _whole(n, len(items))
        barred = self._barred(candidates, exclude)
        empty = np.diff(profiles[0]) == 0
        chosen = np.full((len(empty), n), -1, np.int32)
        values = np.full((len(empty), n), np.nan)
        nothing = np.zeros(len(items))
        for first, part in _blocks(profiles, max(1, _BLOCK // len(items))):
            scores = self._scores(part, None)
            for k, row in enumerate(scores):
                if empty[first + k]:
                    row[:] = self._popularity
                row[barred] = -np.inf
                if exclude_seen:
                    row[part[1][part[0][k] : part[0][k + 1]]] = -np.inf
                best(row, nothing, 0.0, 0.0, n, chosen[first + k], values[first + k])
        return Recommendations(users, items.names(chosen), values, empty)

    def _barred(
        self, candidates: Iterable[Hashable] | None, exclude: Iterable[Hashable] | None
    ) -> NDArray[np.bool_]:
        """Items that nobody gets."""
        items = self.interactions.items
        barred = np.full(len(items), candidates is not None)
        if candidates is not None:
            barred[items.numbers(candidates)] = False
        if exclude is not None:
            barred[items.numbers(exclude)] = True
        return barred


def _joined(parts: Sequence[NDArray[Any]]) -> Profiles:
    start = np.cumsum([0, *(len(part) for part in parts)])
    return start, np.concatenate([*parts, np.empty(0, np.int32)]).astype(np.int32)


def _blocks(profiles: Profiles, size: int) -> Iterator[tuple[int, Profiles]]:
    """Some profiles after others, each time with the number of the first."""
    start, own = profiles
    for first in range(0, len(start) - 1, size):
        part = start[first : first + size + 1]
        yield first, (part - part[0], own[part[0] : part[-1]])


def _whole(n: Any, most: int) -> int:
    """A number of items, which is never more than there are."""
    real = isinstance(n, int | float | np.integer | np.floating)
    if not real or not 0 <= n < np.inf or n != int(n):
        raise ParameterError(f"n must be a whole number from 0 on, not {n!r}")
    return min(int(n), most)
