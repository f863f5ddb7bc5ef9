"""Significance: equal to hand-computed values and permutations, and quiet where nothing varies."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from boolrank import InputError, ParameterError
from boolrank.evaluation.result import Evaluation, FoldResult
from boolrank.evaluation.significance import (
    bootstrap_interval,
    compare,
    holm,
    paired_t,
    wilcoxon,
)


def _pairs(size: int, shift: float, seed: int = 0):
    rng = np.random.default_rng(seed)
    base = rng.random(size)
    return base + rng.normal(shift, 0.1, size), base


def _evaluation(model: str, *folds: list[float], split_hash: str = "abc") -> Evaluation:
    results = tuple(
        FoldResult(list(range(len(values))), {"auc": np.array(values)}, 0.0, 0.0)
        for values in folds
    )
    return Evaluation(model, "some split", split_hash, results)


def _named(*evaluations: Evaluation) -> dict[str, Evaluation]:
    return {each.model: each for each in evaluations}


def test_t_is_the_textbook_formula() -> None:
    a, b = np.array([3.0, 4.0, 6.0, 2.0]), np.array([1.0, 3.0, 3.0, 2.5])
    d = a - b
    t = d.mean() / (d.std(ddof=1) / math.sqrt(len(d)))
    assert paired_t(a - b) == pytest.approx(2 * stats.t.sf(abs(t), len(d) - 1), rel=1e-12)
    assert paired_t(a - b) == paired_t(b - a)


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05])
def test_t_and_wilcoxon_are_close_to_a_permutation_test(shift: float) -> None:
    a, b = _pairs(200, shift)
    permuted = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    ).pvalue
    assert paired_t(a - b) == pytest.approx(permuted, abs=0.01)
    assert wilcoxon(a - b) == pytest.approx(permuted, abs=0.15)


@pytest.mark.parametrize("levels", [3, 20, 10**6])
@pytest.mark.parametrize("size", [6, 12, 40, 300])
def test_both_tests_equal_scipy(size: int, levels: int) -> None:
    """With few levels there are many ties, and many pairs that are equal."""
    rng = np.random.default_rng(size + levels)
    a, b = rng.integers(0, levels, (2, size)) / levels
    assert paired_t(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    whole = np.round((a - b) * levels)  # as differences of decimals, equal ones may differ
    assert wilcoxon(whole) == pytest.approx(stats.wilcoxon(whole).pvalue, rel=1e-12)


def test_wilcoxon_of_few_users_counts_signs() -> None:
    """All eight differences have one sign: 2 of the 2^8 choices of signs are so extreme."""
    assert wilcoxon(np.arange(1.0, 9.0) ** 2) == pytest.approx(2 / 2**8)


def test_wilcoxon_leaves_out_equal_pairs() -> None:
    a, b = _pairs(30, 0.05)
    assert wilcoxon(np.append(a - b, np.zeros(9))) == wilcoxon(a - b)


def test_the_interval_is_close_to_the_normal_one() -> None:
    a, b = _pairs(500, 0.03)
    low, high = bootstrap_interval(a - b)
    d = a - b
    half = 1.96 * d.std(ddof=1) / math.sqrt(len(d))
    assert low == pytest.approx(d.mean() - half, abs=half / 10)
    assert high == pytest.approx(d.mean() + half, abs=half / 10)
    wide = bootstrap_interval(a - b, confidence=0.99)
    assert wide[0] < low < high < wide[1]


def test_the_interval_has_its_nominal_coverage() -> None:
    inside = 0
    for seed in range(200):
        a, b = _pairs(60, 0.02, seed)
        low, high = bootstrap_interval(a - b, confidence=0.8, resamples=500, seed=seed)
        inside += low <= 0.02 <= high
    assert 0.7 < inside / 200 < 0.88


def test_the_same_seed_gives_the_same_interval() -> None:
    a, b = _pairs(50, 0.1)
    assert bootstrap_interval(a - b, seed=1) == bootstrap_interval(a - b, seed=1)
    assert bootstrap_interval(a - b, seed=1) != bootstrap_interval(a - b, seed=2)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_no_difference_is_no_evidence(size: int) -> None:
    """Warnings are errors in these tests, so this also shows that there are none."""
    a = np.linspace(0, 1, size)
    assert paired_t(a - a) == 1.0
    assert wilcoxon(a - a) == 1.0
    assert bootstrap_interval(a - a) == (0.0, 0.0)


def test_one_user_proves_nothing() -> None:
    assert paired_t(np.array([0.8])) == 1.0
    assert wilcoxon(np.array([0.8])) == 1.0
    assert bootstrap_interval(np.array([0.8])) == (0.8, 0.8)


@pytest.mark.parametrize("size", [2, 10, 100])
def test_an_equal_difference_for_all_users_is_certain(size: int) -> None:
    b = np.linspace(0, 1, size)
    assert paired_t((b + 0.1) - b) == 0.0
    assert wilcoxon((b + 0.1) - b) == pytest.approx(2 / 2**size, abs=1e-3)
    assert bootstrap_interval((b + 0.1) - b)[0] == pytest.approx(0.1)


def test_holm_equals_hand_computed_values() -> None:
    """In order 0.005·4, 0.011·3, 0.02·2, 0.04·1, each at least the one before."""
    assert holm([0.02, 0.005, 0.04, 0.011]) == pytest.approx([0.04, 0.02, 0.04, 0.033])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.03]) == [0.03]


def test_holm_bounds_the_rate_of_false_differences() -> None:
    rng = np.random.default_rng(0)
    false = sum(min(holm(rng.random(10))) < 0.05 for _ in range(2000))
    assert false / 2000 < 0.065
    raw = sum((rng.random(10) < 0.05).any() for _ in range(2000))
    assert raw / 2000 > 0.3, "without the correction it would be many more"


def test_models_are_compared_with_the_best_over_all_folds() -> None:
    rng = np.random.default_rng(0)
    base = rng.random((2, 40))
    models = {
        "good": base + 0.2,
        "near": base + 0.199 + rng.normal(0, 0.05, (2, 40)),
        "bad": base + rng.normal(0, 0.05, (2, 40)),
    }
    evaluations = [_evaluation(name, *values.tolist()) for name, values in models.items()]
    near, bad = compare(_named(*evaluations), "auc")
    assert (near.model, near.baseline, near.users) == ("near", "good", 80)
    assert bad.difference == pytest.approx((models["bad"] - models["good"]).mean())
    assert bad.interval[0] < bad.difference < bad.interval[1] < 0
    assert bad.t_holm < 1e-6
    assert near.t_holm > 0.05
    assert bad.wilcoxon_holm < 1e-6
    assert (near.t_holm, bad.t_holm) == (near.t_p, 2 * bad.t_p)
    given = compare(_named(*evaluations), "auc", baseline="bad")
    assert [row.model for row in given] == ["good", "near"]


def test_the_best_model_has_the_lowest_mean_if_lower_is_better() -> None:
    low, high = _evaluation("low", [0.1, 0.2]), _evaluation("high", [0.5, 0.9])
    (row,) = compare(_named(low, high), "auc", resamples=50)
    assert row.baseline == "high"
    turned = [replace(e, folds=(replace(e.folds[0], lower=("auc",)),)) for e in (low, high)]
    (row,) = compare(_named(*turned), "auc", resamples=50)
    assert row.baseline == "low"


def test_users_without_a_value_in_both_models_are_left_out() -> None:
    a = _evaluation("a", [0.1, math.nan, 0.5, 0.7])
    b = _evaluation("b", [0.2, 0.9, math.nan, 0.7])
    (row,) = compare(_named(a, b), "auc", baseline="a", resamples=50)
    assert row.users == 2
    assert row.difference == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: compare(_named(_evaluation("a", [1.0]), _evaluation("b", [math.inf])), "auc"),
            InputError,
            "auc must be finite",
        ),
        (lambda: bootstrap_interval(np.arange(2.0), confidence=95), ParameterError, "not 95"),
        (lambda: bootstrap_interval(np.arange(2.0), resamples=0), ParameterError, "1 or more"),
        (lambda: bootstrap_interval(np.arange(2.0), seed=-1), ParameterError, "seed must be"),
        (lambda: compare(_named(_evaluation("a", [1.0])), "auc"), ParameterError, "give two"),
        (
            lambda: compare(
                _named(_evaluation("a", [1.0]), _evaluation("b", [1.0], split_hash="x")), "auc"
            ),
            InputError,
            "on the same one",
        ),
        (
            lambda: compare(_named(_evaluation("a", [1.0]), _evaluation("b", [1.0])), "mrr"),
            ParameterError,
            "was not measured; there are auc",
        ),
        (
            lambda: compare(_named(_evaluation("a", [1.0]), _evaluation("b", [1.0])), "auc", "c"),
            ParameterError,
            "there are a, b",
        ),
        (
            lambda: compare(_named(_evaluation("a", [1.0]), _evaluation("b", [math.nan])), "auc"),
            InputError,
            "no user has a value",
        ),
    ],
)
def test_invalid_comparisons_are_errors(make, error, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
