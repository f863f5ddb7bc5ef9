"""The spectral ranker: its formula on dense matrices, its eigenvectors, its fast lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from boolrank import Interactions, SpectralRanker, synthetic
from boolrank.errors import InputError, ParameterError
from boolrank.models import Profiles
from boolrank.models.spectral_scorer import SpectralScorer
from boolrank.models.subspace import eigenvectors
from effort import tries

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
    ends = d ** (0.5 - model.input_exponent), d ** (0.5 - model.output_exponent)
    b = X @ (ends[0][:, None] * K * ends[1]) ** model.locality / top
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
        {"locality": 1.5, "output_exponent": 0.2},
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


def test_powers_are_of_the_linear_kernel_alone() -> None:
    with pytest.raises(ParameterError, match="needs the linear kernel"):
        SpectralRanker("disjunctive(2)", locality=2.0).fit(draw(0))


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
    check_lists(scorer, profiles, min(n, m), hidden, hide_own)


def check_lists(
    scorer: SpectralScorer, profiles: Profiles, n: int, hidden: NDArray[Any], hide_own: bool
) -> None:
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
        assert np.isnan(scores[at][len(order) :]).all()


@settings(max_examples=tries(300))
@given(
    seed=SEEDS,
    m=st.sampled_from([130, 500]),
    k=st.sampled_from([1, 4, 17, 60, 150]),
    apart=st.floats(-7.5, -4),
    kind=st.sampled_from(["close", "weighted", "cancelling", "own"]),
)
def test_scores_that_single_precision_cannot_tell_apart_are_listed_in_order(
    seed: int, m: int, k: int, apart: float, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2, m, k))
    right = right[0] + right * 10.0**apart
    left, right = left.astype(np.float32), right.astype(np.float32)
    own, indptr = np.zeros(m), np.zeros(m + 1, np.int64)
    columns, values = np.empty(0, np.int32), np.empty(0, np.float32)
    product = left.astype(np.float64) @ right.T
    if kind == "cancelling":  # the sparse part is about the negative of the other
        others = ~np.eye(m, dtype=bool)
        indptr, columns = np.arange(m + 1) * (m - 1), np.nonzero(others)[1].astype(np.int32)
        values, own = -product[others].astype(np.float32), -np.diag(product)
    if kind == "own":
        own = 1e7 * (1 + rng.standard_normal(m) * 10.0 ** (apart - 1))
    rows = [np.flatnonzero(rng.random(m) < 0.1) for _ in range(12)] + [np.arange(m)]
    profiles = Profiles.of_lists([row for row in rows if len(row)])
    if kind == "weighted":
        profiles = profiles._replace(weights=2.0 ** -rng.uniform(0, 30, len(profiles.indices)))
    scorer = SpectralScorer(indptr, columns, values, own, left, right)
    for n in (1, 20):
        check_lists(scorer, profiles, n, np.empty(0, np.int64), False)


@pytest.mark.parametrize("size", [1e-10, 1e-23, 1e-30, 1e-40, 1e-44])
@pytest.mark.parametrize("of_left", [0, 0.4, 1])
def test_tiny_factors_are_listed_in_order(size: float, of_left: float) -> None:
    """The square of a single below 1e-23 is 0, and below 1e-38 singles lose digits."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((2, 300, 40))
    left, right = size**of_left * left, size ** (1 - of_left) * right
    none = np.zeros(301, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), np.zeros(300)
    scorer = SpectralScorer(*none, left.astype(np.float32), right.astype(np.float32))
    profiles = Profiles.of_lists([[item] for item in range(100)] + [[1, 2, 3], [8, 9]])
    check_lists(scorer, profiles, 10, np.empty(0, np.int64), True)


def test_scores_too_large_for_single_precision_are_refused() -> None:
    data = synthetic(3000, 400, 60_000)
    with pytest.raises(InputError, match="too large for single precision; take exponents nearer"):
        SpectralRanker(rank=20, output_exponent=-10).fit(data)


def test_scores_do_not_depend_on_the_order_of_items_where_eigenvalues_are_zero() -> None:
    rng = np.random.default_rng(1)
    seen = (rng.random((30, 60)) < 0.1)[rng.integers(0, 30, 400)]
    order = rng.permutation(60)
    one, other = (
        SpectralRanker(rank=55).fit(Interactions.from_matrix(matrix)).score()
        for matrix in (seen, seen[:, order])
    )
    assert np.nanmax(abs(one[:, order] - other)) < 1e-5 * np.nanmax(abs(one))


def test_products_in_parts_are_the_same_up_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    data = draw(3)
    whole = SpectralRanker(rank=5).fit(data).score()
    monkeypatch.setattr("boolrank.models.spectral_ranker._COLUMNS", 4)
    monkeypatch.setattr("boolrank.models.subspace._ROWS", 7)
    assert np.allclose(SpectralRanker(rank=5).fit(data).score(), whole, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "disjunctive(3)"])
def test_factors_do_not_depend_on_threads_of_loops_or_blas(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("boolrank.models.subspace._ROWS", 64)
    data = draw(3, users=300, items=400)
    factors = []
    for n_threads in (1, 2):
        with threadpool_limits(limits=n_threads, user_api="blas"):
            scorer = SpectralRanker(kernel, rank=60, n_threads=n_threads).fit(data).scorer
        factors.append((scorer.left.tobytes(), scorer.right.tobytes()))
    assert factors[0] == factors[1]


def test_similar_items_and_reasons_do_not_depend_on_threads_of_blas() -> None:
    model = SpectralRanker(rank=100).fit(synthetic(900, 2_601, 12_000, 2))
    busiest = Profiles.of_lists([np.argsort(-model.fitted.users_of_items)[:400]])
    found = []
    for count in (1, 2):
        with threadpool_limits(limits=count, user_api="blas"):
            near = [model.scorer.similar(item)[1] for item in range(0, 2_000, 50)]
            found.append(np.concatenate([*near, *model.scorer.parts(busiest, range(40))]).tobytes())
    assert found[0] == found[1]


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
