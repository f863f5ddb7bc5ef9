"""Real data: both storages give the same rankings, and weights are solutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from boolrank import Interactions, KernelRanker, load_dataset, paper_protocol
from boolrank.errors import DatasetNotFoundError
from boolrank.evaluation import rank_fold
from boolrank.models.simplex_scorer import TOLERANCE
from test_matrix import KERNELS
from test_simplex import by_clarabel, objective


def load(name: str, folder: Path) -> Interactions:
    try:
        return load_dataset(name, folder)
    except DatasetNotFoundError:
        pytest.skip(f"{name} is not in BOOLRANK_DATA")


@pytest.mark.parametrize("kernel", [*KERNELS, "conjunctive(20)"])
def test_on_filmtrust_both_storages_give_the_same_rankings(kernel: str, data_dir: Path) -> None:
    data = load("filmtrust", data_dir)
    dense, compressed = (KernelRanker(kernel, storage=s).fit(data) for s in ("dense", "compressed"))
    assert np.array_equal(dense.recommend().items, compressed.recommend().items)
    assert np.allclose(dense.score(), compressed.score(), rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def crowded(data_dir: Path) -> tuple[KernelRanker, KernelRanker]:
    """FilmTrust at arity 38, dense and compressed: popular films agree to 13 digits."""
    data = load("filmtrust", data_dir)
    one, two = (
        KernelRanker("disjunctive(38)", storage=s).fit(data) for s in ("dense", "compressed")
    )
    return one, two


def test_values_near_one_differ_between_storages_by_rounding_only(
    crowded: tuple[KernelRanker, KernelRanker],
) -> None:
    one, two = crowded
    assert np.allclose(one.score(), two.score(), rtol=0, atol=1e-13)
    assert np.allclose(one.recommend().scores, two.recommend().scores, rtol=0, atol=1e-13)


def test_values_near_one_give_the_same_lists_in_both_storages(
    crowded: tuple[KernelRanker, KernelRanker],
) -> None:
    one, two = crowded
    assert (one.recommend().items == two.recommend().items).all(axis=1).mean() > 0.99


def test_values_near_one_give_the_same_recommendations_and_evaluations(
    data_dir: Path,
) -> None:
    fold = paper_protocol(load("filmtrust", data_dir))[0]
    model = KernelRanker("disjunctive(38)").fit(fold.train)
    ranked = fold.train.items.names(rank_fold(model, fold, 10).top)
    same = ranked == model.recommend(list(fold.users), n=10).items
    assert same.all(axis=1).mean() > 0.99


@pytest.mark.parametrize(
    ("name", "kernel", "number"),
    [
        ("movielens-1m", "disjunctive(2)", 400),
        ("filmtrust", "linear", 300),
        ("ciaodvd", "disjunctive(116)", 300),
    ],
)
def test_weights_of_real_users_reach_the_minimum_of_a_generic_solver(
    name: str, kernel: str, number: int, data_dir: Path
) -> None:
    data = load(name, data_dir)
    model = KernelRanker(kernel).fit(data)
    lengths = np.diff(data.indptr)
    users = np.random.default_rng(0).permutation(np.flatnonzero((lengths > 1) & (lengths < 400)))
    for user in users[:number]:
        own = data.rows.row(int(user))
        A = block(model, own) + 0.1 * np.eye(len(own))
        b = model.matrix.means[own]
        alpha = model.weights([data.users[int(user)]])[0]
        theirs = objective(A, b, by_clarabel(A, b))
        assert objective(A, b, alpha) - theirs <= 1e-9 * abs(theirs)
        gradient = A @ alpha - b
        assert 2 * (alpha @ gradient - gradient.min()) <= 2 * TOLERANCE * 1.1


def block(model: KernelRanker, own: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.array([model.matrix.row(int(item))[own] for item in own])
