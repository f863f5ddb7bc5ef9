"""Kernels whose features are clauses: variables or literals of which all hold, one, or enough.

`Clauses` says which ones. Values, the number of features and cosines follow, and the search for
rules reads it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .base import Form, Kernel
from .cells import clause_value
from .combinatorics import choose, count_sets, power_cosine, power_decay, weighted_subsets
from .counts import Counts, NoCells
from .masses import Masses
from .wide import Wide, by_squaring


@dataclass(frozen=True)
class Clauses:
    """Clauses of ``low`` to ``high`` variables, or of literals; each of j weighs weight^j.

    A clause is true if all of its literals hold, or ``least`` of them: 1 makes a disjunction. Those
    of variable length are conjunctions. ``inner`` are the clauses that the variables stand for, if
    any.
    """

    low: int
    high: float = inf
    least: int | None = None
    weight: float = 1.0
    negated: bool = False
    inner: Clauses | None = None

    def __post_init__(self) -> None:
        one_length, some = self.low == self.high, self.least not in (None, 1, self.high)
        if not (one_length or (self.low <= 1 and self.least is None)) or (self.negated and some):
            raise ParameterError(
                f"there is no count of {self}",
                hint="take one length, or conjunctions of 0 or 1 literals and more; thresholds "
                "need plain variables",
            )

    @property
    def conjunctive(self) -> bool:
        """Whether all literals of a clause must hold."""
        return self.least in (None, self.high)

    @property
    def searchable(self) -> bool:
        """Whether all of them are conjunctions or disjunctions."""
        return (self.conjunctive or self.least == 1) and (not self.inner or self.inner.searchable)

    @property
    def of_one_length(self) -> bool:
        """Whether all have the same number of variables, and the weight 1."""
        return self.low == self.high and self.weight == 1

    def among(self, things: Wide, weight: float) -> Wide:
        """Return Σ_{low≤j≤high} weight^j·C(things, j)."""
        if self.low == self.high:
            sets = choose(things, self.low)
            return sets if weight == 1 else sets * Wide.of(weight) ** self.low
        some = weighted_subsets(things, weight, None if self.high == inf else int(self.high))
        return some if self.low else some + 1.0

    def true_of_both(self, k: Counts) -> Wide:
        """Count the clauses that are true of both vectors, by their weights."""
        if self.least is None or self.conjunctive:
            return self.among(k.agreeing if self.negated else k.common, self.weight)
        if self.negated:  # of 2^d on the same variables, one is false of x, and one of z
            always = choose(k.n, self.low) * (Wide.of(2.0) ** self.low - 2.0)
            return always + choose(k.agreeing, self.low)
        return count_sets(k, self.least, self.low)

    def false_of_both(self, k: Counts) -> Wide:
        """Count the clauses that are false of both vectors, if all have one length.

        Fewer than t of d literals hold if more than d - t of the negated ones do.
        """
        least = self.low if self.least is None else self.least
        return replace(self, least=self.low - least + 1).true_of_both(k.negation())


class ClauseKernel(Kernel):
    """A kernel that counts the clauses that are true of both vectors."""

    @property
    @abstractmethod
    def feature_clauses(self) -> Clauses: ...

    @property
    def form(self) -> Form:
        of = self.feature_clauses
        if of.negated:
            return "agreeing"
        return "common" if of.conjunctive else "union"

    def value(self, k: Counts) -> Wide:
        return self.feature_clauses.true_of_both(k)

    def mass_value(self, k: Masses) -> Any:
        of = self.feature_clauses
        if of.negated or not (of.conjunctive and of.of_one_length):
            return super().mass_value(k)
        return by_squaring(k.common, of.low)

    def cell_value(self, k: Any) -> NDArray[np.float64]:
        of = self.feature_clauses
        if of.negated or not of.of_one_length:
            raise NoCells
        return clause_value(k.variables, of.least or of.low, of.low)

    def features(self, n: Wide) -> Wide:
        of = self.feature_clauses
        return of.among(n, 1.0 + of.negated) if of.weight == 1 else super().features(n)


class Conjunctions(ClauseKernel):
    """A kernel that counts conjunctions of any length, unless it is limited."""

    def cosine(self, k: Counts) -> Wide:
        of = self.feature_clauses
        if of.high < inf or not k.lifted:
            return super().cosine(k)
        # No exponent may hold the numbers of all clauses over the features of a kernel.
        fewer = (k.only_x + k.only_z) * (1.0 if of.negated else 0.5)
        if of.low == 0:
            return power_decay(fewer, of.weight)
        both, x, z = (k.agreeing, k.n, k.n) if of.negated else (k.common, k.x, k.z)
        return power_cosine(both, x, z, fewer, of.weight)
