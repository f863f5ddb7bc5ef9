"""Ranked items of several users, with names and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Recommendations:
    """Ranked items of several users, best first.

    Attributes
    ----------
    users : (u,) ids, or None for profiles without one
    items : (u, n) ids, None where there are fewer than n; where n is more than there are items
        at all, that many columns
    scores : (u, n) scores, NaN where there are fewer than n
    popular : (u,) True where a history was empty, so that the popular items stand in its place
    """

    users: list[Any] | None
    items: NDArray[Any]
    scores: NDArray[np.float64]
    popular: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.items)

    def lists(self) -> list[list[Any]]:
        """The items of each user as a list of its own length."""
        return [
            [item for item, score in zip(row, scores, strict=True) if not np.isnan(score)]
            for row, scores in zip(self.items.tolist(), self.scores.tolist(), strict=True)
        ]
