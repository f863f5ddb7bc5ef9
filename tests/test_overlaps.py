"""Overlaps count users exactly, densely or sparsely, at once or by updates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boolrank import Interactions, Overlaps
from boolrank.overlaps import counted_by_products, counted_densely, counted_sparsely

WAYS = (
    counted_by_products,
    lambda data: counted_densely(data, 2),
    lambda data: counted_sparsely(data, None),
)


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
    indptr, columns, counts = counted_sparsely(data, 2).rows()
    for item in range(items):
        row = columns[indptr[item] : indptr[item + 1]]
        assert np.all(np.diff(row) > 0)
        assert item not in row
    assert counts.min(initial=1) >= 1


@pytest.mark.parametrize("count", WAYS)
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
        data = after
        X = np.zeros((46, 34), bool)
        rows = np.repeat(np.arange(len(data.users)), np.diff(data.indptr))
        X[[data.users[int(r)] for r in rows], [data.items[int(c)] for c in data.indices]] = True


def test_threads_do_not_change_the_counts() -> None:
    data, _ = draw(3, 200, 150, 0.05)
    one, two = counted_sparsely(data, 1).rows(), counted_sparsely(data, 2).rows()
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_the_way_to_count_is_chosen_by_density() -> None:
    assert Overlaps.of(draw(0, 300, 40, 0.5)[0]).dense is not None
    assert Overlaps.of(draw(0, 300, 400, 0.005)[0]).dense is None
