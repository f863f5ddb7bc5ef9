"""A support vector machine with a boolean kernel learns concepts that a linear one cannot."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from boolrank import Conjunctive, Disjunctive, Kernel, Threshold
from boolrank.kernels import ComposedDNF, LiteralConjunctive

N = 12


def pairs_both(X: np.ndarray) -> np.ndarray:
    """A monotone DNF: x1 x2 or x3 x4 or x5 x6."""
    return (X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3]) | (X[:, 4] & X[:, 5])


def pairs_either(X: np.ndarray) -> np.ndarray:
    """A monotone CNF: (x1 or x2) and (x3 or x4) and (x5 or x6)."""
    return (X[:, 0] | X[:, 1]) & (X[:, 2] | X[:, 3]) & (X[:, 4] | X[:, 5])


def majorities(X: np.ndarray) -> np.ndarray:
    """At least two of: two of x1 x2 x3, two of x4 x5 x6, two of x7 x8 x9, two of x10 x11 x12."""
    return (X.reshape(-1, 4, 3).sum(axis=2) >= 2).sum(axis=1) >= 2


def parity(X: np.ndarray) -> np.ndarray:
    """x1 differs from x2."""
    return X[:, 0] != X[:, 1]


CONCEPTS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], list[Kernel]]] = {
    "conjunctive": (pairs_both, [Conjunctive(d) for d in (1, 2, 3, 4)]),
    "disjunctive": (pairs_either, [Disjunctive(d) for d in (1, 2, 3, 4)]),
    "threshold": (majorities, [Threshold(2, d) for d in (2, 3, 4)]),
    "composed DNF": (pairs_both, [ComposedDNF(2, d) for d in (1, 2, 3)]),
    "parity": (parity, [LiteralConjunctive(d) for d in (1, 2, 3)]),
}


def accuracy(kernels: list[Kernel] | str, concept: Callable[[np.ndarray], np.ndarray]) -> float:
    rng = np.random.default_rng(8)
    # Two of five variables are active, and each concept is true of a quarter to a half of the rows.
    X, held_out = ((rng.random((size, N)) < 0.4).astype(int) for size in (600, 1000))
    grid = {"kernel": ["linear"] if kernels == "linear" else kernels, "C": [1.0, 10.0]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(X, concept(X))
    return float(search.score(held_out, concept(held_out)))


@pytest.mark.parametrize("name", CONCEPTS)
def test_a_boolean_kernel_learns_what_a_linear_one_cannot(name: str) -> None:
    concept, kernels = CONCEPTS[name]
    boolean, linear = accuracy(kernels, concept), accuracy("linear", concept)
    assert boolean >= 0.95
    assert boolean >= linear + 0.1


def test_a_grid_search_finds_the_planted_arity() -> None:
    rng = np.random.default_rng(9)
    X = rng.integers(0, 2, (500, N))
    grid = {"kernel": [LiteralConjunctive(d).normalized() for d in (1, 2, 6)], "C": [10.0]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(X, parity(X))
    assert search.best_params_["kernel"] == LiteralConjunctive(2).normalized()
