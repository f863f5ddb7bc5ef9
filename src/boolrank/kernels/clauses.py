"""Clauses: conjunctions and disjunctions, of variables or of literals (each plain or negated).

A feature is a set of `arity` distinct variables or literals, true if all of them hold, or if at
least one does. The kernel counts the features true in both vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import factorial

import numpy as np

from ..errors import ParameterTypeError
from .base import Form, Kernel
from .combinatorics import choose, hits, power_cosine, weighted_subsets
from .counts import Counts
from .parameters import ARITY, FLAG, OPTIONAL_ARITY, POSITIVE, check_arities
from .wide import Wide, at_least_zero, spread, stack


@dataclass(frozen=True, repr=False)
class Conjunctive(Kernel):
    """C(c, arity): conjunctions of `arity` variables; with ``up_to``, of 1 to `arity` variables.

    More expressive as the arity grows. Vectors with fewer than `arity` active variables are null.

    >>> Conjunctive(2).on_counts(n=9, x=4, z=4, c=[1, 3])
    array([0., 3.])
    >>> Conjunctive(2, up_to=True).on_counts(n=9, x=4, z=4, c=[1, 3])
    array([1., 6.])
    """

    name = "conjunctive"
    formula = "C(c, d); up_to: Σ_{1≤j≤d} C(c, j)"
    form = "common"
    arity: int = field(metadata=ARITY)
    up_to: bool = field(default=False, metadata=FLAG)

    def value(self, k: Counts) -> Wide:
        return self.features(k.common)

    def features(self, n: Wide) -> Wide:
        return weighted_subsets(n, 1.0, self.arity) if self.up_to else choose(n, self.arity)

    def features_in_neither(self, k: Counts) -> Wide | None:
        # A conjunction is false where the disjunction of the negated variables is true.
        return None if self.up_to else Disjunctive(self.arity).value(k.complement())


@dataclass(frozen=True, repr=False)
class Disjunctive(Kernel):
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
    def form(self) -> Form:
        return "union" if self.arity > 1 else "common"

    def value(self, k: Counts) -> Wide:
        if self.arity == 1:
            return k.common
        if k.lifted:
            return _disjunctive_by_draws(k, self.arity)
        # Subsets that meet x, plus those that meet z, less those that meet the union. A share of
        # about n/(d·z) of the digits cancels: 10 of 32 at n = 10^10. One call for all three is
        # faster on few pairs.
        union = k.union
        sizes = stack([spread(size, union.shape) for size in (k.x, k.z, union)])
        met = hits(k.n, sizes, self.arity)
        return met[0] + met[1] - met[2]

    def own_value(self, k: Counts) -> Wide:
        return hits(k.n, k.x, self.arity)

    def from_full(self, k: Counts) -> Wide | None:
        if self.arity == 1:
            return None
        check_arities(self, k.n, k.lifted)
        missed = choose(k.n - k.x, self.arity) / choose(k.n, self.arity)
        return missed / (at_least_zero(1.0 - missed).sqrt() + 1.0)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity)

    def features_in_neither(self, k: Counts) -> Wide:
        return choose(k.neither, self.arity)


def _disjunctive_by_draws(k: Counts, arity: int) -> Wide:
    """Draw the variables one by one, and count the ordered draws by the vectors met so far.

    Lifted counts have no bound on n/x, where inclusion-exclusion could cancel all digits. This way
    only adds.
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

    name = "literal_conjunctive"
    formula = "C(s, d)"
    form = "agreeing"
    arity: int = field(metadata=ARITY)

    def value(self, k: Counts) -> Wide:
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

    name = "literal_disjunctive"
    formula = "(2^d - 2)·C(n, d) + C(s, d)"
    form = "agreeing"
    arity: int = field(metadata=ARITY)

    def value(self, k: Counts) -> Wide:
        always = choose(k.n, self.arity) * (Wide.of(2.0) ** self.arity - 2.0)
        return always + choose(k.agreeing, self.arity)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity) * Wide.of(2.0) ** self.arity

    def features_in_neither(self, k: Counts) -> Wide:
        return choose(k.agreeing, self.arity)


@dataclass(frozen=True, repr=False)
class DNF(Kernel):
    """(1+weight)^s - 1: all conjunctions of literals, each of j literals weighing weight^j.

    A weight below 1 favours short conjunctions; ``max_arity`` leaves out longer ones.

    >>> DNF().on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 0.,  3., 15.])
    >>> DNF(max_arity=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 0.,  3., 10.])
    """

    name = "dnf"
    formula = "(1+w)^s - 1; max_arity: Σ_{1≤j≤d} w^j C(s, j)"
    form = "agreeing"
    weight: float = field(default=1, metadata=POSITIVE)
    max_arity: int | None = field(default=None, metadata=OPTIONAL_ARITY)

    def value(self, k: Counts) -> Wide:
        return weighted_subsets(k.agreeing, float(self.weight), self.max_arity)

    def cosine(self, k: Counts) -> Wide:
        if self.max_arity is not None or not k.lifted:
            return super().cosine(k)
        return power_cosine(k.agreeing, k.n, k.n, k.only_x + k.only_z, float(self.weight))

    def features(self, n: Wide) -> Wide:
        _check_unweighted(self)
        return weighted_subsets(n, 2.0, self.max_arity)


@dataclass(frozen=True, repr=False)
class MonotoneDNF(Kernel):
    """(1+weight)^c - 1: all conjunctions of variables, each of j variables weighing weight^j.

    >>> MonotoneDNF().on_counts(n=9, x=4, z=4, c=[0, 1, 4])
    array([ 0.,  1., 15.])
    """

    name = "monotone_dnf"
    formula = "(1+w)^c - 1; max_arity: Σ_{1≤j≤d} w^j C(c, j)"
    form = "common"
    weight: float = field(default=1, metadata=POSITIVE)
    max_arity: int | None = field(default=None, metadata=OPTIONAL_ARITY)

    def value(self, k: Counts) -> Wide:
        return weighted_subsets(k.common, float(self.weight), self.max_arity)

    def cosine(self, k: Counts) -> Wide:
        if self.max_arity is not None or not k.lifted:
            return super().cosine(k)
        half = (k.only_x + k.only_z) * 0.5
        return power_cosine(k.common, k.x, k.z, half, float(self.weight))

    def features(self, n: Wide) -> Wide:
        _check_unweighted(self)
        return weighted_subsets(n, 1.0, self.max_arity)


def _check_unweighted(kernel: DNF | MonotoneDNF) -> None:
    if kernel.weight != 1:
        raise ParameterTypeError(
            f"{kernel} cannot be the inner kernel of `outer @ inner`: its features are not 0 or 1, "
            "but weighted",
            hint="use weight=1",
            parameter="weight",
        )
