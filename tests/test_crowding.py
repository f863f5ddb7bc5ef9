"""Where values crowd near 1: held with another origin, they are told apart by all their digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from boolrank import Interactions, KernelRanker, Overlaps, load_dataset, parse_kernel
from boolrank.errors import DatasetNotFoundError
from boolrank.kernels.counts import Pairs
from boolrank.kernels.values import centred_values
from boolrank.matrix import CompressedMatrix, DenseMatrix
from boolrank.models import load_model

# Digits that exact values are worked out to.
DIGITS = 400


def popular(seed: int, users: int = 400, items: int = 60) -> NDArray[np.bool_]:
    """Half of the items everybody knows, nearly; and one of them really everybody."""
    rng = np.random.default_rng(seed)
    X = rng.random((users, items)) < np.where(np.arange(items) % 2, rng.beta(0.5, 5, items), 0.93)
    X[:, 2] = True
    X[:, -1] = False
    return X


def both(X: NDArray[np.bool_], kernel: str, **options: float) -> list[KernelRanker]:
    data = Interactions.from_matrix(X)
    return [KernelRanker(kernel, storage=s, **options).fit(data) for s in ("dense", "compressed")]


def shares(kernel: str, n: int, x: int, z: int, c: int) -> Fraction:
    """The kernel's raw value over that of the full vector with itself, exactly."""
    d = int(kernel.rstrip(")").split("(")[1])
    hit = [comb(n, d) - comb(n - t, d) for t in (x, z, x + z - c, n)]
    return Fraction(hit[0] + hit[1] - hit[2], hit[3])


def cosine(kernel: str, n: int, x: int, z: int, c: int) -> Decimal:
    """The normalised value to many digits."""
    parts = [shares(kernel, n, *k) for k in ((x, z, c), (x, x, x), (z, z, z))]
    value, own_x, own_z = (Decimal(p.numerator) / Decimal(p.denominator) for p in parts)
    return value / (own_x * own_z).sqrt() if own_x and own_z else Decimal(0)


@pytest.mark.parametrize("kernel", ["disjunctive(5)", "disjunctive(60)", "0.5*disjunctive(20)"])
def test_values_from_the_full_vector_are_exact_however_small(kernel: str) -> None:
    n, rng = 300, np.random.default_rng(0)
    x, z = rng.integers(1, n + 1, (2, 60))
    c = rng.integers(np.maximum(0, x + z - n), np.minimum(x, z) + 1)
    found = centred_values(parse_kernel(kernel).normalized(), Pairs.of(n, x, z, c))
    with localcontext() as context:
        context.prec = DIGITS
        for i in range(60):
            a, b, k = int(x[i]), int(z[i]), int(c[i])
            far = [1 - cosine(kernel, n, t, n, t) for t in (a, b)]
            exact = cosine(kernel, n, a, b, k) - 1 + far[0] + far[1]
            # What has to be right is small beside the two distances, not beside 1.
            assert abs(Decimal(found[i]) - exact) <= Decimal("1e-14") * max(abs(exact), *far)


@pytest.mark.parametrize("kernel", ["disjunctive(20)", "disjunctive(60)"])
def test_both_storages_still_give_the_kernel_matrix(kernel: str) -> None:
    X = popular(1)
    overlaps, gram = (
        Overlaps.of(Interactions.from_matrix(X)),
        parse_kernel(kernel).normalized()(X.T),
    )
    for kind in (DenseMatrix, CompressedMatrix):
        matrix = kind.of(parse_kernel(kernel), overlaps)
        assert len(matrix.distance) == X.shape[1]
        rows = np.array([matrix.row(i) for i in range(len(gram))])
        assert np.allclose(rows, gram, rtol=1e-13, atol=1e-15)
        assert np.allclose(matrix.means, (gram.sum(axis=0) - 1) / len(gram), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel", ["linear", "tanimoto", "conjunctive(2)", "disjunctive(2)", "disjunctive(20)**2"]
)
def test_kernels_whose_values_do_not_crowd_or_may_be_tiny_are_held_as_they_are(kernel: str) -> None:
    for model in both(popular(2), kernel):
        assert model.matrix.distance is None


@pytest.mark.parametrize(
    ("kernel", "negative_weight"),
    [
        ("disjunctive(20)", 1.0),
        ("disjunctive(20)", 0.6),
        ("disjunctive(20)", 0.0),
        ("disjunctive(20)", 2.0),
    ],
)
def test_the_order_is_that_of_exact_arithmetic(kernel: str, negative_weight: float) -> None:
    """Weights as the model has them; all that follows from them to 400 digits."""
    X = popular(3)
    n, m = X.shape
    counts = X.T.astype(int) @ X.astype(int)
    models = both(X, kernel, negative_weight=negative_weight)
    with localcontext() as context:
        context.prec = DIGITS
        K = [
            [
                cosine(kernel, n, *map(int, (counts[i, i], counts[j, j], counts[i, j])))
                for j in range(m)
            ]
            for i in range(m)
        ]
        q = [sum(K[i][j] for i in range(m) if i != j) / m for j in range(m)]
        for user in range(0, n, 80):
            own = np.flatnonzero(X[user])
            for model in models:
                alpha = [Decimal(a) for a in model.weights([user])[0]]
                total = sum(alpha)
                exact = {
                    j: sum(a * K[i][j] for a, i in zip(alpha, own, strict=True)) / total
                    - Decimal(negative_weight) * q[j]
                    for j in range(m)
                    if not X[user, j]
                }
                expected = sorted(exact, key=lambda j: (-exact[j], j))
                assert model.recommend([user], n=m).lists()[0] == expected


def test_items_of_one_size_are_told_apart_by_what_they_share() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((300, 24), bool)
    for item in range(24):
        X[rng.permutation(300)[:200], item] = True
    one, two = both(X, "disjunctive(12)")
    assert len(one.matrix.distance) == 24
    assert np.array_equal(one.recommend(n=24).items, two.recommend(n=24).items)
    assert len(np.unique(one.recommend([0], n=24).scores[0, :5])) == 5


def test_parts_are_those_of_the_kernel_matrix_less_what_scores_leave_out() -> None:
    X = popular(4)
    for model in both(X, "disjunctive(20)", negative_weight=0.7):
        scores = model.score()
        for user, item in ((0, 1), (1, 2), (2, 7)):
            own = np.flatnonzero(X[user])
            alpha = model.weights([user])[0]
            plain = alpha * (model.matrix.row(item)[own] - 0.7 * model.matrix.means[item])
            parts = model.explain(user, item)
            assert sum(part for _, part in parts) == pytest.approx(scores[user, item], abs=1e-14)
            expected = plain + alpha * (scores[user, item] - plain.sum())
            assert dict(parts) == pytest.approx(dict(zip(own.tolist(), expected, strict=True)))
        near = model.similar_items([0], n=X.shape[1])
        K = model.matrix.row(0)
        assert near.scores[0, :-1].tolist() == [K[i] for i in near.items[0, :-1]]
        assert np.all(np.diff(near.scores[0, :-1]) <= 1e-15)


def test_weights_without_regularisation_are_solved_to_their_own_scale() -> None:
    """All differences are below 1e-12, which is less than a tolerance beside 1 would see."""
    X = popular(5)[:, ::2]
    first, second = both(X, "disjunctive(20)", reg=0.0)
    for user in range(0, len(X), 50):
        own = np.flatnonzero(X[user])
        A = np.array([first.matrix.stored(int(i))[own] for i in own])
        b, unit = first.matrix.pull[own], np.diag(A).max()
        assert unit < 1e-12
        for model in (first, second):
            alpha = model.weights([user])[0]
            gradient = A @ alpha - b
            assert 2 * (alpha @ gradient - gradient.min()) <= 1e-12 * unit


@pytest.mark.parametrize(
    ("name", "kernel"), [("jester", "disjunctive(34)"), ("filmtrust", "disjunctive(60)")]
)
def test_on_real_sets_both_storages_give_the_same_lists(
    name: str, kernel: str, data_dir: Path
) -> None:
    try:
        data = load_dataset(name, data_dir)
    except DatasetNotFoundError:
        pytest.skip(f"{name} is not in BOOLRANK_DATA")
    users = list(data.users)[:2000]
    one, two = (KernelRanker(kernel, storage=s).fit(data) for s in ("dense", "compressed"))
    assert len(one.matrix.distance) > 0
    assert np.array_equal(one.recommend(users).items, two.recommend(users).items)


def test_a_model_is_the_same_after_saving_and_loading(tmp_path: Path) -> None:
    for model in both(popular(6), "disjunctive(20)"):
        model.save(tmp_path / model.matrix.storage)
        again = load_model(tmp_path / model.matrix.storage)
        assert np.array_equal(model.score(), again.score())
        assert len(again.matrix.distance) > 0
