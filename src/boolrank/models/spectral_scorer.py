"""Scores by a sparse + low-rank operator.

score_j = Σ w_i·(S_ij + L_i·R_j)   over the items i of a profile
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
from .subspace import Singles


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
        # Unsigned indices need no test for counting from the end: a sixth faster.
        return self.indptr, self.columns.view(np.uint32), self.values, self.own

    @cached_property
    def _across(self) -> Floats:
        """(k, m) The right factors as doubles: converting them anew for each profile costs more."""
        return np.ascontiguousarray(self.right.T, np.float64)

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.diff(self.indptr)

    @cached_property
    def _norms(self) -> Floats:
        norms: Floats = np.linalg.norm(self.right.astype(np.float64), axis=1)
        return norms

    @cached_property
    def _outline(self) -> Any:
        from .._compiled.low_rank import Outline

        return Outline.of(self.right)

    def _sums(self, profiles: Profiles) -> Floats:
        """(u, k) Return the sum of the left factors of each profile's items."""
        from .._compiled.low_rank import sum_rows

        out = np.empty((profiles.n_rows, self.left.shape[1]))
        sum_rows(out, self.left, *profiles)
        return out

    def scores(self, profiles: Profiles) -> Floats:
        from .._compiled.low_rank import GRID, add_products, add_sparse

        out = np.empty((profiles.n_rows, self.items))
        add_sparse(out, self._sparse, *profiles)
        add_products(out, self._sums(profiles), self._across, self._norms, GRID)
        return out

    def top(
        self, profiles: Profiles, n: int, hidden: NDArray[np.int64], exclude_own: bool
    ) -> Ranked:
        """Rank by products in single precision, and score what these cannot rule out."""
        from .._compiled.low_rank import rank_near

        operator = self._sparse, self.right, self._norms, self._outline
        lists, sums = empty_lists(profiles.n_rows, n), self._sums(profiles)
        request = hidden, exclude_own, profiles.by_longest_row(self._lengths)
        rank_near(lists, sums, operator, tuple(profiles), request)
        return lists

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        own, out = profile.indices, list[Floats]()
        left = self.left[own].astype(np.float64)
        for item in items:
            parts = (left * self.right[item]).sum(axis=1)
            parts += column_of(item, own, self.indptr, self.columns, self.values)
            parts[own == item] += self.own[item]
            out.append(profile.weigh(parts))
        return self.settled_parts(profile, items, out)

    def similar(self, item: int) -> tuple[Floats, Floats]:
        (row,) = self.scores(Profiles.of_lists([[item]]))
        return row, row
