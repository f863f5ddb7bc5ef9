"""Kernels of one arity: conjunctions, disjunctions and thresholds, of variables or literals.

A feature is a set of `arity` distinct variables, or of literals, plain or negated. It is true if
all of them hold, at least one, or enough. The kernel counts the features true in both vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ..errors import ParameterError
from .clauses import ClauseKernel, Clauses
from .combinatorics import choose, hits
from .counts import Counts
from .masses import TINY, Masses, missed_share, power_minus_one
from .parameters import ARITY, FLAG, SIZE, check_arities
from .wide import Wide, at_least_zero


@dataclass(frozen=True, repr=False)
class Conjunctive(ClauseKernel):
    """C(c, arity): conjunctions of `arity` variables; with ``up_to``, of 1 to `arity` variables.

    More expressive as the arity grows. Vectors with fewer than `arity` active variables are null.

    >>> Conjunctive(2).on_counts(n=9, x=4, z=4, c=[1, 3])
    array([0., 3.])
    >>> Conjunctive(2, up_to=True).on_counts(n=9, x=4, z=4, c=[1, 3])
    array([1., 6.])
    """

    name = "conjunctive"
    formula = "C(c, d); up_to: Σ_{1≤j≤d} C(c, j)"
    arity: int = field(metadata=ARITY)
    up_to: bool = field(default=False, metadata=FLAG)

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(1 if self.up_to else self.arity, self.arity)


@dataclass(frozen=True, repr=False)
class Disjunctive(ClauseKernel):
    """C(n,d) - C(n-x,d) - C(n-z,d) + C(n-u,d): disjunctions of `arity` variables.

    Less expressive as the arity grows; from arity 2 on, never 0 between two non-empty vectors.

    >>> Disjunctive(1).on_counts(n=10, x=3, z=4, c=2)
    array(2.)
    >>> Disjunctive(2).normalized().on_counts(n=10**9, x=1, z=1, c=0)
    array(1.e-09)
    """

    name = "disjunctive"
    formula = "C(n,d) - C(n-x,d) - C(n-z,d) + C(n-u,d)"
    arity: int = field(metadata=ARITY)

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(self.arity, self.arity, least=1)

    def own_value(self, k: Counts) -> Wide:
        return hits(k.n, k.x, self.arity)

    def mass_value(self, k: Masses) -> Any:
        """Compute P(d draws meet x and z) = h(x)·h(z) + (1-u)^d - ((1-x)(1-z))^d, h = 1 - (1-t)^d.

        With c = x·z + g, (1-u)^d is ((1-x)(1-z) + g)^d. Only for g < 0 something cancels: a third.
        """
        if self.arity == 1:
            return k.common
        met_x, met_z = (-power_minus_one(-t, self.arity) for t in (k.x, k.z))
        missed = missed_share(met_x, k.not_x, self.arity) * missed_share(met_z, k.not_z, self.arity)
        gain = (k.common - k.x * k.z) / np.maximum(k.not_x * k.not_z, TINY)
        return met_x * met_z + missed * power_minus_one(gain * (missed > 0), self.arity)

    def from_full(self, k: Counts | Masses) -> Any:
        if self.arity == 1:
            return None
        if isinstance(k, Masses):
            met = -power_minus_one(-k.x, self.arity)
            return missed_share(met, k.not_x, self.arity) / (np.sqrt(np.maximum(met, 0.0)) + 1.0)
        check_arities(self, k.n, k.lifted)
        missed = choose(k.n - k.x, self.arity) / choose(k.n, self.arity)
        return missed / (at_least_zero(1.0 - missed).sqrt() + 1.0)


@dataclass(frozen=True, repr=False)
class Threshold(ClauseKernel):
    """Sets of `arity` variables with at least `satisfied` active in x, and as many in z.

    ``satisfied=1`` is the disjunctive kernel, ``satisfied=arity`` the conjunctive one.

    >>> Threshold(1, 3).on_counts(n=8, x=4, z=3, c=1)
    array(42.)
    >>> Threshold(2, 3).on_counts(n=8, x=4, z=3, c=1)
    array(6.)
    """

    name = "threshold"
    formula = "#{S : |S| = d, |S∩x| ≥ t, |S∩z| ≥ t}"
    form = "any"  # of all thresholds alike
    satisfied: int = field(metadata={"range": "whole, 1 to arity", **SIZE})
    arity: int = field(metadata=ARITY)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.satisfied > self.arity:
            raise ParameterError(
                f"satisfied of threshold must be at most its arity {self.arity}, "
                f"not {self.satisfied}",
                parameter="satisfied",
            )

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(self.arity, self.arity, least=self.satisfied)

    def mass_value(self, k: Masses) -> Any:
        """Draw one by one, with the numbers of hits so far, up to t; all terms are positive."""
        t = self.satisfied
        hits: dict[tuple[int, int], Any] = {(0, 0): 1.0}
        for _ in range(self.arity):
            # More hits first: each state is computed from those before this draw.
            for a, b in product(range(t, -1, -1), repeat=2):
                only_x, only_z = k.x if b == t else k.only_x, k.z if a == t else k.only_z
                none = (k.neither, k.not_x, k.not_z, 1.0)[(b == t) + 2 * (a == t)]
                one = hits.get((a - 1, b), 0.0) * only_x + hits.get((a, b - 1), 0.0) * only_z
                both = hits.get((a - 1, b - 1), 0.0) * k.common
                hits[a, b] = (hits.get((a, b), 0.0) * none + both) + one
        return hits[t, t]


@dataclass(frozen=True, repr=False)
class LiteralConjunctive(ClauseKernel):
    """C(s, arity): conjunctions of `arity` literals, each variable plain or negated.

    >>> LiteralConjunctive(2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([0., 1., 6.])
    """

    name = "literal_conjunctive"
    formula = "C(s, d)"
    arity: int = field(metadata=ARITY)

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(self.arity, self.arity, negated=True)


@dataclass(frozen=True, repr=False)
class LiteralDisjunctive(ClauseKernel):
    """(2^d - 2)·C(n, d) + C(s, d): disjunctions of `arity` literals, each plain or negated.

    >>> LiteralDisjunctive(2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([12., 13., 18.])
    """

    name = "literal_disjunctive"
    formula = "(2^d - 2)·C(n, d) + C(s, d)"
    arity: int = field(metadata=ARITY)

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(self.arity, self.arity, least=1, negated=True)
