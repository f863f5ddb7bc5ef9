"""Items that exactly the same users have: equal columns of the interactions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..interactions import Interactions

__all__ = ["Alike"]


@dataclass(frozen=True, eq=False)
class Alike:
    """The m items in u groups of those with the same users, in the order of their first items.

    Attributes
    ----------
    group : (m,) the group of each item
    start : (u + 1,) where the items of each group begin
    members : (m,) the items, group by group, in order within each

    >>> data = Interactions.from_pairs([1, 1, 1, 2], ["a", "b", "c", "b"])
    >>> Alike.of(data).group
    array([0, 1, 0], dtype=int32)
    """

    group: NDArray[np.int32]
    start: NDArray[np.int64]
    members: NDArray[np.int32]

    @staticmethod
    def of(interactions: Interactions, apart: NDArray[np.bool_] | None = None) -> Alike:
        """The groups; an item that is ``apart`` (m,) has one of its own, whoever has it."""
        from .._compiled.rows import transposed

        items = len(interactions.items)
        start, users, _ = transposed(interactions.indptr, interactions.indices, items)
        every, ends = users.tobytes(), (users.itemsize * start).tolist()
        keys: list[object] = [every[begin:end] for begin, end in pairwise(ends)]
        if apart is not None:
            for item in np.flatnonzero(apart).tolist():
                keys[item] = item
        numbers: dict[object, int] = {}
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
        start, members, _ = transposed(np.arange(items + 1), group, len(numbers))
        return Alike(group, start, members)

    @property
    def first(self) -> NDArray[np.int32]:
        """(u,) the first item of each group, which stands for all."""
        return self.members[self.start[:-1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(u,) how many items each group has."""
        return np.diff(self.start)

    def one_each(self, interactions: Interactions) -> Interactions:
        """The same users with the first item of each group only."""
        chosen = np.zeros(len(self.group), bool)
        chosen[self.first] = True
        kept = chosen[interactions.indices]
        return Interactions(
            interactions.users,
            interactions.items.chosen(chosen),
            np.concatenate(([0], np.cumsum(kept)))[interactions.indptr],
            self.group[interactions.indices[kept]],
        )
