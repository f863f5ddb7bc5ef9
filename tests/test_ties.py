"""Lists of the best items: ties by rounding, and what always holds of lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boolrank._compiled.profiles import NOISE
from boolrank._compiled.ranking import best


def top(
    scores: NDArray[np.float64], means: NDArray[np.float64], n: int
) -> tuple[list[int], list[float]]:
    items, values = np.full(n, -1, np.int32), np.full(n, np.nan)
    best(scores.copy(), -means, NOISE, n, items, values)
    return items[items >= 0].tolist(), values[items >= 0].tolist()


@given(st.integers(0, 10**6), st.integers(1, 200))
def test_fewer_are_the_beginning_of_more_and_nothing_is_lost_or_twice(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    means = rng.choice([1e-3, 0.5, 10.0], size)
    scores = rng.integers(0, 3, size) * 0.1 + rng.integers(0, 6, size) * NOISE * rng.random()
    scores[rng.random(size) < 0.1] = -np.inf
    everything, values = top(scores, means, size + 3)
    assert sorted(everything) == np.flatnonzero(np.isfinite(scores)).tolist()
    assert values == scores[everything].tolist()
    for n in range(min(size, 30)):
        assert top(scores, means, n)[0] == everything[:n]


def test_scores_that_differ_by_rounding_are_in_the_order_of_numbers() -> None:
    scores = np.array([0.3, 0.5, 0.5 + 2e-16, 0.5 - 2e-16, 0.5 + 1e-9])
    assert top(scores, np.full(5, 0.1), 5)[0] == [4, 1, 2, 3, 0]
    assert top(scores, np.full(5, 0.1), 2)[0] == [4, 1]


def test_what_is_small_is_told_apart_by_its_own_digits() -> None:
    scores = np.array([0.3, 2e-30, 1e-30])
    assert top(scores, np.zeros(3), 3)[0] == [0, 1, 2]
    assert top(scores[::-1].copy(), np.zeros(3), 3)[0] == [2, 1, 0]


@pytest.mark.parametrize("n", [1, 10, 500])
def test_a_long_ladder_of_steps_below_rounding_is_one_run(n: int) -> None:
    scores = np.random.default_rng(0).permutation(1 - np.arange(2000) * NOISE * 0.9)
    assert top(scores, np.full(2000, 0.5), n)[0] == list(range(n))
