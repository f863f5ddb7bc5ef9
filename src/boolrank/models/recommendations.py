"""Ranked items of several users, with names and scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._extras import needs
from ..table import MAX_HTML_ROWS, Table, counted

if TYPE_CHECKING:
    import polars as pl


# Names of columns.
_BEST = ("user", "rank", "item", "title", "score", "popular")
_NEAR = ("item", "rank", "similar", "title", "similarity")


@dataclass(frozen=True, eq=False, repr=False)
class Recommendations:
    """Ranked items of several users, best first.

    Attributes
    ----------
    users : (u,) ids of users, or of items in `similar_items`; None for profiles
    items : (u, n) ids, padded with None; n is at most the number of items
    scores : (u, n) scores, padded with NaN
    popular : (u,) whether a history is empty, so that the list has the most popular items
    near : whether lists have the nearest items of items
    titles : (u, n) titles, None for items without one; None without an item table
    """

    users: list[Any] | None
    items: NDArray[Any]
    scores: NDArray[np.float64]
    popular: NDArray[np.bool_]
    near: bool = False
    titles: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        whose = "profile" if self.users is None else "item" if self.near else "user"
        what = "Nearest items" if self.near else "Recommendations"
        most = counted(self.items.shape[1], "item")
        text = f"{what}: up to {most} for {counted(len(self), whose)}"
        popular = int(self.popular.sum())
        return text + (f", {popular:,} of them by popularity alone" if popular else "")

    def _repr_html_(self) -> str:
        first = slice(MAX_HTML_ROWS)
        users = None if self.users is None else self.users[first]
        titles = None if self.titles is None else self.titles[first]
        shown = self.items[first], self.scores[first], self.popular[first]
        some = Recommendations(users, *shown, self.near, titles).to_dict()
        if not self.popular.any():
            some.pop("popular", None)
        total = int(np.count_nonzero(~np.isnan(self.scores)))
        note = f"the first {MAX_HTML_ROWS} of {total:,} rows" if total > MAX_HTML_ROWS else ""
        whose, rank, second, *rest = some
        for ids in (whose, second):  # as text: ids that are numbers are not quantities
            some[ids] = [str(key) for key in some[ids]]
        names = ("profile" if self.users is None else whose), rank, second, *rest
        rows = zip(*some.values(), strict=True)
        return Table.of(repr(self), names, rows, note=note).to_html()

    def lists(self) -> list[list[Any]]:
        """The items of each user as a list of its own length."""
        return [
            [item for item, score in zip(row, scores, strict=True) if not np.isnan(score)]
            for row, scores in zip(self.items.tolist(), self.scores.tolist(), strict=True)
        ]

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns with a row per item: user (for profiles, its number), rank, item, score, popular.

        For nearest items: item, rank, similar, similarity. With an item table, titles follow items.

        >>> import numpy as np
        >>> items = np.array([["tea", None]], dtype=object)
        >>> found = Recommendations(["ann"], items, np.array([[0.5, np.nan]]), np.array([False]))
        >>> found
        Recommendations: up to 2 items for 1 user
        >>> found.to_dict()
        {'user': ['ann'], 'rank': [1], 'item': ['tea'], 'score': [0.5], 'popular': [False]}
        """
        there = ~np.isnan(self.scores)
        rows, places = np.nonzero(there)
        users = range(len(self)) if self.users is None else self.users
        columns = (
            [users[row] for row in rows.tolist()],
            (places + 1).tolist(),
            self.items[there].tolist(),
            [] if self.titles is None else self.titles[there].tolist(),
            self.scores[there].tolist(),
            self.popular[rows].tolist(),
        )
        named = dict(zip(_NEAR if self.near else _BEST, columns, strict=False))
        if self.titles is None:
            named.pop("title")
        return named

    def to_frame(self) -> pl.DataFrame:
        """The same as a polars frame."""
        with needs("cli", "A frame of recommendations"):
            import polars as pl

        found = self.to_dict()
        # If there are no rows.
        kinds: dict[str, Any] = {"rank": pl.Int64, "score": pl.Float64, "popular": pl.Boolean}
        kinds |= {"similarity": pl.Float64, "title": pl.String}
        types = {name: kind for name, kind in kinds.items() if name in found}
        return pl.DataFrame(found, schema_overrides=types)
