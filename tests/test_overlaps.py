"""Overlaps count users exactly, densely or sparsely, at once or by updates."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boolrank import Interactions, Overlaps
from boolrank.counts import blocks as blocks_module
from boolrank.counts import counting as counting_module
from boolrank.counts import weighting as weighting_module
from boolrank.counts.counting import count_dense, count_sparse
from boolrank.counts.weighting import user_weights
from boolrank.engines.threads import threads
from boolrank.errors import (
    InputError,
    MatrixTooLargeError,
    ParameterError,
    ParameterTypeError,
)

WAYS = (count_dense, count_sparse)


def draw(
    seed: int, users: int, items: int, density: float
) -> tuple[Interactions, NDArray[np.int64]]:
    X = np.random.default_rng(seed).random((users, items)) < density
    X[0, 0] = True
    return Interactions.from_matrix(X), X.astype(np.int64)


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 90), st.floats(0.01, 0.9))
def test_dense_and_sparse_counts_equal_the_matrix_product(
    seed: int, users: int, items: int, density: float
) -> None:
    data, X = draw(seed, users, items, density)
    for count in WAYS:
        found = count(data)
        assert found.n == users
        assert np.array_equal(found.sizes, X.sum(axis=0))
        assert np.array_equal(found.filled(), X.T @ X)
        assert found.pairs == np.count_nonzero(X.T @ X) - np.count_nonzero(X.sum(axis=0))
        for item in range(items):
            assert np.array_equal(found.row(item), (X.T @ X)[item])


@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(2, 40))
def test_sparse_rows_are_sorted_and_symmetric(seed: int, users: int, items: int) -> None:
    data, _ = draw(seed, users, items, 0.2)
    indptr, columns, counts = count_sparse(data).rows()
    for item in range(items):
        row = columns[indptr[item] : indptr[item + 1]]
        assert np.all(np.diff(row) > 0)
        assert item not in row
    assert counts.min(initial=1) >= 1


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 90), st.floats(0, 1))
def test_weighted_counts_equal_exact_sums(seed: int, users: int, items: int, g: float) -> None:
    data, X = draw(seed, users, items, 0.2)
    activity = X.sum(axis=1)
    weights = [max(round(2**40 * int(a) ** -g), 1) if a and g else int(a > 0) for a in activity]
    expected = X.T @ np.diag(np.array(weights, np.int64)) @ X
    for count in (count_dense, count_sparse):
        found = count(data, g)
        assert np.array_equal(found.filled(), expected)
        assert np.array_equal(found.sparse().filled(), expected)
        assert np.array_equal(found.sizes, expected.diagonal())
        assert np.array_equal(found.degrees, X.sum(axis=0))
        assert (found.user_exponent, found.total) == (g, sum(weights) if g else users)
        assert found.rows()[2].dtype == (np.int64 if g else np.int32)
        assert np.array_equal(found.row(0), expected[0])
        found.check(data)


def test_weights_fall_with_activity_and_stay_positive() -> None:
    assert user_weights(np.array([0, 1, 4, 2**50]), 0.5).tolist() == [0, 2**40, 2**39, 2**15]
    assert user_weights(np.array([2**50]), 1.0).tolist() == [1]


def test_user_exponents_out_of_range_and_weights_that_do_not_fit_are_refused(monkeypatch) -> None:
    data, _ = draw(0, 20, 10, 0.5)
    for wrong in (-0.1, 1.1, float("nan"), "1"):
        with pytest.raises((ParameterError, ParameterTypeError), match="user_exponent"):
            Overlaps.of(data, user_exponent=wrong)
    monkeypatch.setattr(weighting_module, "UNIT", 59)
    with pytest.raises(InputError, match=r"weights exceed 2\^62; use user_exponent=0"):
        Overlaps.of(data, user_exponent=0.1)


@pytest.mark.parametrize("count", [*WAYS, *(partial(way, exponent=0.7) for way in WAYS)])
def test_an_update_equals_counting_again(count) -> None:
    rng = np.random.default_rng(5)
    data, X = draw(1, 40, 30, 0.15)
    for _ in range(20):
        gone = [(u, i) for u, i in np.argwhere(X) if rng.random() < 0.1][:-1]
        new = [(int(rng.integers(0, 45)), int(rng.integers(0, 33))) for _ in range(12)]
        new = [pair for pair in new if pair not in {(int(u), int(i)) for u, i in gone}]
        removed = Interactions.from_pairs(*zip(*gone, strict=True)) if gone else None
        after = data.updated(Interactions.from_pairs(*zip(*new, strict=True)), removed)
        updated, again = count(data).updated(data, after), count(after)
        assert np.array_equal(updated.filled(), again.filled())
        assert np.array_equal(updated.sizes, again.sizes)
        assert (updated.total, updated.user_exponent) == (again.total, again.user_exponent)
        assert np.array_equal(updated.degrees, again.degrees)
        assert updated.rows()[2].dtype == again.rows()[2].dtype
        data = after
        X = np.zeros((46, 34), bool)
        rows = np.repeat(np.arange(len(data.users)), np.diff(data.indptr))
        X[[data.users[int(r)] for r in rows], [data.items[int(c)] for c in data.indices]] = True


def test_threads_do_not_change_the_counts() -> None:
    data, _ = draw(3, 200, 150, 0.05)
    for exponent in (0.0, 0.5):
        with threads(1):
            one = count_sparse(data, exponent).rows()
        with threads(2):
            two = count_sparse(data, exponent).rows()
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_the_way_to_count_is_chosen_by_density() -> None:
    assert Overlaps.of(draw(0, 300, 40, 0.5)[0]).dense is not None
    assert Overlaps.of(draw(0, 300, 400, 0.005)[0]).dense is None


def test_more_pairs_than_memory_holds_are_refused_before_they_are_counted(monkeypatch) -> None:
    users = ["bot"] * 3000 + ["ann"] * 2
    data = Interactions.from_pairs(users, [*range(3000), 1, 5000])
    called = []
    monkeypatch.setattr("boolrank._compiled.overlaps.count_rows", lambda *_: called.append(1))
    monkeypatch.setattr(counting_module, "free_memory", lambda: 3 * 10**7)
    # Each of 3,000 items with 2,999 others, and one with one.
    said = r"at least 8,997,001 pairs .* 144\.0 MB or more, and 30\.0 MB are free; .* 'bot' with 3,"
    with pytest.raises(MatrixTooLargeError, match=said):
        Overlaps.of(data)
    assert not called


def test_pairs_that_turn_out_too_many_are_refused_on_the_way(monkeypatch) -> None:
    data, X = draw(3, 200, 150, 0.05)
    least = (X * (X.sum(axis=1, keepdims=True) - 1)).max(axis=0)  # others of the most active user
    shared = X.T @ X > 0
    np.fill_diagonal(shared, False)
    assert (least <= shared.sum(axis=1)).all()
    bytes_needed = 16 * int(shared.sum())
    monkeypatch.setattr(blocks_module, "_PLACES", 100)
    monkeypatch.setattr(counting_module, "free_memory", lambda: bytes_needed)
    assert count_sparse(data).pairs == shared.sum()
    assert 16 * least.sum() < bytes_needed // 2, "not known beforehand"
    monkeypatch.setattr(counting_module, "free_memory", lambda: bytes_needed // 2)
    with pytest.raises(MatrixTooLargeError, match="leave out users"):
        count_sparse(data)


def test_counts_for_which_a_dense_matrix_has_no_room_are_counted_sparsely(monkeypatch) -> None:
    data, X = draw(0, 300, 40, 0.5)
    monkeypatch.setattr(counting_module, "_DENSE_BYTES", 1 << 60)
    found = Overlaps.of(data)
    assert found.dense is None
    assert np.array_equal(found.filled(), X.T @ X)
