"""Sparse weights of EASE: beside the definition, the dense inverse, and limits of memory."""

from __future__ import annotations

import numpy as np
import pytest

from boolrank import (
    Ease,
    Interactions,
    KernelEase,
    Overlaps,
    ParameterError,
    parse_kernel,
    synthetic,
)
from boolrank.errors import MatrixTooLargeError
from boolrank.models import sparse_inverse
from boolrank.models.search import Large, Real
from boolrank.models.sparse_inverse import SparseMatrix
from boolrank.models.sparse_scorer import SparseScorer
from boolrank.testing import check_recommender

MODELS = {"ease": Ease(20.0), "kernel-ease": KernelEase("disjunctive(3)", 2.0, 0.3, -0.2)}
ITEMS, REG = 120, 3.0


@pytest.fixture(scope="module")
def data():
    return synthetic(300, ITEMS, 3_000, 1)


@pytest.fixture(params=["counts", "masses", "disjunctive(4)", "tanimoto", "disjunctive(4), masses"])
def matrices(request, data):
    """A matrix of items, dense and sparse."""
    name, _, weighted = request.param.partition(", ")
    exponent = 0.6 if "masses" in (name, weighted) else 0.0
    overlaps = Overlaps.of(data, user_exponent=exponent)
    if name in ("counts", "masses"):
        return overlaps.filled() / overlaps.unit, SparseMatrix.of(None, overlaps)
    kernel, shared, sizes = parse_kernel(name), overlaps.filled().astype(np.int64), overlaps.sizes
    pairs = sizes[:, None], sizes[None, :], shared
    if exponent:
        raw = kernel.on_masses(overlaps.total, *pairs, users=overlaps.weighting.active)
    else:
        raw = kernel.on_counts(overlaps.n, *pairs)
    roots = np.sqrt(np.diag(raw))
    return raw / np.outer(roots, roots), SparseMatrix.of(kernel, overlaps)


def _dense(scorer: SparseScorer) -> np.ndarray:
    return np.array([scorer.similar(item)[0] for item in range(scorer.items)])


def _weights(inverse):
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def _weigh(matrix: SparseMatrix, length: int, keys=None) -> SparseScorer:
    one = np.ones(ITEMS)
    keys, users = one if keys is None else keys, np.ones(ITEMS, np.int64)
    return matrix.weights("Ease", REG, length, one, one, keys, users)


def test_with_all_neighbours_it_is_the_inverse(matrices, monkeypatch):
    monkeypatch.setattr(sparse_inverse, "_NEIGHBOURS", ITEMS)
    dense, sparse = matrices
    expected = _weights(np.linalg.inv(dense + REG * np.eye(ITEMS)))
    assert np.abs(_dense(_weigh(sparse, ITEMS)) - expected).max() < 1e-10 * np.abs(expected).max()


def test_most_of_the_leading_direction_is_apart(matrices):
    """What is left is positive definite, and its part along the direction that of any other."""
    dense, sparse = matrices
    leading = np.empty(ITEMS)
    leading[sparse.order] = sparse.leading()
    before, left = (
        np.linalg.eigvalsh(each) for each in (dense, dense - np.outer(leading, leading))
    )
    assert left[0] > 0
    assert left[-1] < 1.05 * before[-2] < before[-1] / 2
    direction = leading / np.linalg.norm(leading)
    along = direction @ (dense - np.outer(leading, leading)) @ direction
    assert along == pytest.approx(np.diag(dense).mean(), rel=0.05)


@pytest.mark.parametrize("neighbours", [1, 7, 40])
def test_rows_of_the_factor_are_regressions_on_nearest_more_popular_items(
    matrices, data, neighbours, monkeypatch
):
    monkeypatch.setattr(sparse_inverse, "_NEIGHBOURS", neighbours)
    dense, sparse = matrices
    leading = np.empty(ITEMS)
    leading[sparse.order] = sparse.leading()
    dense = dense - np.outer(leading, leading) + REG * np.eye(ITEMS)
    overlaps, order = Overlaps.of(data).filled(), np.argsort(-data.popularity(), kind="stable")
    inverse = np.zeros((ITEMS, ITEMS))
    for place, item in enumerate(order):
        before = order[:place]
        if place > neighbours:
            before = before[overlaps[item, before] > 0]
            near = np.abs(dense[item, before]) / np.sqrt(dense[before, before])
            before = before[np.argsort(-near, kind="stable")[:neighbours]]
        row = np.zeros(ITEMS)
        row[before] = -np.linalg.solve(dense[np.ix_(before, before)], dense[before, item])
        row[item] = 1.0
        inverse += np.outer(row, row) / (row @ dense @ row)
    along = inverse @ leading
    whole = inverse - np.outer(along, along) / (1 + leading @ along)
    expected, found = _weights(whole) * (inverse != 0), _dense(_weigh(sparse, ITEMS))
    assert np.abs(found - expected).max() < 1e-10 * np.abs(found).max()


@pytest.mark.parametrize("length", [1, 8])
def test_the_largest_weights_of_each_row_are_kept(matrices, length):
    _, sparse = matrices
    keys = np.random.default_rng(0).random(ITEMS) + 0.1
    whole, found = _dense(_weigh(sparse, ITEMS)), _weigh(sparse, length, keys)
    assert (np.diff(found.indptr) == length).all()
    for item in range(ITEMS):
        columns = found.columns[found.indptr[item] : found.indptr[item + 1]]
        amount = np.abs(whole[item]) * keys
        assert set(columns) == set(np.argsort(-amount)[:length])
        assert (np.diff(columns) > 0).all()
        assert np.array_equal(found.similar(item)[0][columns], whole[item, columns])


@pytest.mark.parametrize("name", MODELS)
def test_full_density_gives_the_scores_of_the_dense_model(data, name):
    model = MODELS[name].checked()
    dense = model.fit(data).score()
    sparse = model.set_params(storage="sparse", density=1.0).fit(data)
    assert isinstance(sparse.scorer, SparseScorer)
    assert np.abs(sparse.score() - dense).max() < 1e-9 * np.abs(dense).max()


@pytest.mark.parametrize("density", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("name", MODELS)
def test_no_row_has_more_than_its_share_of_weights(data, name, density):
    found = MODELS[name].checked().set_params(storage="sparse", density=density).fit(data).scorer
    assert np.diff(found.indptr).max() == round(density * ITEMS)


@pytest.mark.parametrize("name", MODELS)
def test_lists_are_mostly_those_of_the_dense_model(name):
    data = synthetic(2_000, 800, 30_000, 2)
    model = MODELS[name].checked()
    dense = model.fit(data).recommend(n=10).lists()
    sparse = model.set_params(storage="sparse", density=0.1).fit(data).recommend(n=10).lists()
    same = [len(set(a) & set(b)) / 10 for a, b in zip(dense, sparse, strict=True)]
    assert np.mean(same) > 0.8


@pytest.mark.parametrize("density", [0.15, 0.4, 1.0])
@pytest.mark.parametrize("name", MODELS)
def test_sparse_models_keep_the_contract(name, density):
    model = MODELS[name].checked().set_params(storage="sparse", density=density, n_threads=1)
    check_recommender(model, n_users=15, n_items=9)


@pytest.mark.parametrize("name", MODELS)
def test_threads_and_the_storage_of_overlaps_change_no_bit(name):
    data = synthetic(3_000, 2_000, 40_000, 5)
    model = MODELS[name].checked().set_params(storage="sparse", density=0.01)
    overlaps = Overlaps.of(data).sparse()
    dense = Overlaps(overlaps.n, overlaps.sizes, dense=overlaps.filled())
    runs = [(1, None), (2, None), (2, overlaps), (2, dense)]
    first, *others = (
        model.set_params(n_threads=number).fit(data, counts).scorer for number, counts in runs
    )
    for other in others:
        for array in ("indptr", "columns", "values"):
            assert np.array_equal(getattr(first, array), getattr(other, array))


@pytest.mark.parametrize("kind", [Ease, KernelEase])
def test_a_singular_matrix_is_said(kind):
    full = Interactions.from_matrix(np.ones((4, 9), bool))
    for reg in (0.0, 1e-20):
        with pytest.raises(ParameterError, match=rf"reg={reg:g} of {kind.__name__} leaves .* sing"):
            kind(reg=reg, storage="sparse", density=0.2).fit(full)


@pytest.mark.parametrize("kind", [Ease, KernelEase])
def test_weights_that_do_not_fit_are_said(data, monkeypatch, kind):
    monkeypatch.setattr("boolrank._memory._of_machine", lambda: 100_000)
    with pytest.raises(MatrixTooLargeError, match=rf"{kind.__name__} on 120 items.*lower density"):
        kind(storage="sparse", density=0.05).fit(data)


class _Trial:
    def suggest_float(self, name, low, high, *, log=False):
        assert (name, low, high, log) == ("density", 1e-4, 1e-2, True)
        return 0.005


def test_density_is_searched_for_large_catalogues_only(data):
    values = Large(Real(1e-4, 1e-2, log=True), 0.002)
    assert values.draw(_Trial(), "density", data) == 0.002
    large = Interactions.from_pairs([0] * 20_001, list(range(20_001)))
    assert values.draw(_Trial(), "density", large) == 0.005
