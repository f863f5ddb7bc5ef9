"""Clauses of a given size: conjunctions and disjunctions, of variables or of literals.

A feature is a set of `arity` distinct variables (for literal kernels each plain or negated), true
when all of them hold, or when at least one of them does; the kernel counts the features that are
true in both vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import factorial
from typing import ClassVar

import numpy as np

from .base import Form, Kernel
from .checks import fits, flag, whole
from .combinatorics import choose, hits, weighted_subsets
from .counts import Counts
from .wide import Wide, at_least_zero, spread, stack

_ARITY = {"range": "whole, 1 to n"}


@dataclass(frozen=True, repr=False)
class Conjunctive(Kernel):
    """C(c, arity): conjunctions of `arity` variables; with ``up_to``, of 1 to `arity` variables.

    More expressive as the arity grows. Vectors with fewer than `arity` active variables are null.

    >>> Conjunctive(2).on_counts(n=9, x=4, z=4, c=[1, 3])
    array([0., 3.])
    >>> Conjunctive(2, up_to=True).on_counts(n=9, x=4, z=4, c=[1, 3])
    array([1., 6.])
    """

    name: ClassVar[str] = "conjunctive"
    formula: ClassVar[str] = "C(c, d); up_to: Σ_{1≤j≤d} C(c, j)"
    arity: int = field(metadata=_ARITY)
    up_to: bool = field(default=False, metadata={"range": "True or False"})

    def __post_init__(self) -> None:
        whole(self, "arity", self.arity)
        flag(self, "up_to", self.up_to)

    @property
    def form(self) -> Form:
        return "common"

    def value(self, k: Counts) -> Wide:
        fits(self, "arity", self.arity, k.n, k.things)
        return self._subsets(k.common)

    def features(self, n: Wide) -> Wide:
        return self._subsets(n)

    def features_in_neither(self, k: Counts) -> Wide | None:
        # A conjunction is false where the disjunction of the negated variables is true.
        return None if self.up_to else Disjunctive(self.arity).value(k.complement())

    def _subsets(self, size: Wide) -> Wide:
        return weighted_subsets(size, 1.0, self.arity) if self.up_to else choose(size, self.arity)


@dataclass(frozen=True, repr=False)
class Disjunctive(Kernel):
    """C(n,d) - C(n-x,d) - C(n-z,d) + C(n-u,d): disjunctions of `arity` variables.

    Less expressive as the arity grows, and never 0 between two non-empty vectors from arity 2 on.

    >>> Disjunctive(1).on_counts(n=10, x=3, z=4, c=2)
    array(2.)
    >>> Disjunctive(2).normalized().on_counts(n=10**9, x=1, z=1, c=0)
    array(1.e-09)
    """

    name: ClassVar[str] = "disjunctive"
    formula: ClassVar[str] = "C(n,d) - C(n-x,d) - C(n-z,d) + C(n-u,d)"
    arity: int = field(metadata=_ARITY)

    def __post_init__(self) -> None:
        whole(self, "arity", self.arity)

    @property
    def form(self) -> Form:
        return "union" if self.arity > 1 else "common"

    def value(self, k: Counts) -> Wide:
        fits(self, "arity", self.arity, k.n, k.things)
        if self.arity == 1:
            return k.common
        if k.lifted:
            return _disjunctive_by_draws(k, self.arity)
        # Subsets that meet x, plus those that meet z, less those that meet either. A share of about
        # n/(d·z) of the digits cancels: 10 of the 32 at n = 10^10.
        # All at once: on few pairs the steps cost more than what they are taken on.
        union = k.union
        sizes = stack([spread(size, union.shape) for size in (k.x, k.z, union)])
        met = hits(k.n, sizes, self.arity)
        return met[0] + met[1] - met[2]

    def own_value(self, k: Counts) -> Wide:
        fits(self, "arity", self.arity, k.n, k.things)
        return hits(k.n, k.x, self.arity)

    def from_full(self, k: Counts) -> Wide | None:
        if self.arity == 1:
            return None
        fits(self, "arity", self.arity, k.n, k.things)
        missed = choose(k.n - k.x, self.arity) / choose(k.n, self.arity)
        return missed / (at_least_zero(1.0 - missed).sqrt() + 1.0)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity)

    def features_in_neither(self, k: Counts) -> Wide:
        return choose(k.neither, self.arity)


def _disjunctive_by_draws(k: Counts, arity: int) -> Wide:
    """The same count by drawing the variables one by one: sums of products only.

    Lifted counts have no bound on n/x, so that inclusion-exclusion could cancel all digits there.
    Counted are the ordered draws that so far have met none, one, or both of the vectors.
    """
    union = k.union
    none = Wide.of(np.ones(union.shape))
    first = second = both = Wide.of(np.zeros(union.shape))
    for drawn in range(arity):
        left = k.n - float(drawn)
        both = both * left + none * k.common + first * k.z + second * k.x
        first = first * at_least_zero(left - k.z) + none * k.only_x
        second = second * at_least_zero(left - k.x) + none * k.only_z
        none = none * at_least_zero(left - union)
    return both / Wide.of(factorial(arity))


@dataclass(frozen=True, repr=False)
class LiteralConjunctive(Kernel):
    """C(s, arity): conjunctions of `arity` literals, each variable plain or negated.

    >>> LiteralConjunctive(2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([0., 1., 6.])
    """

    name: ClassVar[str] = "literal_conjunctive"
    formula: ClassVar[str] = "C(s, d)"
    arity: int = field(metadata=_ARITY)

    def __post_init__(self) -> None:
        whole(self, "arity", self.arity)

    @property
    def form(self) -> Form:
        return "agreeing"

    def value(self, k: Counts) -> Wide:
        fits(self, "arity", self.arity, k.n, k.things)
        return choose(k.agreeing, self.arity)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity) * Wide.of(2.0) ** self.arity

    def features_in_neither(self, k: Counts) -> Wide:
        return LiteralDisjunctive(self.arity).value(k)


@dataclass(frozen=True, repr=False)
class LiteralDisjunctive(Kernel):
    """(2^d - 2)·C(n, d) + C(s, d): disjunctions of `arity` literals, each plain or negated.

    >>> LiteralDisjunctive(2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([12., 13., 18.])
    """

    name: ClassVar[str] = "literal_disjunctive"
    formula: ClassVar[str] = "(2^d - 2)·C(n, d) + C(s, d)"
    arity: int = field(metadata=_ARITY)

    def __post_init__(self) -> None:
        whole(self, "arity", self.arity)

    @property
    def form(self) -> Form:
        return "agreeing"

    def value(self, k: Counts) -> Wide:
        fits(self, "arity", self.arity, k.n, k.things)
        always = choose(k.n, self.arity) * (Wide.of(2.0) ** self.arity - 2.0)
        return always + choose(k.agreeing, self.arity)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity) * Wide.of(2.0) ** self.arity

    def features_in_neither(self, k: Counts) -> Wide:
        return choose(k.agreeing, self.arity)
