"""Ranked items of several users, with names and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._extras import needs
from ._html import MOST_ROWS, html_table

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations:
    """Ranked items of several users, best first.

    Attributes
    ----------
    users : (u,) ids, of items where the nearest to them are asked for; None for profiles
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

    def __repr__(self) -> str:
        whose = "profiles" if self.users is None else "users"
        text = f"Recommendations: up to {self.items.shape[1]:,} items for {len(self):,} {whose}"
        popular = int(self.popular.sum())
        return text + (f", {popular:,} of them by popularity alone" if popular else "")

    def _repr_html_(self) -> str:
        some = replace(
            self,
            users=None if self.users is None else self.users[:MOST_ROWS],
            items=self.items[:MOST_ROWS],
            scores=self.scores[:MOST_ROWS],
            popular=self.popular[:MOST_ROWS],
        ).to_dict()
        if not self.popular.any():
            del some["popular"]
        total = int(np.count_nonzero(~np.isnan(self.scores)))
        note = f"the first {MOST_ROWS} of {total:,} rows" if total > MOST_ROWS else ""
        for ids in ("user", "item"):  # as they are: ids that are numbers count nothing
            some[ids] = [str(key) for key in some[ids]]
        names = ("profile" if self.users is None else "user"), *list(some)[1:]
        return html_table(repr(self), names, zip(*some.values(), strict=True), note)

    def lists(self) -> list[list[Any]]:
        """The items of each user as a list of its own length."""
        return [
            [item for item, score in zip(row, scores, strict=True) if not np.isnan(score)]
            for row, scores in zip(self.items.tolist(), self.scores.tolist(), strict=True)
        ]

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns with a row per item: user (for profiles, its number), rank, item, score, popular.

        >>> import numpy as np
        >>> items = np.array([["tea", None]], dtype=object)
        >>> found = Recommendations(["ann"], items, np.array([[0.5, np.nan]]), np.array([False]))
        >>> found
        Recommendations: up to 2 items for 1 users
        >>> found.to_dict()
        {'user': ['ann'], 'rank': [1], 'item': ['tea'], 'score': [0.5], 'popular': [False]}
        """
        there = ~np.isnan(self.scores)
        rows, places = np.nonzero(there)
        users = range(len(self)) if self.users is None else self.users
        return {
            "user": [users[row] for row in rows.tolist()],
            "rank": (places + 1).tolist(),
            "item": self.items[there].tolist(),
            "score": self.scores[there].tolist(),
            "popular": self.popular[rows].tolist(),
        }

    def to_frame(self) -> pl.DataFrame:
        """The same as a polars frame."""
        with needs("cli", "A frame of recommendations"):
            import polars as pl

        types = {"rank": pl.Int64, "score": pl.Float64, "popular": pl.Boolean}  # if there are none
        return pl.DataFrame(self.to_dict(), schema_overrides=types)
