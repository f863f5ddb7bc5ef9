"""Normal forms: all conjunctions at once, and compositions of clauses of one shape."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .algebra import KERNEL, Normalized
from .arities import Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive
from .base import Kernel
from .clauses import Clauses, Conjunctions
from .counts import Counts, Pairs
from .masses import Masses
from .parameters import ARITY, FLAG, OPTIONAL_ARITY, POSITIVE, SIZE
from .values import compute_values
from .wide import Wide


@dataclass(frozen=True, repr=False)
class MonotoneDNF(Conjunctions):
    """(1+weight)^c - 1: all conjunctions of variables, each of j variables weighing weight^j.

    >>> MonotoneDNF().on_counts(n=9, x=4, z=4, c=[0, 1, 4])
    array([ 0.,  1., 15.])
    """

    name = "monotone_dnf"
    formula = "(1+w)^c - 1; max_arity: Σ_{1≤j≤d} w^j C(c, j)"
    weight: float = field(default=1, metadata=POSITIVE)
    max_arity: int | None = field(default=None, metadata=OPTIONAL_ARITY)

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(1, self.max_arity or inf, weight=float(self.weight))

    def mass_value(self, k: Masses) -> Any:
        if self.max_arity is not None:
            return super().mass_value(k)
        return np.expm1(k.common * k.n * np.log1p(k.n * 0.0 + float(self.weight)))


@dataclass(frozen=True, repr=False)
class DNF(Conjunctions):
    """(1+weight)^s - 1: all conjunctions of literals, each of j literals weighing weight^j.

    A weight below 1 favours short conjunctions; ``max_arity`` leaves out longer ones.

    >>> DNF().on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 0.,  3., 15.])
    >>> DNF(max_arity=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 0.,  3., 10.])
    """

    name = "dnf"
    formula = "(1+w)^s - 1; max_arity: Σ_{1≤j≤d} w^j C(s, j)"
    weight: float = field(default=1, metadata=POSITIVE)
    max_arity: int | None = field(default=None, metadata=OPTIONAL_ARITY)

    @property
    def feature_clauses(self) -> Clauses:
        return Clauses(1, self.max_arity or inf, weight=float(self.weight), negated=True)


class _Layers(Kernel, shared=True):
    """An outer kernel, with the features of an inner one as variables.

    An inner kernel with features of 0 and 1 lifts counts to counts: κ(x, x) of its features are
    active in x, κ(z, z) in z, and κ(x, z) in both.
    """

    outer: Kernel
    inner: Kernel

    @property
    def feature_clauses(self) -> Clauses | None:
        outer, inner = self.outer.feature_clauses, self.inner.feature_clauses
        return replace(outer, inner=inner) if outer and inner and not outer.inner else None

    def cells(self, k: Any) -> Counts:
        return self.outer.cells(self.inner.cells(k))

    def value(self, k: Counts) -> Wide:
        return self.outer.value(self.inner.cells(k))

    def own_value(self, k: Counts) -> Wide:
        return self.outer.own_value(self.inner.cells(k))

    def cosine(self, k: Counts) -> Wide:
        return self.outer.cosine(self.inner.cells(k))

    def cell_value(self, k: Any) -> NDArray[np.float64]:
        return self.outer.cell_value(self.inner.cells(k))

    def cosines_of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Use the outer kernel's formula for cosines if it has one: raw values may not fit."""
        if type(self.outer).cosine is Kernel.cosine:
            return super().cosines_of(pairs)
        return compute_values(Normalized(self), pairs, normalize=False)

    def features(self, n: Wide) -> Wide:
        return self.outer.features(self.inner.features(n).rounded())


@dataclass(frozen=True, repr=False)
class Composed(_Layers, in_text=False):
    """``outer @ inner``: the outer kernel, with the features of the inner one as variables.

    >>> from boolrank import Conjunctive, Linear
    >>> (Linear() @ Conjunctive(2)).on_counts(n=9, x=4, z=4, c=3)
    array(3.)
    """

    name = "composed"
    binding = 1
    outer: Kernel = field(metadata=KERNEL)
    inner: Kernel = field(metadata=KERNEL)

    def __repr__(self) -> str:
        # `@` groups to the left.
        outer = repr(self.outer) if isinstance(self.outer, Composed) else self.outer.in_brackets(3)
        return f"{outer} @ {self.inner.in_brackets(3)}"


@dataclass(frozen=True, repr=False)
class _NormalForm(_Layers):
    """Clauses of clauses; with ``monotone=False`` variables may be negated."""

    kinds: ClassVar[tuple[type[Kernel], ...]]  # outer, inner of literals, inner of variables
    clauses: int = field(metadata={"range": "whole, 1 to the number of inner clauses", **SIZE})
    literals: int = field(metadata=ARITY)
    monotone: bool = field(default=True, metadata=FLAG)

    @property
    def outer(self) -> Kernel:  # type: ignore[override]
        return self.kinds[0](self.clauses)  # type: ignore[call-arg]

    @property
    def inner(self) -> Kernel:  # type: ignore[override]
        return self.kinds[1 + self.monotone](self.literals)  # type: ignore[call-arg]


@dataclass(frozen=True, repr=False)
class ComposedDNF(_NormalForm):
    """Disjunctions of `clauses` conjunctions of `literals` variables: DNF of one shape.

    With ``monotone=False`` the variables of a conjunction may be negated.

    >>> ComposedDNF(clauses=2, literals=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([1., 1., 5.])
    """

    name = "composed_dnf"
    formula = "disjunctive(clauses) @ [literal_]conjunctive(literals)"
    kinds = Disjunctive, LiteralConjunctive, Conjunctive


@dataclass(frozen=True, repr=False)
class ComposedCNF(_NormalForm):
    """Conjunctions of `clauses` disjunctions of `literals` variables: CNF of one shape.

    With ``monotone=False`` the variables of a disjunction may be negated.

    >>> ComposedCNF(clauses=2, literals=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 6.,  6., 10.])
    """

    name = "composed_cnf"
    formula = "conjunctive(clauses) @ [literal_]disjunctive(literals)"
    kinds = Conjunctive, LiteralDisjunctive, Disjunctive
