"""MeanRanker: beside feature vectors written out, and a generic solver of quadratic programs."""

from __future__ import annotations

import numpy as np
import pytest

from boolrank import Interactions, KernelRanker, MeanRanker, Overlaps, ParameterError, parse_kernel
from boolrank.errors import MatrixTooLargeError, ParameterTypeError
from boolrank.testing import check_recommender
from test_simplex import by_clarabel


def _drawn(users, items, density, seed=3):
    rng = np.random.default_rng(seed)
    touched = rng.random((users, items)) < density * 2 * rng.random(items)
    return Interactions.from_matrix(touched[touched.any(axis=1)])


@pytest.fixture(scope="module")
def data():
    return _drawn(50, 30, 0.1)


def _unit(vectors):
    """Columns of length 1, and those of length 0 as they are."""
    length = np.linalg.norm(vectors, axis=0)
    return vectors / np.where(length > 1e-9, length, 1.0)


def _matrix(data, kernel, rounds, sharpness):
    """The kernel of items by vectors in its feature space, one a column."""
    X = data.matrix().toarray().astype(float)
    values, directions = np.linalg.eigh(parse_kernel(kernel).normalized()(X.T.astype(np.int8)))
    items = (directions * np.sqrt(np.maximum(values, 0))).T
    for _ in range(rounds):
        users = _unit((items - items.mean(axis=1, keepdims=True)) @ X.T)
        items = _unit((users - users.mean(axis=1, keepdims=True)) @ X)
    cosines = items.T @ items
    np.fill_diagonal(cosines, 1.0)
    return np.exp(sharpness * (cosines - 1)) if sharpness else cosines


@pytest.mark.parametrize("sharpness", [0.0, 4.0])
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("kernel", ["linear", "disjunctive(3)", "tanimoto"])
def test_it_is_the_ranker_on_means_of_means_in_the_feature_space(data, kernel, rounds, sharpness):
    reg, against = 0.5, 0.8
    model = MeanRanker(kernel, rounds, sharpness, reg, against).fit(data)
    K = _matrix(data, kernel, rounds, sharpness)
    pull = (K.sum(axis=0) - 1) / len(K)
    for row, found in enumerate(model.score(list(data.users)[:8])):
        own = data.rows.row(row)
        alpha = by_clarabel(K[np.ix_(own, own)] + reg * np.eye(len(own)), pull[own])
        other = np.setdiff1d(np.arange(len(K)), own)
        expected = K[:, own] @ alpha - against * pull
        assert np.abs(found - expected)[other].max() < 1e-6


def test_items_that_share_no_user_with_a_profile_are_told_apart():
    """Two circles of people, of whom some have items in common with a and b, and none with them."""
    pairs = ["a1", "a2", "b2", "b3", "c4", "c5", "d5", "d6", "e3", "e7", "f6", "f8"]
    data = Interactions.from_pairs([pair[1] for pair in pairs], [pair[0] for pair in pairs])
    far = ["e", "f"]  # e is two steps from a, f is in the other circle
    plain = KernelRanker("linear", negative_weight=0.0).fit(data).score(["1"])[0]
    assert plain[data.items.numbers(far)].tolist() == [0.0, 0.0]
    near, other = MeanRanker(negative_weight=0.0).fit(data).score(["1"])[0][data.items.numbers(far)]
    assert near > 2 * other


def test_overlaps_may_be_given_and_threads_change_no_bit(data):
    plain = MeanRanker(rounds=2).fit(data).score()
    given = MeanRanker(rounds=2, n_threads=1).fit(data, Overlaps.of(data)).score()
    assert np.array_equal(plain, given)


def test_who_has_everything_and_what_nobody_else_has_do_no_harm():
    """A user of all items is their mean, and has no direction; nor has an item that all have."""
    matrix = np.eye(6, dtype=int)
    matrix[:, 0] = 1
    matrix[0] = 1
    scores = MeanRanker().fit(Interactions.from_matrix(matrix)).score()
    assert np.isfinite(scores).all()
    alone = Interactions.from_matrix([[1]])
    assert np.isfinite(MeanRanker().fit(alone).score()).all()


def test_it_keeps_the_contract():
    check_recommender(MeanRanker())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rounds": 0}, "rounds of MeanRanker must be a whole number from 1 to 10, not 0"),
        ({"rounds": 1.5}, "rounds of MeanRanker must be a whole number"),
        ({"rounds": True}, "rounds of MeanRanker must be a whole number"),
        ({"sharpness": -1.0}, "sharpness of MeanRanker must be a number from 0 to 100, not -1"),
        ({"reg": -1.0}, "reg of MeanRanker must be a number from 0"),
        (
            {"negative_weight": float("nan")},
            "negative_weight of MeanRanker must be a number",
        ),
    ],
)
def test_parameters_that_make_no_sense_are_told(data, wrong, said):
    with pytest.raises((ParameterError, ParameterTypeError), match=said):
        MeanRanker(**wrong).fit(data)


def test_what_memory_has_no_room_for_is_told_before(data, monkeypatch):
    monkeypatch.setattr("boolrank._memory._of_machine", lambda: 1_000)
    with pytest.raises(MatrixTooLargeError, match="MeanRanker on 30 items takes"):
        MeanRanker().fit(data)
