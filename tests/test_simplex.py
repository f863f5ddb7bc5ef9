"""Weights minimise the objective over the simplex: against a generic solver, gap included."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from boolrank import Interactions, KernelRanker
from boolrank._compiled.simplex import solve
from boolrank.errors import ConvergenceWarning
from boolrank.matrix import DenseMatrix

clarabel = pytest.importorskip("clarabel")


def objective(A: NDArray[np.float64], b: NDArray[np.float64], alpha: NDArray[np.float64]) -> float:
    return float(alpha @ A @ alpha - 2 * b @ alpha)


def by_clarabel(A: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    size = len(b)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    limits = sparse.csc_matrix(np.vstack((np.ones((1, size)), -np.eye(size))))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(size)]
    sides = np.concatenate(([1.0], np.zeros(size)))
    upper = sparse.csc_matrix(np.triu(2 * A))
    found = clarabel.DefaultSolver(upper, -2 * b, limits, sides, cones, settings).solve()
    alpha = np.maximum(np.array(found.x), 0)
    return alpha / alpha.sum()


def solved(
    A: NDArray[np.float64], b: NDArray[np.float64], tolerance: float = 1e-13
) -> tuple[NDArray[np.float64], float]:
    size = len(b)
    # The diagonal is twice the distance from the origin, and may differ from item to item.
    matrix = DenseMatrix(A, b, np.diag(A) / 2).arrays
    alpha, room = np.empty(size), np.empty(2 * size * size)
    items, ready = np.arange(size, dtype=np.int32), np.zeros(size, np.bool_)
    gap = solve(matrix, items, 0.0, b, tolerance, float(A.max()), alpha, room, ready)
    return alpha, gap


def problem(rng: np.random.Generator, size: int, reg: float) -> tuple[Any, Any]:
    """A random one with the same number all over its diagonal, as normalised kernels have."""
    F = rng.random((size, int(rng.integers(1, 60)))) ** rng.integers(1, 8)
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    A = F @ F.T
    np.fill_diagonal(A, 1 + reg)
    return A, rng.random(size) * rng.choice([0.1, 1, 10])


@pytest.mark.parametrize("seed", range(60))
def test_random_problems_reach_the_minimum_of_a_generic_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = problem(rng, int(rng.integers(1, 120)), rng.choice([0.01, 0.1, 10]))
    alpha, gap = solved(A, b)
    theirs = objective(A, b, by_clarabel(A, b))
    assert alpha.min() >= 0
    assert alpha.sum() == pytest.approx(1, abs=1e-12)
    assert objective(A, b, alpha) <= theirs + 1e-9 * max(1, abs(theirs))
    # The gap bounds what is left to gain.
    assert objective(A, b, alpha) - gap <= theirs + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_problems_with_any_diagonal_reach_the_minimum_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b = problem(rng, int(rng.integers(2, 60)), 0.1)
    sizes = rng.random(len(b)) + 0.01
    A *= np.outer(sizes, sizes)
    alpha, gap = solved(A, b)
    theirs = objective(A, b, by_clarabel(A, b))
    assert objective(A, b, alpha) <= theirs + 1e-9 * max(1, abs(theirs))
    assert objective(A, b, alpha) - gap <= theirs + 1e-9


def test_a_loose_tolerance_stops_early_with_a_gap_that_holds() -> None:
    rng = np.random.default_rng(0)
    A, b = problem(rng, 80, 0.1)
    best = objective(A, b, solved(A, b)[0])
    for tolerance in (1e-2, 1e-4, 1e-6):
        alpha, gap = solved(A, b, tolerance)
        assert gap <= tolerance
        assert 0 <= objective(A, b, alpha) - best <= gap + 1e-14


def test_weights_of_users_are_solutions_of_their_problems() -> None:
    rng = np.random.default_rng(4)
    X = rng.random((60, 40)) < rng.beta(0.6, 2, 40)
    X[:, 0] = True
    data = Interactions.from_matrix(X)
    for storage in ("dense", "compressed"):
        model = KernelRanker("disjunctive(3)", storage=storage).fit(data)
        K = np.array([model.matrix.row(i) for i in range(40)])
        for user in range(60):
            own = data.rows.row(user)
            A = K[np.ix_(own, own)] + 0.1 * np.eye(len(own))
            b = model.matrix.means[own]
            ours = dict(zip(own.tolist(), model.weights([user])[0], strict=True))
            theirs = objective(A, b, by_clarabel(A, b))
            mine = objective(A, b, np.array([ours[int(i)] for i in own]))
            assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-12)


def test_equal_items_without_regularisation_share_what_one_of_them_would_have() -> None:
    A = np.ones((6, 6))
    b = np.zeros(6)
    alpha, gap = solved(A, b)
    assert alpha.sum() == pytest.approx(1)
    assert gap <= 1e-13
    assert objective(A, b, alpha) == pytest.approx(1)


@pytest.mark.parametrize("reg", [0.0, 1e-8, 1e-4])
@pytest.mark.parametrize("kernel", ["linear", "tanimoto", "conjunctive(2)"])
def test_nearly_singular_problems_end_with_the_gap_that_is_asked_for(
    kernel: str, reg: float
) -> None:
    X = np.random.default_rng(0).random((40, 600)) < 0.5
    data = Interactions.from_matrix(X)
    model = KernelRanker(kernel, reg=reg).fit(data)
    K = np.array([model.matrix.row(i) for i in range(600)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for user in range(3):
            own = data.rows.row(user)
            A, b = K[np.ix_(own, own)] + reg * np.eye(len(own)), model.matrix.means[own]
            alpha = model.weights([user])[0]
            gradient = A @ alpha - b
            assert 2 * (alpha @ gradient - gradient.min()) <= 1e-12


def test_weights_that_stop_short_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Interactions.from_matrix(np.random.default_rng(0).random((40, 60)) < 0.5)
    monkeypatch.setattr("boolrank.models.simplex_scorer.TOLERANCE", 1e-2)
    model = KernelRanker("linear", reg=0).fit(data)
    with pytest.warns(ConvergenceWarning, match="a larger reg") as told:
        found = model.recommend(n=3)
    assert len(told) == 1
    gap = float(str(told[0].message).split("duality gap of ")[1].split()[0])
    assert 1e-9 < gap <= 1e-2
    assert [len(items) for items in found.lists()] == [3] * 40
