"""Normal forms: over all conjunctions at once, and composed of a given number of clauses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from ..errors import ParameterTypeError
from .algebra import Composed
from .base import Form, Kernel
from .checks import fits, flag, real, whole
from .clauses import Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive
from .combinatorics import power_cosine, weighted_subsets
from .counts import Counts
from .wide import Wide

_WEIGHT = {"range": "more than 0"}
_MAX_ARITY = {"range": "None, or whole, 1 to n"}


@dataclass(frozen=True, repr=False)
class DNF(Kernel):
    """(1+weight)^s - 1: all conjunctions of literals, each of j literals weighing weight^j.

    A weight below 1 favours short conjunctions; ``max_arity`` leaves out those that are longer.

    >>> DNF().on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 0.,  3., 15.])
    >>> DNF(max_arity=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([ 0.,  3., 10.])
    """

    name: ClassVar[str] = "dnf"
    formula: ClassVar[str] = "(1+w)^s - 1; max_arity: Σ_{1≤j≤d} w^j C(s, j)"
    weight: float = field(default=1, metadata=_WEIGHT)
    max_arity: int | None = field(default=None, metadata=_MAX_ARITY)

    def __post_init__(self) -> None:
        _check(self)

    @property
    def form(self) -> Form:
        return "agreeing"

    def value(self, k: Counts) -> Wide:
        if self.max_arity is not None:
            fits(self, "max_arity", self.max_arity, k.n, k.things)
        return weighted_subsets(k.agreeing, float(self.weight), self.max_arity)

    def cosine(self, k: Counts) -> Wide:
        if self.max_arity is not None or not k.lifted:
            return super().cosine(k)
        return power_cosine(k.agreeing, k.n, k.n, k.only_x + k.only_z, float(self.weight))

    def features(self, n: Wide) -> Wide:
        _unweighted(self)
        return weighted_subsets(n, 2.0, self.max_arity)


@dataclass(frozen=True, repr=False)
class MonotoneDNF(Kernel):
    """(1+weight)^c - 1: all conjunctions of variables, each of j variables weighing weight^j.

    >>> MonotoneDNF().on_counts(n=9, x=4, z=4, c=[0, 1, 4])
    array([ 0.,  1., 15.])
    """

    name: ClassVar[str] = "monotone_dnf"
    formula: ClassVar[str] = "(1+w)^c - 1; max_arity: Σ_{1≤j≤d} w^j C(c, j)"
    weight: float = field(default=1, metadata=_WEIGHT)
    max_arity: int | None = field(default=None, metadata=_MAX_ARITY)

    def __post_init__(self) -> None:
        _check(self)

    @property
    def form(self) -> Form:
        return "common"

    def value(self, k: Counts) -> Wide:
        if self.max_arity is not None:
            fits(self, "max_arity", self.max_arity, k.n, k.things)
        return weighted_subsets(k.common, float(self.weight), self.max_arity)

    def cosine(self, k: Counts) -> Wide:
        if self.max_arity is not None or not k.lifted:
            return super().cosine(k)
        half = (k.only_x + k.only_z) * 0.5
        return power_cosine(k.common, k.x, k.z, half, float(self.weight))

    def features(self, n: Wide) -> Wide:
        _unweighted(self)
        return weighted_subsets(n, 1.0, self.max_arity)


@dataclass(frozen=True, repr=False)
class ComposedDNF(Kernel):
    """Disjunctions of `clauses` conjunctions of `literals` variables: DNF of one shape.

    With ``monotone=False`` the variables of a conjunction may be negated.

    >>> ComposedDNF(clauses=2, literals=2).composition
    disjunctive(2) @ conjunctive(2)
    >>> ComposedDNF(clauses=2, literals=2).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([1., 1., 5.])
    """

    name: ClassVar[str] = "composed_dnf"
    formula: ClassVar[str] = "disjunctive(clauses) @ [literal_]conjunctive(literals)"
    clauses: int = field(metadata={"range": "whole, 1 to the number of conjunctions"})
    literals: int = field(metadata={"range": "whole, 1 to n"})
    monotone: bool = field(default=True, metadata={"range": "True or False"})

    def __post_init__(self) -> None:
        _check_clauses(self)

    @property
    def composition(self) -> Composed:
        """The same kernel as disjunctions of conjunctions."""
        inner = Conjunctive if self.monotone else LiteralConjunctive
        return Disjunctive(self.clauses) @ inner(self.literals)

    def value(self, k: Counts) -> Wide:
        _check_room(self, k, "conjunction")
        return self.composition.value(k)

    def own_value(self, k: Counts) -> Wide:
        _check_room(self, k, "conjunction")
        return self.composition.own_value(k)

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

    name: ClassVar[str] = "composed_cnf"
    formula: ClassVar[str] = "conjunctive(clauses) @ [literal_]disjunctive(literals)"
    clauses: int = field(metadata={"range": "whole, 1 to the number of disjunctions"})
    literals: int = field(metadata={"range": "whole, 1 to n"})
    monotone: bool = field(default=True, metadata={"range": "True or False"})

    def __post_init__(self) -> None:
        _check_clauses(self)

    @property
    def composition(self) -> Composed:
        """The same kernel as conjunctions of disjunctions."""
        inner = Disjunctive if self.monotone else LiteralDisjunctive
        return Conjunctive(self.clauses) @ inner(self.literals)

    def value(self, k: Counts) -> Wide:
        _check_room(self, k, "disjunction")
        return self.composition.value(k)

    def own_value(self, k: Counts) -> Wide:
        _check_room(self, k, "disjunction")
        return self.composition.own_value(k)

    def features(self, n: Wide) -> Wide:
        return self.composition.features(n)


def _check(kernel: DNF | MonotoneDNF) -> None:
    real(kernel, "weight", kernel.weight)
    if kernel.max_arity is not None:
        whole(kernel, "max_arity", kernel.max_arity)


def _check_clauses(kernel: ComposedDNF | ComposedCNF) -> None:
    whole(kernel, "clauses", kernel.clauses)
    whole(kernel, "literals", kernel.literals)
    flag(kernel, "monotone", kernel.monotone)


def _check_room(kernel: ComposedDNF | ComposedCNF, k: Counts, things: str) -> None:
    fits(kernel, "literals", kernel.literals, k.n, k.things)
    fits(kernel, "clauses", kernel.clauses, kernel.composition.inner.features(k.n), things)


def _unweighted(kernel: DNF | MonotoneDNF) -> None:
    if kernel.weight != 1:
        raise ParameterTypeError(
            f"{kernel} cannot be the inner kernel of `outer @ inner`: its features are not 0 or 1, "
            "but weighted; use weight=1"
        )
