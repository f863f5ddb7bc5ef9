"""Feature spaces of kernels, enumerated from their definitions.

    k(x, z) = Σ_f weight_f · f(x) · f(z)

Every feature f is built with `itertools` and boolean operators from its definition ("each
disjunction of d variables"), never from a formula of counts. A feature is its truth table: an
integer whose bit v is its value on the vector v, where bit i of v is variable i. So `&` is a
conjunction, `|` a disjunction, and the features of one kernel can be the variables of another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import chain, combinations, islice, permutations, product
from operator import and_, or_, xor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boolrank import kernels
from boolrank.errors import ParameterError
from oracles import holds, letters_of

Table: TypeAlias = int
Feature: TypeAlias = tuple[Fraction, Table]

ONE = Fraction(1)


@dataclass(frozen=True)
class FeatureSpace:
    """All features of a kernel on all binary vectors over n variables.

    `active[v, f]` is 1 if feature f is true of vector v; `weights[f]` is its exact weight.
    """

    n: int
    weights: tuple[Fraction, ...]
    active: NDArray[np.uint8]

    def vectors(self) -> NDArray[np.uint8]:
        """Return the binary vectors, in the order of the rows of `active`."""
        numbers = np.arange(2**self.n)[:, None]
        return (numbers >> np.arange(self.n) & 1).astype(np.uint8)

    def gram(self) -> NDArray[np.object_]:
        """Return the exact kernel value of every pair of vectors, as Fractions."""
        denominator = math.lcm(*(weight.denominator for weight in self.weights))
        groups: dict[int, list[int]] = {}
        for feature, weight in enumerate(self.weights):
            groups.setdefault(int(weight * denominator), []).append(feature)
        total = np.zeros((2**self.n, 2**self.n), dtype=object)
        for numerator, members in groups.items():
            # Counts of features are far below 2**53, so this product of doubles is exact.
            part = self.active[:, members].astype(np.float64)
            total += (part @ part.T).astype(np.int64).astype(object) * numerator
        values, inverse = np.unique(total, return_inverse=True)
        fractions = np.array([Fraction(value, denominator) for value in values], dtype=object)
        gram: NDArray[np.object_] = fractions[inverse].reshape(total.shape)
        return gram


@dataclass(frozen=True)
class Variables:
    """The variables' truth tables, and the largest number of features allowed."""

    tables: tuple[Table, ...]
    everywhere: Table  # the table that is true of every vector
    max_features: int

    def conjunction(self, tables: Iterable[Table]) -> Table:
        """Return the table that is true where all are."""
        return reduce(and_, tables, self.everywhere)

    def disjunction(self, tables: Iterable[Table]) -> Table:
        """Return the table that is true where any is."""
        return reduce(or_, tables, 0)

    def at_least(self, count: int, tables: Iterable[Table]) -> Table:
        """Return the table that is true where at least `count` are."""
        reached = [self.everywhere] + [0] * count
        for table in tables:
            for level in range(count, 0, -1):
                reached[level] |= reached[level - 1] & table
        return reached[count]

    def choices(self, size: int) -> Iterator[tuple[Table, ...]]:
        """Yield each choice of `size` distinct variables."""
        return combinations(self.tables, size)

    def literal_choices(self, size: int) -> Iterator[tuple[Table, ...]]:
        """Yield each choice of `size` distinct variables, each plain or negated."""
        for chosen in self.choices(size):
            yield from product(*((table, table ^ self.everywhere) for table in chosen))


Builder: TypeAlias = Callable[[Any, Variables], Iterator[Feature]]


def _conjunctions(
    choices: Callable[[int], Iterator[tuple[Table, ...]]],
    sizes: Iterable[int],
    over: Variables,
    weight: Fraction = ONE,
) -> Iterator[Feature]:
    """Yield each conjunction of the given sizes, weighted by size."""
    for size in sizes:
        for chosen in choices(size):
            yield weight**size, over.conjunction(chosen)


def _disjunctions(choices: Iterable[tuple[Table, ...]], over: Variables) -> Iterator[Feature]:
    return ((ONE, over.disjunction(chosen)) for chosen in choices)


def _polynomial(kernel: Any, over: Variables) -> Iterator[Feature]:
    """Yield ordered choices of `degree` factors: variables weigh the scale, 1 the offset."""
    factors = [(Fraction(kernel.scale), table) for table in over.tables]
    if kernel.offset:
        factors.append((Fraction(kernel.offset), over.everywhere))
    return _products([factors] * kernel.degree, over)


def _tanimoto(_: Any, over: Variables) -> Iterator[Feature]:
    """Yield minhash features: for each order of the variables, the first active one."""
    share = Fraction(1, math.factorial(len(over.tables)))
    for order in permutations(over.tables):
        before = 0
        for table in order:
            yield share, table & (before ^ over.everywhere)
            before |= table


def _sizes(kernel: Any, over: Variables) -> range:
    largest = len(over.tables) if kernel.max_arity is None else kernel.max_arity
    return range(1, largest + 1)


def _threshold(kernel: Any, over: Variables) -> Iterator[Feature]:
    for chosen in over.choices(kernel.arity):
        yield ONE, over.at_least(kernel.satisfied, chosen)


def _clauses(kernel: Any, over: Variables) -> Iterator[tuple[Table, ...]]:
    """Yield the literals of each clause of a composed normal form."""
    return (over.choices if kernel.monotone else over.literal_choices)(kernel.literals)


def _composed_dnf(kernel: Any, over: Variables) -> Iterator[Feature]:
    clauses = [over.conjunction(literals) for literals in _clauses(kernel, over)]
    return _disjunctions(combinations(clauses, kernel.clauses), over)


def _composed_cnf(kernel: Any, over: Variables) -> Iterator[Feature]:
    clauses = [over.disjunction(literals) for literals in _clauses(kernel, over)]
    return ((ONE, over.conjunction(chosen)) for chosen in combinations(clauses, kernel.clauses))


def _composed(kernel: Any, over: Variables) -> Iterator[Feature]:
    inner = _features(kernel.inner, over)
    if any(weight != 1 for weight, _ in inner):
        raise ParameterError(
            f"the features of {kernel.inner} have weights, so they cannot be the variables of "
            f"{kernel.outer}"
        )
    lifted = replace(over, tables=tuple(table for _, table in inner))
    return iter(_features(kernel.outer, lifted))


def _products(parts: Iterable[list[Feature]], over: Variables) -> Iterator[Feature]:
    """Yield the features of a product of kernels: one of each part, all true."""
    for chosen in product(*parts):
        weight = math.prod((factor for factor, _ in chosen), start=ONE)
        yield weight, over.conjunction(table for _, table in chosen)


def _scaled(kernel: Any, over: Variables) -> Iterator[Feature]:
    factor = Fraction(kernel.weight)
    return ((factor * weight, table) for weight, table in _features(kernel.kernel, over))


def _pairs(operator: Callable[[Table, Table], Table]) -> Builder:
    """Return the features of a connective: one of each part, combined."""

    def build(kernel: Any, over: Variables) -> Iterator[Feature]:
        for chosen in product(*(_plain(part, over) for part in kernel.parts)):
            yield ONE, reduce(operator, chosen)

    return build


def _plain(kernel: Any, over: Variables) -> list[Table]:
    return [table for _, table in _features(kernel, over)]


def _formula(kernel: Any, over: Variables) -> Iterator[Feature]:
    """Yield the formula for each choice of a variable per letter, world by world."""
    letters = letters_of(kernel.text)
    worlds = [
        world
        for world in product((0, 1), repeat=len(letters))
        if holds(kernel.text, dict(zip(letters, world, strict=True)))
    ]
    for chosen in product(over.tables, repeat=len(letters)):
        signed = [(table ^ over.everywhere, table) for table in chosen]
        yield (
            ONE,
            over.disjunction(
                over.conjunction(signs[value] for signs, value in zip(signed, world, strict=True))
                for world in worlds
            ),
        )


BUILDERS: dict[type, Builder] = {
    kernels.Linear: lambda _, over: _conjunctions(over.choices, [1], over),
    kernels.Polynomial: _polynomial,
    kernels.AllSubset: lambda _, over: _conjunctions(
        over.choices, range(len(over.tables) + 1), over
    ),
    kernels.Conjunctive: lambda k, over: _conjunctions(
        over.choices, range(1 if k.up_to else k.arity, k.arity + 1), over
    ),
    kernels.Tanimoto: _tanimoto,
    kernels.DNF: lambda k, over: _conjunctions(
        over.literal_choices, _sizes(k, over), over, Fraction(k.weight)
    ),
    kernels.MonotoneDNF: lambda k, over: _conjunctions(
        over.choices, _sizes(k, over), over, Fraction(k.weight)
    ),
    kernels.Disjunctive: lambda k, over: _disjunctions(over.choices(k.arity), over),
    kernels.Threshold: _threshold,
    kernels.LiteralConjunctive: lambda k, over: _conjunctions(
        over.literal_choices, [k.arity], over
    ),
    kernels.LiteralDisjunctive: lambda k, over: _disjunctions(over.literal_choices(k.arity), over),
    kernels.ComposedDNF: _composed_dnf,
    kernels.ComposedCNF: _composed_cnf,
    kernels.Composed: _composed,
    kernels.Sum: lambda k, over: chain.from_iterable(_features(part, over) for part in k.parts),
    kernels.Product: lambda k, over: _products([_features(part, over) for part in k.parts], over),
    kernels.Power: lambda k, over: _products([_features(k.kernel, over)] * k.exponent, over),
    kernels.Scaled: _scaled,
    kernels.Not: lambda k, over: (
        (ONE, table ^ over.everywhere) for table in _plain(k.kernel, over)
    ),
    kernels.Or: _pairs(or_),
    kernels.Xor: _pairs(xor),
    kernels.Formula: _formula,
}


def _features(kernel: Any, over: Variables) -> list[Feature]:
    builder = BUILDERS.get(type(kernel))
    if builder is None:
        raise ParameterError(
            f"{kernel!r} has no enumeration; known are "
            f"{', '.join(sorted(each.__name__ for each in BUILDERS))}"
        )
    features = list(islice(builder(kernel, over), over.max_features + 1))
    if len(features) > over.max_features:
        raise ParameterError(
            f"{kernel!r} has more than {over.max_features} features over {len(over.tables)} "
            "variables; use fewer variables, a smaller arity, or a larger max_features"
        )
    return features


def enumerate_features(kernel: Any, n: int, max_features: int = 50_000) -> FeatureSpace:
    """Enumerate the features of `kernel` over `n` variables on all 2**n vectors.

    >>> from boolrank import Disjunctive
    >>> space = enumerate_features(Disjunctive(2), n=3)
    >>> len(space.weights)
    3
    >>> space.gram()[0b001, 0b110]  # {1, 2} and {1, 3} meet both
    Fraction(2, 1)
    """
    everywhere = (1 << 2**n) - 1
    tables = tuple(sum(1 << v for v in range(2**n) if v >> i & 1) for i in range(n))
    features = _features(kernel, Variables(tables, everywhere, max_features))
    width = (2**n + 7) // 8
    packed = b"".join(table.to_bytes(width, "little") for _, table in features)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(features), width)
    bits = np.unpackbits(rows, axis=1, count=2**n, bitorder="little")
    return FeatureSpace(n, tuple(weight for weight, _ in features), np.ascontiguousarray(bits.T))
