"""Hypothesis strategies: binary matrices, counts of pairs, kernels and expressions."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from boolrank import Conjunctive, Disjunctive, Kernel, Linear, MonotoneDNF, Tanimoto, Threshold
from boolrank.kernels import (
    DNF,
    AllSubset,
    ComposedCNF,
    ComposedDNF,
    LiteralConjunctive,
    LiteralDisjunctive,
    Polynomial,
)

# Weights that a double holds exactly, and others.
weights = st.sampled_from([1, 2, 3, 0.5, 0.25, 0.1, 1.7, 1e-3, 1e3])


@st.composite
def binary_matrices(
    draw: st.DrawFn,
    min_rows: int = 1,
    max_rows: int = 8,
    min_columns: int = 1,
    max_columns: int = 9,
    min_ones: int = 0,
) -> np.ndarray:
    """Draw matrices of 0 and 1 with at least `min_ones` ones in each row."""
    rows = draw(st.integers(min_rows, max_rows))
    columns = draw(st.integers(max(min_columns, min_ones), max_columns))
    X = draw(hnp.arrays(np.uint8, (rows, columns), elements=st.integers(0, 1)))
    for row in X:
        row[np.flatnonzero(row == 0)[: max(min_ones - int(row.sum()), 0)]] = 1
    return X


@st.composite
def counts(draw: st.DrawFn, min_n: int = 1, max_n: int = 10**9) -> tuple[int, int, int, int]:
    """Draw counts (n, x, z, c), often extreme: empty, full, equal, disjoint, covering."""
    tops = sorted({min(max(top, min_n), max_n) for top in (12, 1000, 10**6, max_n)})
    n = draw(st.one_of([st.integers(min_n, top) for top in tops]))
    few = st.integers(0, min(5, n))
    sizes = st.one_of(few, few.map(lambda missing: n - missing), st.integers(0, n))
    x, z = draw(sizes), draw(sizes)
    if draw(st.booleans()) and draw(st.booleans()):
        return n, x, x, x
    low, high = max(x + z - n, 0), min(x, z)
    return n, x, z, draw(st.one_of(st.just(low), st.just(high), st.integers(low, high)))


def leaves(n: int = 4) -> st.SearchStrategy[Kernel]:
    """Draw any kernel, with parameters that n variables allow (n at least 2)."""
    arities = st.integers(1, n)
    limits = st.one_of(st.none(), arities)
    clauses = st.tuples(st.integers(1, 2), st.integers(1, n - 1), st.booleans())
    return st.one_of(
        st.just(Linear()),
        st.builds(Polynomial, st.integers(1, 4), weights, st.one_of(st.just(0), weights)),
        st.just(AllSubset()),
        st.just(Tanimoto()),
        st.builds(Conjunctive, arities, st.booleans()),
        st.builds(DNF, weights, limits),
        st.builds(MonotoneDNF, weights, limits),
        st.builds(Disjunctive, arities),
        arities.flatmap(lambda d: st.builds(Threshold, st.integers(1, d), st.just(d))),
        st.builds(LiteralConjunctive, arities),
        st.builds(LiteralDisjunctive, arities),
        clauses.map(lambda args: ComposedDNF(*args)),
        clauses.map(lambda args: ComposedCNF(*args)),
    )


def plain(n: int = 4) -> st.SearchStrategy[Kernel]:
    """Draw kernels of at least n features of 0 or 1, which can be the inner one of `@`."""
    arities = st.integers(1, n - 1)
    return st.one_of(
        st.just(Linear()),
        st.builds(Conjunctive, arities),
        st.builds(Disjunctive, arities),
        arities.flatmap(lambda d: st.builds(Threshold, st.integers(1, d), st.just(d))),
        st.builds(LiteralConjunctive, arities),
        st.builds(LiteralDisjunctive, arities),
    )


def expressions(n: int = 4, *, normalized: bool = True) -> st.SearchStrategy[Kernel]:
    """Draw kernels and expressions of them; normalised ones only if `normalized`."""

    def larger(smaller: st.SearchStrategy[Kernel]) -> st.SearchStrategy[Kernel]:
        choices = [
            st.builds(lambda a, b: a + b, smaller, smaller),
            st.builds(lambda a, b: a * b, smaller, smaller),
            st.builds(lambda w, a: w * a, weights, smaller),
            st.builds(lambda a, p: a**p, smaller, st.integers(1, 3)),
        ]
        if normalized:
            choices.append(smaller.map(lambda a: a.normalized()))
        return st.one_of(choices)

    twice = st.builds(lambda outer, inner: Disjunctive(2) @ (outer @ inner), plain(n), plain(n))
    composed = st.builds(lambda outer, inner: outer @ inner, leaves(n), plain(n)) | twice
    return st.recursive(st.one_of(leaves(n), composed), larger, max_leaves=4)
