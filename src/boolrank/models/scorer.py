"""A fitted model as an immutable value: arrays and numbers, without ids or histories.

Almost every model has the form

    score_j = b_j + Σ_{i ∈ profile} α_i · W_ij

and differs in the operator W, the profile weights α and the offset b. A `Scorer` scores `Profiles`
of item numbers; it is what gets saved, loaded and shared between processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..storage.state import State
from .profiles import Profiles

Floats = NDArray[np.float64]
Items = NDArray[np.int32]
Ranked = tuple[Items, Floats]  # items and scores of lists

# Scores held at once when ranking: 32 MB.
_BLOCK = 1 << 22


class Scorer(State, ABC):
    """Scores of all items for profiles. No profile that it is given is empty.

    `parts` and `similar` are optional: a scorer that defines them explains scores by the items of a
    profile, and compares items with each other.

    Profiles have weights only where the model has a parameter `recency`.
    """

    @property
    @abstractmethod
    def items(self) -> int:
        """Number of items."""

    @abstractmethod
    def scores(self, profiles: Profiles) -> Floats:
        """(u, m) Return the scores of all items for each profile as a new array."""

    def top(
        self, profiles: Profiles, n: int, hidden: NDArray[np.int64], exclude_own: bool
    ) -> Ranked:
        """(u, n) Return the best items and their scores; -1 and NaN if there are fewer.

        Left out are ``hidden`` items, and with ``exclude_own`` those of the profile.
        """
        from .._compiled.ranking import best

        chosen, scores = empty_lists(profiles.n_rows, n)
        base = np.zeros(self.items)
        size = max(1, _BLOCK // max(self.items, 1))
        for first in range(0, profiles.n_rows, size):
            part = profiles.part(first, min(first + size, profiles.n_rows))
            for k, row in enumerate(checked_scores(self, part)):
                row[hidden] = -np.inf
                if exclude_own:
                    row[part.row(k)] = -np.inf
                best(row, base, 0.0, n, chosen[first + k], scores[first + k])
        return chosen, scores

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        """Return, for each item, what the entries of one profile add to its score."""
        raise TypeError(f"{type(self).__name__} does not explain {items} for {profile}")

    def settled_parts(
        self, profile: Profiles, items: Sequence[int], parts: list[Floats]
    ) -> list[Floats]:
        """Return parts that add up to rounded scores: each is changed in proportion to its size."""
        others = np.delete(np.arange(self.items), items)
        chosen, scores = self.top(profile, len(items), others, exclude_own=False)
        score = dict(zip(chosen[0].tolist(), scores[0].tolist(), strict=True))
        sizes = [abs(each) / max(abs(each).sum(), 1e-300) for each in parts]
        each_item = zip(items, parts, sizes, strict=True)
        return [each + share * (score[item] - each.sum()) for item, each, share in each_item]

    def similar(self, item: int) -> tuple[Floats, Floats]:
        """(m,) Return keys that order all items by similarity to one, and values to show."""
        raise TypeError(f"{type(self).__name__} does not compare {item}")

    @classmethod
    def explains(cls) -> bool:
        """Return whether scores are sums of parts."""
        return cls.parts is not Scorer.parts

    @classmethod
    def compares(cls) -> bool:
        """Return whether items can be compared."""
        return cls.similar is not Scorer.similar


def checked_scores(scorer: Scorer, profiles: Profiles) -> Floats:
    """(u, m) Return the scores of all items for each profile; raise if the shape is another."""
    found = np.asarray(scorer.scores(profiles), np.float64)
    if found.shape != (profiles.n_rows, scorer.items):
        raise InputError(
            f"{type(scorer).__name__} gives scores of shape {found.shape} for {profiles.n_rows} "
            f"profiles and {scorer.items} items",
            hint="return a row for each profile and a column for each item",
        )
    return found


def empty_lists(count: int, n: int) -> Ranked:
    """(count, n) Return lists without items: -1, with scores of NaN."""
    return np.full((count, n), -1, np.int32), np.full((count, n), np.nan)


def column_of(
    item: int,
    rows: Items,
    indptr: NDArray[np.int64],
    columns: Items,
    values: NDArray[Any],
) -> Floats:
    """Return the values of a column in some of the compressed sparse rows; 0 where none is stored.

    >>> column_of(
    ...     1, np.array([1, 0]), np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([5, 6, 7])
    ... )
    array([0., 6.])
    """
    out = np.zeros(len(rows))
    for k, row in enumerate(rows):
        part = slice(indptr[row], indptr[row + 1])
        out[k] = values[part][columns[part] == item].sum()
    return out
