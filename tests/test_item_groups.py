"""Items with the same users share a row of an inverse, checked against the full inverse."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest
from hypothesis import given

from boolrank import (
    Ease,
    Interactions,
    ItemKNN,
    KernelEase,
    LRec,
    Overlaps,
    ParameterError,
    parse_kernel,
)
from boolrank._memory import require_memory
from boolrank.errors import MatrixTooLargeError
from boolrank.models import ease, inverse
from boolrank.models.inverse import ItemGroups
from boolrank.models.sparse_scorer import SparseScorer
from strategies import binary_matrices

# How far scores may be from the definition, relative to the largest.
CLOSE = {"float64": 1e-10, "float32": 2e-4}
# In some, items of one user have no feature: with themselves they have 1, with their twins 0.
KERNELS = ["linear", "disjunctive(3)", "conjunctive(2)", "tanimoto", "monotone_dnf", "dnf"]


def twins(seed: int) -> np.ndarray:
    """(40, 90) interactions, 30 items that differ and others like these; some users have none."""
    rng = np.random.default_rng(seed)
    different = rng.random((40, 30)) < np.linspace(0.03, 0.4, 30)
    different[-2:] = False
    different[np.arange(5), np.arange(5)] = True
    different[5:, :5] = False  # five items of one user, and one of nobody
    different[:, 5] = False
    everything = np.hstack([different, different[:, rng.integers(0, 30, 60)]])
    return everything[:, rng.permutation(90)].astype(float)


@pytest.fixture(scope="module", params=[0, 1])
def seen(request):
    return twins(request.param)


@pytest.fixture(scope="module")
def data(seen):
    return Interactions.from_matrix(seen)


@pytest.fixture(scope="module")
def profiles(seen):
    """Some of the items of a group, where those who were there at training have all or none."""
    return np.random.default_rng(5).random((30, seen.shape[1])) < 0.1


def furthest(model, data, profiles, weights):
    """The largest difference of scores from profiles·weights, relative to the largest score."""
    found = model.fit(data).score_profiles([np.flatnonzero(row).tolist() for row in profiles])
    expected = profiles @ weights
    return np.abs(found - expected).max() / np.abs(expected).max()


def inverted(matrix, reg):
    return np.linalg.inv(matrix + reg * np.eye(len(matrix)))


def autoencoder(matrix, reg):
    p = inverted(matrix, reg)
    weights = -p / np.diag(p)
    np.fill_diagonal(weights, 0.0)
    return weights


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("reg", [0.5, 20.0, 5000.0])
def test_models_of_counts_are_the_inverse_with_all_items(data, seen, profiles, reg, dtype):
    counts = seen.T @ seen
    ease, lrec = autoencoder(counts, reg), counts @ inverted(counts, reg)
    assert furthest(Ease(reg, dtype), data, profiles, ease) < CLOSE[dtype]
    assert furthest(LRec(reg, dtype), data, profiles, lrec) < CLOSE[dtype]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_ease_is_the_inverse_with_all_items(data, seen, profiles, kernel, dtype):
    gram = parse_kernel(kernel).normalized()(seen.T.astype(np.int8))
    sizes = np.maximum(seen.sum(axis=0), 1)
    for reg in (0.1, 3.0, 1e4):
        weights = sizes[:, None] ** -0.7 * autoencoder(gram, reg) * sizes**0.3
        model = KernelEase(kernel, reg, 0.7, -0.3, dtype)
        assert furthest(model, data, profiles, weights) < CLOSE[dtype]


@pytest.mark.parametrize("dtype", CLOSE)
def test_a_large_reg_leaves_all_digits_of_the_weights_among_twins(data, profiles, dtype):
    """It leaves item-kNN by the cosine, where twins are nearest of all."""
    lists = [np.flatnonzero(row).tolist() for row in profiles]
    near = ItemKNN().fit(data).score_profiles(lists)
    found = KernelEase("linear", 1e12, dtype=dtype).fit(data).score_profiles(lists)
    assert np.abs(1e12 * found - near).max() < {"float64": 1e-9, "float32": 1e-4}[dtype]


def test_a_small_reg_leaves_the_digits_of_the_weights_among_twins_of_crowded_items():
    rng = np.random.default_rng(0)
    nearly = (rng.random((800, 1)) < 0.5) ^ (rng.random((800, 60)) < 0.002)
    seen = np.hstack([nearly, nearly]).astype(float)
    weights = np.eye(120) - 0.03 * inverted(seen.T @ seen, 0.03)
    model = LRec(0.03, "float32")
    assert furthest(model, Interactions.from_matrix(seen), np.eye(120), weights) < 5e-5


MODELS = [Ease(2.0), LRec(2.0), KernelEase("disjunctive(2)", 2.0), KernelEase("conjunctive(2)")]
NAMES = ["Ease", "LRec", "KernelEase", "KernelEase, nulls"]


@pytest.mark.parametrize("model", MODELS[:3], ids=NAMES[:3])
def test_a_model_has_a_row_for_each_distinct_item(data, seen, model):
    some = seen.sum(axis=0) > 0
    distinct = len(np.unique(seen[:, some], axis=1).T)
    nobody = int((~some).sum()) if isinstance(model, KernelEase) else int((~some).any())
    assert distinct + nobody < 40
    fitted = copy.deepcopy(model).fit(data)
    assert fitted.scorer.values.shape == (distinct + nobody, distinct + nobody)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_twins_tie_to_the_last_bit(data, seen, profiles, model):
    lists = [np.flatnonzero(row).tolist() for row in profiles]
    scores = copy.deepcopy(model).fit(data).score_profiles(lists)
    pairs = 0
    for i, j in np.argwhere(np.triu((seen.T[:, None] == seen.T).all(axis=2), 1)):
        alike = profiles[:, i] == profiles[:, j]  # who has one of them treats them differently
        assert np.array_equal(scores[alike, i], scores[alike, j])
        pairs += alike.sum()
    assert pairs > 1000


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_threads_and_given_overlaps_change_no_bit(data, profiles, model):
    lists = [np.flatnonzero(row).tolist() for row in profiles]
    overlaps = Overlaps.of(data)
    given = None, overlaps.sparse(), Overlaps(overlaps.n, overlaps.sizes, overlaps.filled())
    one, sparse, dense = (
        copy.deepcopy(model).set_params(n_threads=threads).fit(data, each).score_profiles(lists)
        for threads, each in zip((1, 2, 2), given, strict=True)
    )
    assert np.array_equal(one, sparse)
    assert np.array_equal(one, dense)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("kind", [Ease, LRec, KernelEase])
def test_twins_need_a_reg(kind, dtype):
    independent = np.eye(4)
    kind(reg=0.0, dtype=dtype).fit(Interactions.from_matrix(independent))
    doubled = Interactions.from_matrix(independent[:, [0, 1, 2, 3, 3]])
    for reg in (0.0, 1e-20):
        with pytest.raises(ParameterError, match="leaves the matrix of items singular, or nearly"):
            kind(reg=reg, dtype=dtype).fit(doubled)
    kind(reg=1e-3, dtype=dtype).fit(doubled)


def _free(monkeypatch, n):
    monkeypatch.setattr(ease, "free_memory", lambda: n)
    monkeypatch.setattr(inverse, "require_memory", partial(require_memory, free=n))


def test_room_is_needed_for_distinct_items_only(data, monkeypatch):
    _free(monkeypatch, 12 * 40**2)
    Ease().fit(data)
    _free(monkeypatch, 1000)
    with pytest.raises(MatrixTooLargeError, match=r"Ease on \d\d distinct ones of 90 items takes"):
        Ease(storage="dense").fit(data)
    assert isinstance(Ease().fit(data).scorer, SparseScorer)  # what fits instead


@given(binary_matrices(min_columns=2).filter(np.any))
def test_groups_are_the_items_with_equal_columns(matrix):
    data = Interactions.from_matrix(matrix)
    groups = ItemGroups.of(data)
    equal = (matrix.T[:, None] == matrix.T).all(axis=2)
    assert np.array_equal(groups.group[:, None] == groups.group, equal)
    assert np.array_equal(groups.first, np.unique(groups.group, return_index=True)[1])
    parts = np.split(groups.members, groups.start[1:-1])
    assert [part.tolist() for part in parts] == [
        np.flatnonzero(groups.group == k).tolist() for k in range(len(groups.sizes))
    ]
    one = groups.representatives(data)
    assert np.array_equal(one.matrix().toarray(), matrix[:, groups.first])
    assert list(one.users) == list(data.users)
    apart = ItemGroups.of(data, np.ones(matrix.shape[1], bool))
    assert np.array_equal(apart.group, np.arange(matrix.shape[1]))


def test_columns_whose_sums_are_the_same_by_chance_are_told_apart(data, seen, monkeypatch):
    expected = ItemGroups.of(data)
    monkeypatch.setattr("boolrank._compiled.rows.column_sums", lambda *_: np.zeros(seen.shape[1]))
    found = ItemGroups.of(data)
    assert len(expected.sizes) > 20
    assert np.array_equal(found.group, expected.group)
