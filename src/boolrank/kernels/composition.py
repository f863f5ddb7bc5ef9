"""Composition of kernels: the features of one are the variables of another. Normal forms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .algebra import KERNEL, Normalized
from .base import Kernel
from .clauses import Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive
from .counts import Counts, Pairs
from .parameters import ARITY, FLAG, SIZE, check_fits
from .values import compute_values
from .wide import Wide


@dataclass(frozen=True, repr=False)
class Composed(Kernel):
    """``outer @ inner``: the outer kernel, with the features of the inner one as variables.

    An inner kernel with features of 0 and 1 lifts counts to counts: κ(x, x) of its features are
    active in x, κ(z, z) in z, and κ(x, z) in both.

    >>> from boolrank import Conjunctive, Linear
    >>> (Linear() @ Conjunctive(2)).on_counts(n=9, x=4, z=4, c=3)
    array(3.)
    """

    name = "composed"
    binding = 1
    formula = "κ_outer on (features, κ(x,x), κ(z,z), κ(x,z)) of κ_inner"
    outer: Kernel = field(metadata=KERNEL)
    inner: Kernel = field(metadata=KERNEL)

    def value(self, k: Counts) -> Wide:
        return self.outer.value(_lifted(self.inner, k))

    def own_value(self, k: Counts) -> Wide:
        return self.outer.own_value(_lifted(self.inner, k))

    def cosine(self, k: Counts) -> Wide:
        return self.outer.cosine(_lifted(self.inner, k))

    def cosines_of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Use the outer kernel's formula for cosines if it has one: raw values may not fit."""
        if type(self.outer).cosine is Kernel.cosine:
            return super().cosines_of(pairs)
        return compute_values(Normalized(self), pairs, normalize=False)

    def features(self, n: Wide) -> Wide:
        return self.outer.features(self.inner.features(n).rounded())

    def __repr__(self) -> str:
        # `@` groups to the left.
        outer = repr(self.outer) if isinstance(self.outer, Composed) else self.outer.in_brackets(3)
        return f"{outer} @ {self.inner.in_brackets(3)}"


def _lifted(inner: Kernel, k: Counts) -> Counts:
    """Count the features of a kernel; level by level in a nest, so its cost is linear."""
    if isinstance(inner, Composed):
        return _lifted(inner.outer, _lifted(inner.inner, k))
    sizes = inner.features(k.n), inner.own_value(k.of_x()), inner.own_value(k.of_z())
    return Counts.of_features(*sizes, inner.value(k), inner.features_in_neither(k))


@dataclass(frozen=True, repr=False)
class ComposedDNF(Kernel):
    """Disjunctions of `clauses` conjunctions of `literals` variables: DNF of one shape.

    With ``monotone=False`` the variables of a conjunction may be negated.

    >>> ComposedDNF(clauses=2, literals=2).composition
    disjunctive(2) @ conjunctive(2)
    >>> ComposedDNF(clauses=2, literals=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([1., 1., 5.])
    """

    name = "composed_dnf"
    formula = "disjunctive(clauses) @ [literal_]conjunctive(literals)"
    clauses: int = field(metadata={"range": "whole, 1 to the number of conjunctions", **SIZE})
    literals: int = field(metadata=ARITY)
    monotone: bool = field(default=True, metadata=FLAG)

    @property
    def composition(self) -> Composed:
        """Return the same kernel as disjunctions of conjunctions."""
        inner = Conjunctive if self.monotone else LiteralConjunctive
        return Disjunctive(self.clauses) @ inner(self.literals)

    def value(self, k: Counts) -> Wide:
        return _checked_composition(self, k, "conjunction").value(k)

    def own_value(self, k: Counts) -> Wide:
        return _checked_composition(self, k, "conjunction").own_value(k)

    def features(self, n: Wide) -> Wide:
        return self.composition.features(n)


@dataclass(frozen=True, repr=False)
class ComposedCNF(Kernel):
    """Conjunctions of `clauses` disjunctions of `literals` variables: CNF of one shape.

    With ``monotone=False`` the variables of a disjunction may be negated.

    >>> ComposedCNF(clauses=2, literals=2).composition
    conjunctive(2) @ disjunctive(2)
    >>> ComposedCNF(clauses=2, literals=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 6.,  6., 10.])
    """

    name = "composed_cnf"
    formula = "conjunctive(clauses) @ [literal_]disjunctive(literals)"
    clauses: int = field(metadata={"range": "whole, 1 to the number of disjunctions", **SIZE})
    literals: int = field(metadata=ARITY)
    monotone: bool = field(default=True, metadata=FLAG)

    @property
    def composition(self) -> Composed:
        """Return the same kernel as conjunctions of disjunctions."""
        inner = Disjunctive if self.monotone else LiteralDisjunctive
        return Conjunctive(self.clauses) @ inner(self.literals)

    def value(self, k: Counts) -> Wide:
        return _checked_composition(self, k, "disjunction").value(k)

    def own_value(self, k: Counts) -> Wide:
        return _checked_composition(self, k, "disjunction").own_value(k)

    def features(self, n: Wide) -> Wide:
        return self.composition.features(n)


def _checked_composition(kernel: ComposedDNF | ComposedCNF, k: Counts, things: str) -> Composed:
    composition = kernel.composition
    check_fits(kernel, "clauses", composition.inner.features(k.n), things)
    return composition
