"""Items with exactly the same users: equal columns of the interactions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """m items in u groups with the same users, in the order of their first items.

    Attributes
    ----------
    group : (m,) group of each item
    start : (u + 1,) where the items of each group begin
    members : (m,) items by group, ascending within each

    >>> data = Interactions.from_pairs([1, 1, 1, 2], ["a", "b", "c", "b"])
    >>> ItemGroups.of(data).group
    array([0, 1, 0], dtype=int32)
    """

    group: NDArray[np.int32]
    start: NDArray[np.int64]
    members: NDArray[np.int32]

    @staticmethod
    def of(interactions: Interactions, apart: NDArray[np.bool_] | None = None) -> ItemGroups:
        """Return the groups; items that are ``apart`` (m,) get groups of their own."""
        from .._compiled.rows import column_sums

        items = len(interactions.items)
        sums = column_sums(interactions.indptr, interactions.indices, items)
        _, which, often = np.unique(sums, return_inverse=True, return_counts=True)
        unsure = often[which] > 1
        if apart is not None:
            unsure &= ~apart
        numbers: dict[object, int] = {}
        keys = list[object](range(items))
        for item, users in _users_of(interactions, unsure):
            keys[item] = users
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
        return ItemGroups.by_number(group, len(numbers))

    @staticmethod
    def by_number(group: NDArray[np.int32], count: int) -> ItemGroups:
        """Return groups from the group number of each item."""
        from .._compiled.rows import transposed

        start, members, _ = transposed(np.arange(len(group) + 1), group, count)
        return ItemGroups(group, start, members)

    @property
    def first(self) -> NDArray[np.int32]:
        """(u,) First item of each group, which represents it."""
        return self.members[self.start[:-1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(u,) Number of items of each group."""
        return np.diff(self.start)

    def representatives(self, interactions: Interactions) -> Interactions:
        """Return the same users with the first item of each group only."""
        chosen = np.zeros(len(self.group), bool)
        chosen[self.first] = True
        kept = chosen[interactions.indices]
        return Interactions(
            interactions.users,
            interactions.items.chosen(chosen),
            np.concatenate(([0], np.cumsum(kept)))[interactions.indptr],
            self.group[interactions.indices[kept]],
        )


def _users_of(interactions: Interactions, chosen: NDArray[np.bool_]) -> Iterator[tuple[int, bytes]]:
    """Yield each chosen item with its users as bytes."""
    at = np.flatnonzero(chosen[interactions.indices])
    items = interactions.indices[at]
    order = np.argsort(items, kind="stable")
    users = (np.searchsorted(interactions.indptr, at, side="right") - 1)[order]
    ends = np.cumsum(np.bincount(items, minlength=len(chosen)))
    for item in np.flatnonzero(chosen).tolist():
        yield item, users[ends[item - 1] if item else 0 : ends[item]].tobytes()
