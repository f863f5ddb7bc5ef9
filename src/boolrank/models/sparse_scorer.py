"""Scores as sums of sparse rows: score_j = Σ w_i·W_ij over the items i of a profile."""

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


@dataclass(frozen=True, eq=False)
class SparseScorer(Scorer):
    """An operator in compressed sparse rows: row i is what item i adds to the scores of others."""

    kind: ClassVar[str] = "sparse"

    indptr: NDArray[np.int64] = array("int64", "items+1", low=0, divides=("columns", "values"))
    columns: NDArray[np.int32] = array("int32", "*", low=0, high="items")
    values: Floats = array("float64", "*")

    @property
    def items(self) -> int:
        return len(self.indptr) - 1

    def scores(self, profiles: Profiles) -> Floats:
        from .._compiled.weights import add_up_sparse

        out = np.empty((profiles.n_rows, self.items))
        add_up_sparse(out, self.indptr, self.columns, self.values, *profiles)
        return out

    @cached_property
    def _layout(self) -> Any:
        """All items in one class: those that no row reaches score 0."""
        from .._compiled.reach import Layout

        return Layout.of(np.zeros(self.items), np.zeros(self.items, np.int32), 1)

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
        row = self._row(item)
        return row, row

    def _row(self, item: int) -> Floats:
        row = np.zeros(self.items)
        part = slice(self.indptr[item], self.indptr[item + 1])
        row[self.columns[part]] = self.values[part]
        return row
