"""Scores as sums of sparse rows: score_j = Σ w_i·W_ij over the items i of a profile."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from ..storage.state import array
from .scorer import Floats, Scorer, column_of, weighed


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

    def scores(self, profiles: Rows, weights: Floats | None = None) -> Floats:
        from .._compiled.weights import add_up_sparse

        out = np.empty((profiles.n_rows, self.items))
        add_up_sparse(out, self.indptr, self.columns, self.values, *profiles, weights)
        return out

    @cached_property
    def _layout(self) -> Any:
        """All items in one class: those that no row reaches score 0."""
        from .._compiled.reach import Layout

        return Layout.of(np.zeros(self.items), np.zeros(self.items, np.int32), 1)

    def top(
        self,
        profiles: Rows,
        n: int,
        hidden: NDArray[np.int64],
        exclude_own: bool,
        weights: Floats | None = None,
    ) -> tuple[NDArray[np.int32], Floats]:
        from .._compiled.reach import rank_sums

        chosen = np.full((profiles.n_rows, n), -1, np.int32)
        scores = np.full((profiles.n_rows, n), np.nan)
        sparse, request = (self.indptr, self.columns, self.values), (hidden, exclude_own)
        layout = self._layout.without(hidden)
        rank_sums((chosen, scores), sparse, layout, (*profiles, weights), request)
        return chosen, scores

    def parts(self, profile: NDArray[np.int32], item: int, weights: Floats | None = None) -> Floats:
        return weighed(column_of(item, profile, self.indptr, self.columns, self.values), weights)

    def similar(self, item: int) -> tuple[Floats, Floats]:
        row = self._row(item)
        return row, row

    def _row(self, item: int) -> Floats:
        row = np.zeros(self.items)
        part = slice(self.indptr[item], self.indptr[item + 1])
        row[self.columns[part]] = self.values[part]
        return row
