"""A fitted model as an immutable value: arrays and numbers, without ids or histories.

Almost every model has the form

    score_j = b_j + Σ_{i ∈ profile} α_i · W_ij

and differs in the operator W, the profile weights α and the offset b. A `Scorer` scores profiles,
which are `Rows` of item numbers; it is what gets saved, loaded and shared between processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from ..storage.state import State

Floats = NDArray[np.float64]
Items = NDArray[np.int32]

# Scores held at once when ranking: 32 MB.
_BLOCK = 1 << 22


class Scorer(State, ABC):
    """Scores of all items for profiles. No profile that it is given is empty.

    `parts` and `similar` are optional: a scorer that defines them explains scores by the items of a
    profile, and compares items with each other.

    Scorers of models with `recency` also take ``weights`` in `scores` and `parts`: a factor for
    each entry of the profiles, in their order; None for 1.
    """

    @property
    @abstractmethod
    def items(self) -> int:
        """Number of items."""

    @abstractmethod
    def scores(self, profiles: Rows) -> Floats:
        """(u, m) Return the scores of all items for each profile as a new array."""

    def top(
        self,
        profiles: Rows,
        n: int,
        hidden: NDArray[np.int64],
        exclude_own: bool,
        weights: Floats | None = None,
    ) -> tuple[Items, Floats]:
        """(u, n) Return the best items and their scores; -1 and NaN if there are fewer.

        Left out are ``hidden`` items, and with ``exclude_own`` those of the profile.
        """
        from .._compiled.ranking import best

        chosen = np.full((profiles.n_rows, n), -1, np.int32)
        scores = np.full((profiles.n_rows, n), np.nan)
        base = np.zeros(self.items)
        size = max(1, _BLOCK // max(self.items, 1))
        for first in range(0, profiles.n_rows, size):
            part = profiles.part(first, min(first + size, profiles.n_rows))
            own = part_of(weights, profiles, first, first + part.n_rows)
            for k, row in enumerate(self.scores(part, **given(own))):
                row[hidden] = -np.inf
                if exclude_own:
                    row[part.row(k)] = -np.inf
                best(row, base, 0.0, n, chosen[first + k], scores[first + k])
        return chosen, scores

    def parts(self, profile: Items, item: int) -> Floats:
        """Return what each item of a profile adds to the score of an item."""
        raise TypeError(f"{type(self).__name__} does not explain {item} for {profile}")

    def parts_each(
        self, profile: Items, items: Sequence[int], weights: Floats | None = None
    ) -> list[Floats]:
        """Return the parts of the scores of several items for one profile."""
        return [self.parts(profile, item, **given(weights)) for item in items]

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

    def score(self, profile: Items, item: int, weights: Floats | None = None) -> float:
        """Return the score of one item for one profile."""
        return float(self.scores(Rows.of_lists([profile]), **given(weights))[0, item])


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


def weighed(parts: Floats, weights: Floats | None) -> Floats:
    """Return parts of a score times the weights of the items."""
    return parts if weights is None else parts * weights


def part_of(weights: Floats | None, profiles: Rows, start: int, stop: int) -> Floats | None:
    """Return the weights of the rows from start to stop."""
    return None if weights is None else weights[profiles.indptr[start] : profiles.indptr[stop]]


def given(weights: Floats | None) -> dict[str, Any]:
    """Return weights as an argument; none without weights, for scorers that do not take them."""
    return {} if weights is None else {"weights": weights}
