"""Lists of many profiles at once have the bits of lists one by one."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boolrank import Interactions, KernelRanker, synthetic
from boolrank._compiled import batches, problems
from boolrank._compiled.sketch import Sketch, approximate
from boolrank.models import simplex_scorer
from boolrank.models.profiles import Profiles
from boolrank.models.simplex_scorer import SimplexScorer
from effort import tries

SEEDS = st.integers(0, 2**32 - 1)
# Formulas of all kinds: values of the pairs (i, j) and (j, i) must be the same bits.
KERNELS = ["linear", "disjunctive(2)", "threshold(2, 4)", "tanimoto + polynomial(3, offset=1)"]
MORE = ["composed_dnf(2, 2)", "literal_disjunctive(2)", "formula('a and not b')", "linear ** 2"]


def draw(seed: int, users: int = 60, items: int = 250, events: int = 1200) -> Interactions:
    """Draw interactions with popular and rare items, some of them equal."""
    rng = np.random.default_rng(seed)
    popular = np.minimum(rng.geometric(8 / items, events), items) - 1
    return Interactions.from_pairs(rng.integers(0, users, events), popular // rng.integers(1, 3))


def lists(scorer: SimplexScorer, many: int, *request: object) -> tuple[list[object], ...]:
    strides = patch.object(simplex_scorer, "_STRIDES", 1)  # for lists of any length
    with strides, patch.object(simplex_scorer, "MANY", many):
        chosen, scores = scorer.top(*request)  # type: ignore[arg-type]
    return chosen.tolist(), np.nan_to_num(scores, nan=-9.0).tolist()


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=tries(12))
@given(seed=SEEDS)
def test_a_batch_lists_what_single_profiles_do(kernel: str, seed: int) -> None:
    data, rng = draw(seed), np.random.default_rng(seed)
    scorer = KernelRanker(kernel, storage="compressed").fit(data).scorer
    indptr, indices = data.rows.take(np.flatnonzero(data.rows.lengths))
    weights = rng.random(len(indices)) + 0.01 if rng.random() < 0.5 else np.empty(0)
    profiles = Profiles(indptr, indices, weights)
    hidden = np.flatnonzero(rng.random(len(data.items)) < rng.choice([0.0, 0.1, 0.97]))
    for n, hide_own in ((5, True), (1, False), (len(data.items), True)):
        request = profiles, n, hidden, hide_own
        assert lists(scorer, 1, *request) == lists(scorer, 10**9, *request)


@pytest.mark.parametrize("kernel", KERNELS + MORE)
def test_kernels_of_all_kinds_list_the_same_in_a_larger_set(kernel: str) -> None:
    data = synthetic(1500, 1500, 30_000, seed=3)
    model = KernelRanker(kernel, storage="compressed").fit(data)
    profiles, none = model.fitted.profiles(np.arange(len(data.users))), np.empty(0, np.int64)
    request = profiles, 10, none, True
    assert model.scorer._sketch is not None
    assert lists(model.scorer, 1, *request) == lists(model.scorer, 10**9, *request)


@settings(max_examples=tries(30))
@given(seed=SEEDS, kernel=st.sampled_from(KERNELS))
def test_bytes_bound_the_scores(seed: int, kernel: str) -> None:
    data = draw(seed)
    scorer = KernelRanker(kernel, storage="compressed").fit(data).scorer
    layout, arrays = scorer._layout, scorer.matrix.arrays
    sketch = Sketch.of(arrays, layout)
    profiles = Profiles(*data.rows.take(np.flatnonzero(data.rows.lengths)[:20]))
    scores, alpha = scorer.scores(profiles), scorer.weights(profiles)
    out = np.empty(len(data.items), np.float32)
    for k in range(profiles.n_rows):
        own, part = profiles.row(k), slice(profiles.indptr[k], profiles.indptr[k + 1])
        by_class = np.zeros(len(arrays.background))
        of_model = by_class, arrays, sketch, layout.largest
        error, most = approximate(out, *of_model, own, alpha[part])
        assert abs(out[sketch.place] - scores[k]).max() <= error
        assert error < 0.01 * max(most, 0.1)
        assert abs(scores[k]).max() <= most


def test_few_items_are_candidates() -> None:
    """Otherwise all rows would be summed after all, and nothing but time would tell."""
    data = synthetic(2000, 3000, 60_000, seed=0)
    scorer = KernelRanker("disjunctive(8)", storage="compressed").fit(data).scorer
    users = np.flatnonzero(data.rows.lengths >= 20)
    profiles = Profiles(*data.rows.take(users))
    arrays, order = scorer.matrix.arrays, np.arange(len(users))
    uses = problems.uses_of(tuple(profiles), order, len(data.items))
    out = np.empty((len(users), 20), np.int32), np.empty((len(users), 20)), np.zeros(len(users))
    found = batches._candidates(
        out,
        scorer.weights(profiles),
        np.zeros(len(data.items), np.uint8),
        arrays,
        scorer._layout,
        tuple(profiles),
        uses,
        (scorer._base, 1.0, 0.1, 1e-13),
        scorer._sketch,
        (np.empty(0, np.int64), True, order),
    )
    assert np.isfinite(found.limits).mean() > 0.99
    assert found.first[-1] / len(users) < 40


def test_columns_that_occur_twice_are_not_read_out_of_bounds() -> None:
    """Only a forged folder has such rows, and validation lets them pass."""
    data = draw(4, users=300, items=3000, events=1500)
    scorer = KernelRanker("linear", storage="compressed").fit(data).scorer
    arrays = scorer.matrix.arrays
    firsts = arrays.columns[np.repeat(arrays.indptr[:-1], np.diff(arrays.indptr))]
    sketch = Sketch.of(arrays._replace(columns=firsts), scorer._layout)
    assert sketch is not None
    assert sketch.places.max() < len(sketch.place)


def test_small_sets_and_large_matrices_are_ranked_one_by_one() -> None:
    """Batches are compiled first, and take memory of their own."""
    data = draw(2)
    scorer = KernelRanker("linear", storage="compressed").fit(data).scorer
    profiles = Profiles(*data.rows.take(np.flatnonzero(data.rows.lengths)))
    scorer.top(profiles, 3, np.empty(0, np.int64), True)
    assert "_sketch" not in vars(scorer)
    with patch.object(simplex_scorer, "_MOST_PAIRS", 10):
        assert scorer._sketch is None


def test_values_below_0_and_distances_are_ranked_without_bytes() -> None:
    data = draw(1)
    scorer = KernelRanker("linear", storage="compressed").fit(data).scorer
    arrays = scorer.matrix.arrays
    assert Sketch.of(arrays, scorer._layout) is not None
    assert Sketch.of(arrays._replace(values=-arrays.values), scorer._layout) is None
    assert Sketch.of(arrays._replace(distance=arrays.pull), scorer._layout) is None


@pytest.mark.parametrize("kernel", ["linear", "conjunctive(2)"])
@pytest.mark.parametrize("exponent", [0.5, 1.0])
def test_weighted_users_have_a_symmetric_matrix_and_the_same_lists(
    kernel: str, exponent: float
) -> None:
    data = synthetic(500, 800, 3000, seed=1)
    model = KernelRanker(kernel, user_exponent=exponent, storage="compressed").fit(data)
    scorer = model.scorer
    rows = np.array([scorer.matrix.row(item) for item in range(len(data.items))])
    assert np.array_equal(rows, rows.T)
    assert scorer._sketch is not None
    everything = np.arange(len(data.items), dtype=np.int32)
    indptr, indices = data.rows.take(np.flatnonzero(data.rows.lengths)[:150])
    indptr = np.append(indptr, indptr[-1] + len(everything))
    profiles = Profiles(indptr, np.append(indices, everything), np.empty(0))
    for own in (True, False):
        request = profiles, 10, np.empty(0, np.int64), own
        assert lists(scorer, 1, *request) == lists(scorer, 10**9, *request)
