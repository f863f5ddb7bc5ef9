"""Clauses: conjunctions, disjunctions and thresholds, of variables or literals (also negated).

A feature is a set of `arity` distinct variables or literals, true if all of them hold, at least
one, or enough. The kernel counts the features true in both vectors.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from itertools import product
from math import factorial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .base import Form, Kernel
from .cells import clause_value
from .combinatorics import choose, hits, weighted_subsets
from .counts import Counts, NoCells
from .formula_search import Clauses
from .masses import TINY, Masses, missed_share, power_minus_one
from .parameters import ARITY, FLAG, SIZE, check_arities
from .wide import Wide, at_least_zero, by_squaring, spread, stack


class _Clause(Kernel):
    """Sets of `arity` variables with at least `least` active in x, and as many in z."""

    arity: int

    @property
    @abstractmethod
    def least(self) -> int:
        """The number of variables of a set that must be active."""

    @property
    def feature_clauses(self) -> Clauses | None:
        every = self.least == self.arity
        return Clauses(every, self.arity, self.arity) if every or self.least == 1 else None

    def value(self, k: Counts) -> Wide:
        return _count_sets(k, self.least, self.arity)

    def cell_value(self, k: Any) -> NDArray[np.float64]:
        return clause_value(k.variables, self.least, self.arity)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity)

    def features_in_neither(self, k: Counts) -> Wide | None:
        # Fewer than t of d variables are active if more than d - t of the negated ones are.
        return _count_sets(k.negation(), self.arity - self.least + 1, self.arity)


def _count_sets(k: Counts, least: int, size: int) -> Wide:
    """Count the sets of `size` variables with at least `least` active in x, and as many in z."""
    if least == size:
        return choose(k.common, size)
    if least > 1:
        return _sum_of_sets(k, least, size)
    if k.lifted:
        return _sum_of_draws(k, size)
    # Sets that meet x, plus those that meet z, less those that meet the union. A share of about
    # n/(d·z) of the digits cancels: 10 of 32 at n = 10^10. Lifted counts have no bound on n/x. One
    # call for all three is faster on few pairs.
    union = k.union
    met = hits(k.n, stack([spread(each, union.shape) for each in (k.x, k.z, union)]), size)
    return met[0] + met[1] - met[2]


def _sum_of_draws(k: Counts, size: int) -> Wide:
    """Draw `size` variables one by one, and count the ordered draws by the vectors met so far.

    As `_sum_of_sets`, it only adds; it keeps no lists of `size` arrays.
    """
    union = k.union
    none = Wide.of(np.ones(union.shape))
    first = second = both = Wide.of(np.zeros(union.shape))
    for drawn in range(size):
        left = k.n - float(drawn)
        both = both * left + none * k.common + first * k.z + second * k.x
        first = first * at_least_zero(left - k.z) + none * k.only_x
        second = second * at_least_zero(left - k.x) + none * k.only_z
        none = none * at_least_zero(left - union)
    return both / Wide.of(factorial(size))


def _sum_of_sets(k: Counts, least: int, size: int) -> Wide:
    """Sum over the numbers of members from the common part and from x alone; all terms positive.

    With i common members and j of x alone, the rest must have at least ``least - i`` of z alone.
    """
    zero, one = (Wide.of(np.full(k.common.shape, value)) for value in (0.0, 1.0))

    def subsets(a: Wide, largest: int) -> list[Wide]:
        """Return C(a, j) for j = 0..largest."""
        found = [one]
        for j in range(min(largest, _most(a))):
            found.append(found[-1] * (a - float(j)) / float(j + 1))
        return found + [zero] * (largest + 1 - len(found))

    most, others = size - least, k.only_z + k.neither
    of_x, of_z, of_neither = (subsets(a, most) for a in (k.only_x, k.only_z, k.neither))
    both, not_both = subsets(k.common, size), subsets(k.only_x + others, most)
    highest = min(_most(k.common), size)
    total = sum((both[i] * not_both[size - i] for i in range(least, highest + 1)), start=zero)
    first = max(least - most, 0)
    # Sets of m + 1 of the others that have enough of z alone have so before the last one, or by it.
    needed, rest = least - first, [zero] * (most + 1)
    for m in range(needed - 1, most):
        ways = of_z[needed] * of_neither[m - needed + 1] * float(needed)
        rest[m + 1] = (rest[m] * at_least_zero(others - float(m)) + ways) / float(m + 1)
    for i in range(first, min(least, highest + 1)):
        members = range(least - i, min(most, _most(k.only_x)) + 1)
        total = total + both[i] * sum((of_x[j] * rest[size - i - j] for j in members), start=zero)
        for m in range(least - i - 1, most + 1):  # the next needs one less
            rest[m] = rest[m] + of_z[least - i - 1] * of_neither[m - (least - i - 1)]
    return total


def _most(a: Wide) -> int:
    """Return the largest of whole numbers, capped for loops."""
    return int(min(a.floats().max(), 2.0**62))


@dataclass(frozen=True, repr=False)
class Conjunctive(_Clause):
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

    @property
    def least(self) -> int:
        return self.arity

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(True, 1 if self.up_to else self.arity, self.arity)

    def value(self, k: Counts) -> Wide:
        return self.features(k.common)

    def mass_value(self, k: Masses) -> Any:
        return super().mass_value(k) if self.up_to else by_squaring(k.common, self.arity)

    def cell_value(self, k: Any) -> NDArray[np.float64]:
        if self.up_to:
            raise NoCells
        return super().cell_value(k)

    def features(self, n: Wide) -> Wide:
        return weighted_subsets(n, 1.0, self.arity) if self.up_to else choose(n, self.arity)

    def features_in_neither(self, k: Counts) -> Wide | None:
        return None if self.up_to else super().features_in_neither(k)


@dataclass(frozen=True, repr=False)
class Disjunctive(_Clause):
    """C(n,d) - C(n-x,d) - C(n-z,d) + C(n-u,d): disjunctions of `arity` variables.

    Less expressive as the arity grows; from arity 2 on, never 0 between two non-empty vectors.

    >>> Disjunctive(1).on_counts(n=10, x=3, z=4, c=2)
    array(2.)
    >>> Disjunctive(2).normalized().on_counts(n=10**9, x=1, z=1, c=0)
    array(1.e-09)
    """

    name = "disjunctive"
    formula = "C(n,d) - C(n-x,d) - C(n-z,d) + C(n-u,d)"
    least = 1
    arity: int = field(metadata=ARITY)

    @property
    def form(self) -> Form:
        return "union" if self.arity > 1 else "common"

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
class Threshold(_Clause):
    """Sets of `arity` variables with at least `satisfied` active in x, and as many in z.

    ``satisfied=1`` is the disjunctive kernel, ``satisfied=arity`` the conjunctive one.

    >>> Threshold(1, 3).on_counts(n=8, x=4, z=3, c=1)
    array(42.)
    >>> Threshold(2, 3).on_counts(n=8, x=4, z=3, c=1)
    array(6.)
    """

    name = "threshold"
    formula = "#{S : |S| = d, |S∩x| ≥ t, |S∩z| ≥ t}"
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
    def least(self) -> int:
        return self.satisfied

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


class _LiteralClause(Kernel):
    """Sets of `arity` literals, each variable plain or negated."""

    form = "agreeing"
    conjunctive: ClassVar[bool]
    arity: int

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(self.conjunctive, self.arity, self.arity, negated=True)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity) * Wide.of(2.0) ** self.arity


@dataclass(frozen=True, repr=False)
class LiteralConjunctive(_LiteralClause):
    """C(s, arity): conjunctions of `arity` literals, each variable plain or negated.

    >>> LiteralConjunctive(2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([0., 1., 6.])
    """

    name = "literal_conjunctive"
    formula = "C(s, d)"
    conjunctive = True
    arity: int = field(metadata=ARITY)

    def value(self, k: Counts) -> Wide:
        return choose(k.agreeing, self.arity)

    def features_in_neither(self, k: Counts) -> Wide:
        return LiteralDisjunctive(self.arity).value(k)


@dataclass(frozen=True, repr=False)
class LiteralDisjunctive(_LiteralClause):
    """(2^d - 2)·C(n, d) + C(s, d): disjunctions of `arity` literals, each plain or negated.

    >>> LiteralDisjunctive(2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([12., 13., 18.])
    """

    name = "literal_disjunctive"
    formula = "(2^d - 2)·C(n, d) + C(s, d)"
    conjunctive = False
    arity: int = field(metadata=ARITY)

    def value(self, k: Counts) -> Wide:
        always = choose(k.n, self.arity) * (Wide.of(2.0) ** self.arity - 2.0)
        return always + choose(k.agreeing, self.arity)

    def features_in_neither(self, k: Counts) -> Wide:
        return choose(k.agreeing, self.arity)
