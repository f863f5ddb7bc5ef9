"""Clauses with a threshold, between disjunctions and conjunctions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ..errors import ParameterError
from .base import Kernel
from .combinatorics import choose
from .counts import Counts
from .parameters import ARITY, SIZE
from .wide import Wide, at_least_zero


@dataclass(frozen=True, repr=False)
class Threshold(Kernel):
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

    def value(self, k: Counts) -> Wide:
        return _subsets_meeting_both(k, self.satisfied, self.arity)

    def features(self, n: Wide) -> Wide:
        return choose(n, self.arity)

    def features_in_neither(self, k: Counts) -> Wide:
        # Fewer than t of d variables are active if more than d - t of the negated ones are.
        return Threshold(self.arity - self.satisfied + 1, self.arity).value(k.complement())


def _subsets_meeting_both(k: Counts, least: int, size: int) -> Wide:
    """Sum over the numbers of members from the common part and from x alone; all terms positive.

    With i common members and j of x alone, the rest must have at least ``least - i`` of z alone.
    """
    of_x = cache(lambda j: choose(k.only_x, j))
    of_z = cache(lambda j: choose(k.only_z, j))
    of_neither = cache(lambda j: choose(k.neither, j))
    others = k.only_z + k.neither
    not_common = k.only_x + others
    zero = Wide.of(np.zeros(k.common.shape))

    def rest(needed: int, low: int, high: int) -> dict[int, Wide]:
        """Count subsets of the others by size, from low to high, with at least `needed` of z alone.

        Either the plain sum over the members of z, or, if that has more terms, a recurrence in the
        size m over subsets that have enough of z already and those that get the last one now:
        (m+1)·G(m+1) = (others-m)·G(m) + (b-needed+1)·C(b, needed-1)·C(neither, m-needed+1), with b
        of z alone.
        """
        members = range(needed, min(high, _most(k.only_z)) + 1)
        if (high - low + 1) * len(members) <= high:
            return {
                m: sum((of_z(j) * of_neither(m - j) for j in members if j <= m), start=zero)
                for m in range(low, high + 1)
            }
        found = dict.fromkeys(range(low, needed), zero)
        last_missing = of_z(needed - 1) * at_least_zero(k.only_z - float(needed - 1))
        count = zero
        for m in range(needed - 1, high):
            new = last_missing * of_neither(m - needed + 1)
            count = (count * at_least_zero(others - float(m)) + new) / float(m + 1)
            found[m + 1] = count
        return found

    total = zero
    for i in range(min(size, _most(k.common)) + 1):
        needed, left = least - i, size - i
        if needed <= 0:
            total = total + choose(k.common, i) * choose(not_common, left)
            continue
        most = min(left - needed, _most(k.only_x))
        if most >= needed:
            ways = rest(needed, left - most, left - needed)
            inner = (of_x(j) * ways[left - j] for j in range(needed, most + 1))
            total = total + choose(k.common, i) * sum(inner, start=zero)
    return total


def _most(a: Wide) -> int:
    """Return the largest of whole numbers, capped for loops."""
    return int(min(a.floats().max(), 2.0**62))
