"""Scores as sums of sparse rows: score_j = Σ w_i·W_ij over the items i of a profile.

Items that no row of a profile reaches come after those with positive scores, most popular first:
they score 2^-1000 times their number of users, which is too small to change a digit of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..storage.state import array
from .profiles import Profiles
from .scorer import Floats, Ranked, Scorer, column_of, empty_lists

# Exponent of the score of an item for each of its users, if no row reaches it.
_BELOW_ALL = -1000


@dataclass(frozen=True, eq=False)
class SparseScorer(Scorer):
    """An operator in compressed sparse rows: row i is what item i adds to the scores of others.

    ``users`` are those of each item; without them, items that are not reached are in order of ids.
    """

    kind: ClassVar[str] = "sparse"

    indptr: NDArray[np.int64] = array("int64", "items+1", low=0, divides=("columns", "values"))
    columns: NDArray[np.int32] = array("int32", "*", low=0, high="items")
    values: Floats = array("float64", "*")
    users: NDArray[np.int64] | None = array("int64", "items", low=0, optional=True)

    @property
    def items(self) -> int:
        return len(self.indptr) - 1

    def scores(self, profiles: Profiles) -> Floats:
        from .._compiled.weights import add_up_sparse

        out = np.empty((profiles.n_rows, self.items))
        add_up_sparse(out, self._base, self.indptr, self.columns, self.values, *profiles)
        return out

    @cached_property
    def _base(self) -> Floats:
        """(m,) Scores of items that no row reaches."""
        users = np.zeros(self.items) if self.users is None else self.users.astype(np.float64)
        return np.ldexp(users, _BELOW_ALL)

    @cached_property
    def _layout(self) -> Any:
        """All items in one class, ordered as if no row reached them."""
        from .._compiled.reach import Layout

        return Layout.of(self._base, np.zeros(self.items, np.int32), 1)

    def top(
        self, profiles: Profiles, n: int, hidden: NDArray[np.int64], exclude_own: bool
    ) -> Ranked:
        from .._compiled.reach import rank_sums

        lists = empty_lists(profiles.n_rows, n)
        sparse, layout = (self.indptr, self.columns, self.values), self._layout.without(hidden)
        rank_sums(lists, sparse, layout, tuple(profiles), (hidden, exclude_own))
        return lists

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        sparse = profile.indices, self.indptr, self.columns, self.values
        return [profile.weigh(column_of(item, *sparse)) for item in items]

    def similar(self, item: int) -> tuple[Floats, Floats]:
        row = np.zeros(self.items)
        part = slice(self.indptr[item], self.indptr[item + 1])
        row[self.columns[part]] = self.values[part]
        return row, row
