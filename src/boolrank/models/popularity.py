"""Popularity: items by their number of users, the same for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..storage.state import array
from .profiles import Profiles
from .recommender import Recommender
from .scorer import Floats, Ranked, Scorer, empty_lists


@dataclass(frozen=True, eq=False)
class PopularityScorer(Scorer):
    """The users of each item as its score."""

    kind: ClassVar[str] = "popularity"

    sizes: NDArray[np.int64] = array("int64", "items", low=0)

    @property
    def items(self) -> int:
        return len(self.sizes)

    def scores(self, profiles: Profiles) -> Floats:
        return np.tile(self.sizes.astype(np.float64), (profiles.n_rows, 1))

    @cached_property
    def _layout(self) -> Any:
        from .._compiled.reach import Layout

        return Layout.of(self.sizes.astype(np.float64), np.zeros(self.items, np.int32), 1)

    def top(
        self, profiles: Profiles, n: int, hidden: NDArray[np.int64], exclude_own: bool
    ) -> Ranked:
        """Take the first items of one order: the case of sparse rows without entries."""
        from .._compiled.reach import rank_sums

        lists = empty_lists(profiles.n_rows, n)
        sparse = np.zeros(self.items + 1, np.int64), np.empty(0, np.int32), np.empty(0)
        layout, request = self._layout.without(hidden), (hidden, exclude_own)
        rank_sums(lists, sparse, layout, tuple(profiles), request)
        return lists


@dataclass(repr=False, eq=False)
class Popularity(Recommender):
    """Rank items by their number of users; ties by the order of ids.

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = Popularity().fit(data)
    >>> model.recommend([2, 3], n=2).lists()
    [['b'], ['a', 'c']]
    >>> model.score([3])
    array([[2., 2., 1.]])
    """

    scorers: ClassVar = (PopularityScorer,)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> PopularityScorer:  # noqa: ARG002
        return PopularityScorer(data.popularity())
