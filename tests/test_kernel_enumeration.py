"""Kernel values equal the number of shared features, enumerated for all small vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boolrank import (
    Conjunctive,
    Disjunctive,
    Kernel,
    Linear,
    MonotoneDNF,
    ParameterError,
    Tanimoto,
    Threshold,
)
from boolrank.kernels import (
    DNF,
    AllSubset,
    ComposedCNF,
    ComposedDNF,
    Formula,
    LiteralConjunctive,
    LiteralDisjunctive,
    Polynomial,
)
from effort import THOROUGH
from feature_spaces import FeatureSpace, enumerate_features
from oracles import exact_value, relative_error
from strategies import expressions

WEIGHTS = (1, 2, 0.5)
NONE = {("compositions", 1), ("compositions", 2), ("propositions", 6), ("propositions", 7)}
# Continuous integration tries three more.
MOST_VARIABLES = 7 if THOROUGH else 4
# Most features of an enumerated composed space: a few seconds for all of them.
MOST_FEATURES = 3_000


def simple(n: int) -> Iterator[Kernel]:
    yield from (Linear(), AllSubset(), Tanimoto())
    for degree in range(1, 5 if n < 7 else 4):
        for scale, offset in ((1, 0), (1, 1), (0.5, 0), (2, 0.5), (3, 2)):
            yield Polynomial(degree, scale, offset)


def clauses(n: int) -> Iterator[Kernel]:
    for d in range(1, n + 1):
        yield from (Conjunctive(d), Conjunctive(d, up_to=True), Disjunctive(d))
        yield from (LiteralConjunctive(d), LiteralDisjunctive(d))


def normal_forms(n: int) -> Iterator[Kernel]:
    for weight in WEIGHTS:
        for limit in (None, *range(1, n + 1)):
            yield DNF(weight, limit)
            yield MonotoneDNF(weight, limit)


def thresholds(n: int) -> Iterator[Kernel]:
    return (Threshold(t, d) for d in range(1, n + 1) for t in range(1, d + 1))


def composed_forms(n: int) -> Iterator[Kernel]:
    for form in (ComposedDNF, ComposedCNF):
        for literals in range(1, n + 1):
            for monotone in (True, False):
                inner = math.comb(n, literals) * (1 if monotone else 2**literals)
                # Choosing nearly all of hundreds of clauses gives few features, but is slow.
                for count in range(1, inner + 1 if n < 6 else 5):
                    if 0 < math.comb(inner, count) <= MOST_FEATURES:
                        yield form(count, literals, monotone)


def compositions(n: int) -> Iterator[Kernel]:
    if n < 3:
        return
    inner = (Linear(), Conjunctive(2), Disjunctive(2), Threshold(2, 2), LiteralConjunctive(1))
    outer = (
        Linear(),
        Conjunctive(2),
        Conjunctive(3, up_to=True),
        Disjunctive(2),
        Disjunctive(3),
        Threshold(2, 3),
        LiteralConjunctive(2),
        LiteralDisjunctive(2),
        MonotoneDNF(max_arity=2),
        DNF(2, max_arity=2),
        Polynomial(2, offset=1),
    )
    yield from (first @ second for first in outer for second in inner)
    yield Disjunctive(2) @ (Conjunctive(2) @ Disjunctive(2))


def algebra(n: int) -> Iterator[Kernel]:
    yield Linear() + 0.5 * Conjunctive(min(n, 2))
    yield Linear() * Tanimoto()
    yield (Linear() + 2 * Disjunctive(min(n, 2))) ** 2
    yield 0.25 * (MonotoneDNF(0.5) * LiteralConjunctive(1)) + AllSubset() ** 2


def propositions(n: int) -> Iterator[Kernel]:
    if n > 5:
        return
    a, b, c = Linear(), Conjunctive(min(n, 2)), Disjunctive(min(n, 2))
    t, s = Threshold(min(n, 2), min(n, 3)), LiteralConjunctive(1)
    yield from (~a, ~b, ~c, ~t, ~s, ~~b, ~LiteralDisjunctive(1), ~AllSubset(), ~MonotoneDNF())
    yield from (a | b, b & c, c ^ t, ~(b | c), ~b ^ s, (a ^ b) | ~c, ~(t * s), ~(b**2), a | b | c)
    for inner in (a, ~b, a | s, Formula("a and not b")):
        for outer in (Conjunctive(2), Disjunctive(2), Threshold(2, 3), Formula("a ^ b"), ~b, a | a):
            if n in {3, 4}:
                yield outer @ inner
    yield Conjunctive(2, up_to=True) | a if n > 1 else a | a
    yield ~(Disjunctive(2) @ Conjunctive(2)) if n > 2 else ~a
    yield 0.5 * ~a + (a ^ b) * Tanimoto()
    for text in ("a", "not a", "a and a", "a and not a", "(a and b) or not c", "a & b | ~a & c"):
        yield Formula(text)
    yield Formula("equivalent(a, implies(b, xor(a, b)))")


FAMILIES: dict[str, Callable[[int], Iterator[Kernel]]] = {
    "simple": simple,
    "clauses": clauses,
    "normal forms": normal_forms,
    "thresholds": thresholds,
    "composed forms": composed_forms,
    "compositions": compositions,
    "algebra": algebra,
    "propositions": propositions,
}


@cache
def classes(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct counts of pairs, the first pair of each, and the class of each pair."""
    V = FeatureSpace(n, (), np.empty((2**n, 0), np.uint8)).vectors().astype(np.int64)
    x = V.sum(axis=1)
    triples = np.broadcast_arrays(x[:, None], x[None, :], V @ V.T)
    flat = np.stack([each.ravel() for each in triples], axis=1)
    return np.unique(flat, axis=0, return_index=True, return_inverse=True)


@pytest.mark.parametrize("n", range(1, MOST_VARIABLES + 1))
@pytest.mark.parametrize("family", FAMILIES)
def test_values_equal_the_number_of_shared_features(family: str, n: int) -> None:
    checked = 0
    for kernel in FAMILIES[family](n):
        try:
            space = enumerate_features(kernel, n)
        except ParameterError:
            continue  # too many features to write out
        exact = space.gram()
        distinct, first, inverse = classes(n)
        representatives = exact.ravel()[first]
        everywhere = representatives[inverse.ravel()].tolist()
        assert everywhere == exact.ravel().tolist(), f"{kernel}: more than counts"
        for (x, z, c), wanted in zip(distinct.tolist(), representatives, strict=True):
            assert exact_value(kernel, n, x, z, c) == wanted, f"oracle of {kernel} at {n, x, z, c}"

        nearest = np.array([float(value) for value in representatives])
        gram = kernel(space.vectors()).ravel()
        wrong = np.flatnonzero(gram != nearest[inverse.ravel()])
        if wrong.size:
            x, z, c = distinct[inverse.ravel()[wrong[0]]].tolist()
            wanted = exact.ravel()[wrong[0]]
            pytest.fail(f"{kernel} at n={n}, {x=}, {z=}, {c=} is {gram[wrong[0]]}, not {wanted}")
        cosines = kernel.normalized().on_counts(n, *distinct.T)
        for (x, z, c), value in zip(distinct.tolist(), cosines, strict=True):
            error = relative_error(value, kernel, n, x, z, c)
            assert error < 1e-12, f"normalised {kernel} at n={n}, {x=}, {z=}, {c=}: off by {error}"
        checked += 1
    assert checked > 0 or (family, n) in NONE


@given(kernel=expressions(4, normalized=False), data=st.data())
def test_values_of_expressions_equal_numbers_of_features(
    kernel: Kernel, data: st.DataObject
) -> None:
    n = 4
    try:
        exact = enumerate_features(kernel, n, max_features=20_000).gram()
    except ParameterError:
        return  # too many features to write out
    v, w = data.draw(st.integers(0, 15)), data.draw(st.integers(0, 15))
    x, z, c = v.bit_count(), w.bit_count(), (v & w).bit_count()
    assert exact_value(kernel, n, x, z, c) == exact[v, w]
    value = kernel.on_counts(n, x, z, c)
    # Sums and products with weights such as 0.1 are rounded once per operation.
    assert value == pytest.approx(float(exact[v, w]), rel=1e-12, abs=0)


def test_too_many_features_raise_and_name_the_limit() -> None:
    with pytest.raises(ParameterError, match="max_features"):
        enumerate_features(ComposedDNF(3, 3), n=7, max_features=100)


def test_kernels_without_an_oracle_raise() -> None:
    with pytest.raises(ParameterError, match=r"normalized\(linear\) has no enumeration"):
        enumerate_features(Linear().normalized(), n=3)
    with pytest.raises(ParameterError, match="no exact rational value"):
        exact_value(Linear().normalized(), 3, 1, 1, 1)


def test_features_with_weights_cannot_be_variables() -> None:
    with pytest.raises(ParameterError):
        enumerate_features(Conjunctive(2) @ MonotoneDNF(0.5), n=3)
