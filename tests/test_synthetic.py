"""Synthetic data: exact sizes, long tails, planted tastes, identical on every machine."""

from __future__ import annotations

import hashlib
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boolrank import synthetic
from boolrank.data.synthetic import plant_tastes
from boolrank.errors import ParameterError, ParameterTypeError


@given(st.data())
def test_the_number_of_distinct_interactions_is_exact(data):
    users, items = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30))
    interactions = data.draw(st.integers(users, users * items))
    made = synthetic(users, items, interactions, seed=data.draw(st.integers(0, 5)))
    assert made.shape == (users, items)
    assert (made.size, made.duplicates) == (interactions, 0)
    assert np.diff(made.indptr).min() >= 1
    untouched = np.count_nonzero(made.popularity() == 0)
    assert untouched == max(items - interactions, 0)
    assert sorted(made.time.tolist()) == list(range(interactions))


def test_the_same_seed_gives_the_same_data_on_every_machine():
    made = synthetic(300, 200, 3_000, seed=7)
    content = made.indptr.astype("<i8").tobytes() + made.indices.astype("<i4").tobytes()
    content += made.time.astype("<i8").tobytes()
    # Written down once: another machine, or another version, must come to the same.
    assert hashlib.sha256(content).hexdigest()[:16] == "d211da789f77890c"
    other = synthetic(300, 200, 3_000, seed=8)
    assert not np.array_equal(made.indices, other.indices)


def test_both_sides_have_long_tails():
    made = synthetic(5_000, 2_000, 80_000)
    for counts in (np.diff(made.indptr), made.popularity()):
        tenth = np.sort(counts)[-len(counts) // 10 :]
        assert 0.35 < tenth.sum() / counts.sum() < 0.8
        assert np.median(counts) < counts.mean()
    # No user has so much that pairs of items run into billions.
    assert np.diff(made.indptr).max() < 40 * 16


def test_users_follow_their_tastes():
    users, items = 2_000, 1_000
    made = synthetic(users, items, 40_000, seed=3)
    of_users, of_items = plant_tastes(users, items, seed=3)
    rows = np.repeat(np.arange(users), np.diff(made.indptr))
    taken = of_items[made.indices]
    first = np.mean(taken == of_users[rows, 0])
    second = np.mean(taken == of_users[rows, 1])
    chance = 1 / len(np.unique(of_items))
    assert 0.4 < first < 0.7
    assert 0.15 < second < 0.35
    assert chance == 0.05


def test_three_million_interactions_take_seconds():
    synthetic(10, 10, 20)
    before = time.perf_counter()
    made = synthetic(200_000, 100_000, 3_000_000)
    assert time.perf_counter() - before < 20  # about 2.5 on two cores
    assert made.size == 3_000_000
    assert made.popularity().min() == 1
    pairs = float((np.diff(made.indptr).astype(float) ** 2).sum())
    assert 5e7 < pairs < 3e8


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ((0, 5, 5), ParameterError, "users of synthetic must be a whole number, 1 or more, not 0"),
        ((5, 5, 5, -1), ParameterError, "seed of synthetic must be a whole number, 0 or more"),
        ((5, 5, 26), ParameterError, "interactions of synthetic must be .* from 5 to 25, not 26"),
        ((5, 5, 4), ParameterError, "interactions of synthetic must be .* from 5 to 25, not 4"),
        ((5.5, 5, 5), ParameterError, "users of synthetic must be a whole number, .* not 5.5"),
        (("5", 5, 5), ParameterTypeError, "users of synthetic must be a whole number, not '5'"),
    ],
)
def test_impossible_sizes_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        synthetic(*given)
