"""Lists from the items that a profile reaches equal lists from the scores of all items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from boolrank import Interactions, KernelRanker
from boolrank._compiled.profiles import NOISE
from boolrank._compiled.ranking import best
from boolrank._compiled.reach import HIDDEN, OWN, Layout, list_reached, reach, set_state
from boolrank.models import Profiles
from boolrank.models.scorer import Scorer
from boolrank.models.sparse_scorer import SparseScorer

SEEDS = st.integers(0, 2**32 - 1)


@given(
    seed=SEEDS,
    m=st.integers(1, 80),
    n=st.integers(0, 30),
    step=st.sampled_from([0.0, 1.0, 2.0**-51, 2.0**-49]),
    noise=st.sampled_from([0.0, NOISE]),
)
def test_lists_equal_those_of_all_scores(
    seed: int, m: int, n: int, step: float, noise: float
) -> None:
    """Steps are 0 for numbers of all sizes, 1 for many equal scores, or just about rounding."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(1, 6))

    def numbers(size: int) -> np.ndarray:
        return rng.standard_normal(size) if not step else 1 + step * rng.integers(-3, 4, size)

    classes, base = rng.integers(0, n_classes, m), numbers(m)
    layout, by_class = Layout.of(base, classes, n_classes), numbers(n_classes)
    states, scores = np.zeros(m, np.uint8), np.empty(m)
    hidden = np.flatnonzero(rng.random(m) < 0.1)
    own = np.flatnonzero(rng.random(m) < 0.1)
    set_state(states, hidden, HIDDEN, True)
    set_state(states, own, OWN, True)
    reached, used = np.empty(m, np.int32), 0
    for item in np.flatnonzero(rng.random(m) < rng.random()):
        used = reach(item, scores, states, reached, used, by_class, layout)
        scores[item] += numbers(1)[0]
    every = by_class[classes] + base
    every[reached[:used]] = scores[reached[:used]]
    every[hidden] = every[own] = -np.inf
    n = min(n, m)
    ours, theirs = np.full((2, n), -1, np.int32)
    our_scores, their_scores = np.full((2, n), np.nan)
    list_reached(reached[:used], scores, states, by_class, layout, noise, ours, our_scores)
    best(every, base, noise, n, theirs, their_scores)
    assert ours.tolist() == theirs.tolist()
    assert np.array_equal(our_scores, their_scores, equal_nan=True)


@given(
    seed=SEEDS,
    density=st.sampled_from([0.01, 0.1, 0.5]),
    coarse=st.booleans(),
    popular=st.booleans(),
)
def test_sums_of_sparse_rows_have_the_lists_of_their_scores(
    seed: int, density: float, coarse: bool, popular: bool
) -> None:
    rng = np.random.default_rng(seed)
    m = 60
    there = rng.random((m, m)) < density
    indptr = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    values = rng.standard_normal(int(indptr[-1]))
    values = np.round(values) if coarse else values
    users = rng.integers(0, 4, m) if popular else None
    scorer = SparseScorer(indptr, np.nonzero(there)[1].astype(np.int32), values, users)
    profiles = Profiles.of_lists([rng.choice(m, size) for size in (1, 2, 5, 30)])
    hidden = np.flatnonzero(rng.random(m) < 0.1)
    for n, hide_own in ((5, True), (m, True), (20, False)):
        ours = scorer.top(profiles, n, hidden, hide_own)
        theirs = Scorer.top(scorer, profiles, n, hidden, hide_own)
        assert ours[0].tolist() == theirs[0].tolist()
        assert np.array_equal(ours[1], theirs[1], equal_nan=True)


@given(seed=SEEDS, kernel=st.sampled_from(["linear", "disjunctive(2)", "disjunctive(40)"]))
def test_a_compressed_kernel_has_the_lists_of_a_scan(seed: int, kernel: str) -> None:
    rng = np.random.default_rng(seed)
    users, items = 60, 50
    pairs = np.argwhere(rng.random((users, items)) < 0.05 * rng.random(items) * 2)
    data = Interactions.from_pairs(*(pairs if len(pairs) else np.zeros((1, 2), int)).T)
    scorer = KernelRanker(kernel, storage="compressed").fit(data).scorer
    profiles = Profiles(*data.rows.take(np.flatnonzero(data.rows.lengths)))
    hidden = np.flatnonzero(rng.random(len(data.items)) < 0.1)
    scanned = replace(scorer)
    object.__setattr__(scanned, "_layout", None)
    every = len(data.items)
    for n, hide_own in ((min(5, every), True), (every, True), (min(3, every), False)):
        ours, theirs = (each.top(profiles, n, hidden, hide_own) for each in (scorer, scanned))
        assert ours[0].tolist() == theirs[0].tolist()
        assert np.array_equal(ours[1], theirs[1], equal_nan=True)
