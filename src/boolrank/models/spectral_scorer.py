"""Scores by a sparse + low-rank operator.

score_j = Σ w_i·(S_ij + L_i·R_j)   over the items i of a profile
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from ..storage.state import array
from .scorer import Floats, Scorer, column_of, weighed

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SpectralScorer(Scorer):
    """A sparse + low-rank operator.

    Attributes
    ----------
    indptr, columns, values : S in compressed sparse rows without its diagonal
    own : (m,) the diagonal of S
    left, right : (m, k) factors L and R, those columns first that matter most
    residual : largest ‖K·v - λ·v‖ / λ_1 of the eigenvectors behind the factors
    """

    kind: ClassVar[str] = "spectral"

    indptr: NDArray[np.int64] = array("int64", "items+1", low=0, divides=("columns", "values"))
    columns: NDArray[np.int32] = array("int32", "*", low=0, high="items")
    values: Singles = array("float32", "*", low=-1e15, high=1e15)
    own: Floats = array("float64", "items", low=-1e15, high=1e15)
    left: Singles = array("float32", "items", "factors", low=-1e15, high=1e15)
    right: Singles = array("float32", "items", "factors", low=-1e15, high=1e15)
    residual: float = 0.0

    @property
    def items(self) -> int:
        return len(self.left)

    @property
    def _sparse(self) -> tuple[NDArray[Any], ...]:
        return self.indptr, self.columns, self.values, self.own

    @cached_property
    def _across(self) -> Floats:
        """(k, m) The right factors as doubles: converting them anew for each profile costs more."""
        return np.ascontiguousarray(self.right.T, np.float64)

    @cached_property
    def _norms(self) -> Floats:
        norms: Floats = np.linalg.norm(self.right.astype(np.float64), axis=1)
        return norms

    @cached_property
    def _outline(self) -> Any:
        from .._compiled.low_rank import Outline

        return Outline.of(self.right)

    def _sums(self, profiles: Rows, weights: Floats | None) -> Floats:
        """(u, k) Return the sum of the left factors of each profile's items."""
        from .._compiled.low_rank import sum_rows

        out = np.empty((profiles.n_rows, self.left.shape[1]))
        sum_rows(out, self.left, *profiles, weights)
        return out

    def scores(self, profiles: Rows, weights: Floats | None = None) -> Floats:
        from .._compiled.low_rank import add_products, add_sparse

        out = np.empty((profiles.n_rows, self.items))
        add_sparse(out, self._sparse, *profiles, weights)
        add_products(out, self._sums(profiles, weights), self._across, self._norms)
        return out

    def top(
        self,
        profiles: Rows,
        n: int,
        hidden: NDArray[np.int64],
        exclude_own: bool,
        weights: Floats | None = None,
    ) -> tuple[NDArray[np.int32], Floats]:
        """Rank by products in single precision, and score what these cannot rule out."""
        from .._compiled.low_rank import rank_near

        chosen = np.full((profiles.n_rows, n), -1, np.int32)
        scores = np.full((profiles.n_rows, n), np.nan)
        operator = self._sparse, self.right, self._norms, self._outline
        sums = self._sums(profiles, weights)
        rank_near((chosen, scores), sums, operator, (*profiles, weights), (hidden, exclude_own))
        return chosen, scores

    def parts(self, profile: NDArray[np.int32], item: int, weights: Floats | None = None) -> Floats:
        parts = self.left[profile].astype(np.float64) @ self.right[item]
        parts += column_of(item, profile, self.indptr, self.columns, self.values)
        parts[profile == item] += self.own[item]
        return weighed(parts, weights)

    def similar(self, item: int) -> tuple[Floats, Floats]:
        row = self._row(item)
        return row, row

    def _row(self, item: int) -> Floats:
        row: Floats = self.left[item] @ self._across
        part = slice(self.indptr[item], self.indptr[item + 1])
        row[self.columns[part]] += self.values[part]
        row[item] += self.own[item]
        return row
