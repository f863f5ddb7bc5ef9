"""The spectral ranker: its formula on dense matrices, its eigenvectors, its fast lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boolrank import Interactions, SpectralRanker
from boolrank.models import Profiles
from boolrank.models.spectral_ranker import eigenvectors
from boolrank.models.spectral_scorer import SpectralScorer

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def draw(seed: int, users: int = 40, items: int = 25, density: float = 0.15) -> Interactions:
    rng = np.random.default_rng(seed)
    matrix = rng.random((users, items)) < density * rng.random(items) * 2
    matrix[np.arange(users), rng.integers(0, items, users)] = True
    matrix[0] |= ~matrix.any(axis=0)
    return Interactions.from_matrix(matrix)


def expected(data: Interactions, model: SpectralRanker) -> Floats:
    """(n, m) Return all scores by the formula, with all eigenvectors."""
    X = data.matrix().toarray().astype(float)
    weights = np.maximum(X.sum(axis=1), 1) ** -model.user_exponent
    gram = X.T @ (weights[:, None] * X)
    K = gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    values, V = np.linalg.eigh(K)
    d, top = X.sum(axis=0), values[-1]
    b = (X * d ** (0.5 - model.input_exponent)) @ K / top * d ** (0.5 - model.output_exponent)
    b += model.low_pass * (X * d**-0.5) @ V @ V.T * d**0.5
    scores: Floats = b - model.sharpening * (b @ V) @ np.diag(values / top) @ V.T
    return scores


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"user_exponent": 0.0},
        {"low_pass": 0.0},
        {"sharpening": 0.0},
        {"low_pass": 0.0, "sharpening": 0.0},
        {"user_exponent": 0.5, "input_exponent": 0.2, "output_exponent": 0.6, "sharpening": 1.5},
    ],
    ids=str,
)
def test_scores_follow_the_formula(options: dict[str, float]) -> None:
    data = draw(0)
    model = SpectralRanker(rank=25, **options).fit(data)
    ours, theirs = model.score(), expected(data, model)
    if not (model.low_pass or model.sharpening):  # without a filter, the scale is not divided out
        ours, theirs = ours / abs(ours).max(), theirs / abs(theirs).max()
    assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-5 * abs(theirs).max())


@pytest.mark.parametrize("user_exponent", [0.0, 0.75])
@pytest.mark.parametrize("kernel", ["disjunctive(2)", "disjunctive(30)", "tanimoto", "linear**2"])
def test_any_kernel_has_its_dense_scores(kernel: str, user_exponent: float) -> None:
    from boolrank import KernelRanker

    data = draw(1)
    dense = KernelRanker(kernel, user_exponent=user_exponent, storage="dense")
    plain = dense.fit(data).matrix
    K = np.array([plain.row(i) for i in range(len(data.items))])
    values, V = np.linalg.eigh(K)
    X, d = data.matrix().toarray().astype(float), data.popularity().astype(float)
    b = X @ K / values[-1] * d**0.2 + 0.2 * (X * d**-0.5) @ V @ V.T * d**0.5
    theirs = b - (b @ V) @ np.diag(values / values[-1]) @ V.T
    ours = SpectralRanker(kernel, user_exponent=user_exponent, rank=25).fit(data).score()
    assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-4 * abs(theirs).max())


def test_eigenvectors_are_those_of_lapack_and_the_residual_is_theirs() -> None:
    rng = np.random.default_rng(2)
    half = rng.standard_normal((300, 60)) * 0.9 ** np.arange(60)
    matrix = half @ half.T

    def times(block: Floats, out: Floats) -> None:
        out[:] = matrix @ block

    values, vectors, residual = eigenvectors(times, 300, 20, seed=0)
    exact = np.linalg.eigvalsh(matrix)[::-1]
    assert np.allclose(values, exact[:20], rtol=1e-6)
    errors = np.linalg.norm(matrix @ vectors - vectors * values, axis=0) / values[0]
    assert residual == pytest.approx(errors.max(), rel=1e-6)
    assert residual < 1e-4


@given(
    seed=SEEDS,
    n=st.integers(0, 40),
    hide_own=st.booleans(),
    coarse=st.booleans(),
    size=st.sampled_from([1.0, 1e-12]),  # below the digits that are kept, factors leave ties
    close=st.booleans(),
    k=st.sampled_from([0, 5, 16, 17, 60, 150]),  # parts have 16 and 112 columns, and the others
)
def test_lists_are_those_of_all_scores(
    seed: int, n: int, hide_own: bool, coarse: bool, size: float, close: bool, k: int
) -> None:
    rng = np.random.default_rng(seed)
    m = 30
    dense = rng.random((m, m)) < 0.2
    np.fill_diagonal(dense, False)
    indptr = np.concatenate(([0], np.cumsum(dense.sum(axis=1))))
    columns = np.nonzero(dense)[1].astype(np.int32)
    # Coarse numbers give many equal scores.
    numbers = [rng.standard_normal(shape) for shape in (len(columns), m, (m, k), (m, k))]
    values, own, left, right = [np.round(a) if coarse else a for a in numbers]
    if close:  # bytes cannot tell such rows apart
        right = right[0] + right / 1000
        values, own = 0 * values, 0 * own
    singles = [a.astype(np.float32) for a in (size * left, right)]
    scorer = SpectralScorer(indptr, columns, values.astype(np.float32), own, *singles)
    profiles = Profiles.of_lists([np.flatnonzero(rng.random(m) < 0.2) for _ in range(6)])
    profiles = Profiles.of_lists([profiles.row(at) for at in range(6) if len(profiles.row(at))])
    hidden = np.flatnonzero(rng.random(m) < 0.1)
    n = min(n, m)
    chosen, scores = scorer.top(profiles, n, hidden, hide_own)
    every = scorer.scores(profiles)
    for at in range(profiles.n_rows):
        row = every[at].copy()
        row[hidden] = -np.inf
        if hide_own:
            row[profiles.row(at)] = -np.inf
        order = [j for j in np.argsort(-row, kind="stable") if row[j] > -np.inf][:n]
        assert chosen[at][: len(order)].tolist() == order
        assert (chosen[at][len(order) :] == -1).all()
        assert np.array_equal(scores[at][: len(order)], row[order])


def test_products_in_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    data = draw(3)
    whole = SpectralRanker(rank=5).fit(data).score()
    monkeypatch.setattr("boolrank.models.spectral_ranker._COLUMNS", 4)
    monkeypatch.setattr("boolrank.models.spectral_ranker._ROWS", 7)
    assert np.array_equal(SpectralRanker(rank=5).fit(data).score(), whole)


def test_parts_of_any_item_add_up_to_its_score() -> None:
    data = draw(4)
    model = SpectralRanker(rank=5).fit(data)
    scorer, profile = model.fitted.scorer, Profiles.of_lists([data.rows.row(0)])
    scores = scorer.scores(profile)[0]
    sums = [parts.sum() for parts in scorer.parts(profile, range(len(data.items)))]
    assert np.allclose(sums, scores, rtol=1e-9, atol=1e-9)


def test_lists_do_not_depend_on_the_thread_count() -> None:
    data = draw(3, users=200, items=120)
    one = SpectralRanker(rank=10, n_threads=1).fit(data).recommend(n=20)
    two = SpectralRanker(rank=10, n_threads=2).fit(data).recommend(n=20)
    assert one.lists() == two.lists()
