"""Matrix factorisations: the score of an item is the product of its factors and the user's.

The factors of a user follow from the profile. ALS solves for them. Other libraries know factors of
their training users only: a profile equal to that of training users gets their mean factors, and
any other is folded in by the linear map, from the mean factors of its items, that comes closest to
what the library learned of its users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..data.rows import Rows
from ..storage.state import array
from .profiles import Profiles
from .scorer import Floats, Scorer

# Ridge of the map, relative to what it is fitted on: with fewer users than factors it would
# otherwise follow each of them exactly.
_RIDGE = 1e-3


def _cosines(factors: Floats, item: int) -> tuple[Floats, Floats]:
    """(m,) Return the cosines of an item's factors with those of all items, twice."""
    lengths = np.linalg.norm(factors, axis=1)
    cosines = factors @ factors[item] / np.maximum(lengths * lengths[item], 1e-300)
    return cosines, cosines


@dataclass(frozen=True, eq=False)
class AlsScorer(Scorer):
    """Item factors of ALS; a user's factors solve a weighted least-squares problem.

    With Y the factors of items and Y_I those of a profile,

        x = (YᵀY + (confidence - 1)·Y_IᵀY_I + reg·1)⁻¹ · confidence·Σ Y_i.
    """

    kind: ClassVar[str] = "als"

    factors: Floats = array("float64", "items", "factors", low=-1e15, high=1e15)
    reg: float = 0.0
    confidence: float = 1.0

    @property
    def items(self) -> int:
        return len(self.factors)

    @cached_property
    def _gram(self) -> Floats:
        gram = self.factors.T @ self.factors
        gram[np.diag_indices_from(gram)] += self.reg
        return gram

    def _system(self, profile: NDArray[np.int32]) -> Floats:
        own = self.factors[profile]
        matrix: Floats = self._gram + (self.confidence - 1) * (own.T @ own)
        return matrix

    def scores(self, profiles: Profiles) -> Floats:
        users = np.empty((profiles.n_rows, self.factors.shape[1]))
        for k in range(len(users)):
            total = self.confidence * self.factors[profiles.row(k)].sum(axis=0)
            users[k] = _solved(self._system(profiles.row(k)), total)
        return users @ self.factors.T

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        own = profile.indices
        directions = _solved(self._system(own), self.factors[items].T)
        return list((self.confidence * (self.factors[own] @ directions)).T)

    def similar(self, item: int) -> tuple[Floats, Floats]:
        return _cosines(self.factors, item)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Return the solution, or the least-squares one if the matrix is singular."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right)[0], np.float64)


@dataclass(frozen=True, eq=False)
class FoldInScorer(Scorer):
    """Factors of items and of training profiles, and the map for all other profiles.

    Attributes
    ----------
    factors : (m, f) factors of the items
    users : (p, f) factors of each distinct training profile
    indptr, indices : the p training profiles
    folding : (f + 1, f) the map; its last row is a constant
    """

    kind: ClassVar[str] = "fold-in"

    factors: Floats = array("float64", "items", "factors", low=-1e15, high=1e15)
    users: Floats = array("float64", "profiles", "factors", low=-1e15, high=1e15)
    indptr: NDArray[np.int64] = array("int64", "profiles+1", low=0, divides=("indices",))
    indices: NDArray[np.int32] = array("int32", "*", low=0, high="items")
    folding: Floats = array("float64", "factors+1", "factors", low=-1e15, high=1e15)

    @staticmethod
    def of(
        data: Interactions, users: NDArray[np.float32], items: NDArray[np.float32]
    ) -> FoldInScorer:
        """Return the scorer from learned (n, f) factors of users and (m, f) of items."""
        some = np.flatnonzero(np.diff(data.indptr) > 0)
        profiles = data.rows.take(some)
        first: dict[bytes, int] = {}
        rows = np.array([first.setdefault(key, len(first)) for key in _keys(profiles)])
        learned, factors = users[some].astype(np.float64), items.astype(np.float64)
        means = np.zeros((len(first), learned.shape[1]))
        np.add.at(means, rows, learned)
        means /= np.bincount(rows)[:, None]
        given = _mean_factors(profiles, factors)
        gram = given.T @ given
        gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
        folding = np.asarray(np.linalg.solve(gram, given.T @ learned), np.float64)
        known = profiles.take(np.unique(rows, return_index=True)[1])
        return FoldInScorer(factors, means, known.indptr, known.indices, folding)

    @property
    def items(self) -> int:
        return len(self.factors)

    @cached_property
    def _known(self) -> dict[bytes, int]:
        return {key: row for row, key in enumerate(_keys(Rows(self.indptr, self.indices)))}

    def scores(self, profiles: Profiles) -> Floats:
        rows = np.array([self._known.get(key, -1) for key in _keys(profiles)])
        users = _mean_factors(profiles, self.factors) @ self.folding
        users[rows >= 0] = self.users[rows[rows >= 0]]
        scores: Floats = users @ self.factors.T
        return scores

    def similar(self, item: int) -> tuple[Floats, Floats]:
        return _cosines(self.factors, item)


def _keys(profiles: Rows | Profiles) -> list[bytes]:
    return [profiles.row(k).astype(np.int32).tobytes() for k in range(profiles.n_rows)]


def _mean_factors(profiles: Rows | Profiles, items: Floats) -> Floats:
    """(u, f + 1) Return the mean factors of each profile's items, and 1."""
    sums = np.add.reduceat(items[profiles.indices], profiles.indptr[:-1], axis=0)
    return np.hstack([sums / profiles.lengths[:, None], np.ones((len(sums), 1))])
