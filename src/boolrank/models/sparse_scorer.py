"""Scores as sums of sparse rows: score_j = Σ W_ij over the items i of a profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from ..storage.state import array
from .scorer import Floats, Scorer


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

    def scores(self, profiles: Rows) -> Floats:
        from .._compiled.weights import add_up_sparse

        out = np.empty((profiles.n_rows, self.items))
        add_up_sparse(out, self.indptr, self.columns, self.values, *profiles)
        return out

    def parts(self, profile: NDArray[np.int32], item: int) -> Floats:
        return np.array([self._row(int(own))[item] for own in profile])

    def similar(self, item: int) -> tuple[Floats, Floats]:
        row = self._row(item)
        return row, row

    def _row(self, item: int) -> Floats:
        row = np.zeros(self.items)
        part = slice(self.indptr[item], self.indptr[item + 1])
        row[self.columns[part]] = self.values[part]
        return row
