"""SLIM and GLSLIM against solvers of others, against each other, and on planted populations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boolrank import Interactions, synthetic
from boolrank.data.protocols import leave_one_out
from boolrank.errors import MatrixTooLargeError, ParameterTypeError
from boolrank.evaluation import evaluate_fold
from boolrank.models import Glslim, Profiles, Slim
from boolrank.models.elastic_net import ElasticNet, Operators, Subsets
from effort import tries


@pytest.fixture(scope="module")
def data():
    return synthetic(150, 40, 1_500, 3)


def dense(indptr, columns, values, items):
    """(items, items) The weights of one operator."""
    out = np.zeros((items, items))
    for item in range(items):
        part = slice(indptr[item], indptr[item + 1])
        out[item, columns[part]] = values[part]
    return out


def weights_of(model):
    scorer = model.scorer
    return dense(scorer.indptr, scorer.columns, scorer.values, scorer.items)


def by_scikit(matrix, targets, reg, l1_ratio, sign, own):
    """Columns of weights by scikit-learn; ``own`` has the features that a target may not use."""
    from sklearn.linear_model import ElasticNet as Peer

    out = np.zeros((matrix.shape[1], targets.shape[1]))
    for j in range(targets.shape[1]):
        others = np.setdiff1d(np.arange(matrix.shape[1]), own(j))
        peer = Peer(
            alpha=reg,
            l1_ratio=l1_ratio,
            positive=sign == "positive",
            fit_intercept=False,
            tol=1e-14,
            max_iter=100_000,
        )
        out[others, j] = peer.fit(matrix[:, others], targets[:, j]).coef_
    return out


@pytest.mark.parametrize("sign", ["positive", "any"])
@pytest.mark.parametrize(("reg", "l1_ratio"), [(0.05, 0.01), (0.01, 0.5), (0.001, 0.9)])
def test_slim_has_the_weights_of_scikit_learn(data, sign, reg, l1_ratio):
    matrix = data.matrix().toarray().astype(float)
    expected = by_scikit(matrix, matrix, reg, l1_ratio, sign, lambda j: [j])
    found = weights_of(Slim(reg=reg, l1_ratio=l1_ratio, sign=sign).fit(data))
    assert (expected < 0).any() == (sign == "any")
    assert np.abs(found - expected).max() < 1e-7  # of weights up to 0.8


@pytest.mark.parametrize("sign", ["positive", "any"])
def test_slim_has_the_weights_of_plain_coordinate_descent(data, sign):
    x, reg, l1_ratio = data.matrix().toarray().astype(float), 0.01, 0.3
    gram, l1, l2 = x.T @ x, len(x) * reg * l1_ratio, len(x) * reg * (1 - l1_ratio)
    expected = np.zeros_like(gram)
    for _ in range(2000):
        for i in range(len(gram)):
            slope = gram[i] - gram[i] @ expected + gram[i, i] * expected[i]
            shrunk = np.maximum(np.abs(slope) - l1, 0) / (gram[i, i] + l2)
            expected[i] = np.where(slope > 0, shrunk, 0 if sign == "positive" else -shrunk)
            expected[i, i] = 0
    found = weights_of(Slim(reg=reg, l1_ratio=l1_ratio, sign=sign).fit(data))
    assert np.abs(found - expected).max() < 1e-7  # 8e-9, of weights up to 0.7


def test_slim_has_the_weights_of_irspack(data):
    pytest.importorskip("irspack", reason="the extra compare is not installed")
    from irspack.recommenders.slim import SLIMRecommender

    theirs = SLIMRecommender(
        data.matrix().astype(float), alpha=0.01, l1_ratio=0.2, n_iter=1_000, tol=1e-9, n_threads=1
    )
    expected = theirs.learn().W.toarray()
    found = weights_of(Slim(reg=0.01, l1_ratio=0.2).fit(data))
    assert np.abs(found - expected).max() < 2e-4  # 9e-5: irspack stops early


@settings(max_examples=tries(40), deadline=None)
@given(
    matrix=st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=3, max_size=12),
    reg=st.sampled_from([1e-3, 0.02, 0.2]),
    l1_ratio=st.sampled_from([0.0, 0.3, 1.0]),
    sign=st.sampled_from(["positive", "any"]),
)
def test_weights_meet_the_conditions_of_an_optimum(matrix, reg, l1_ratio, sign):
    users, items = np.nonzero(matrix)
    if not len(users):
        return
    data = Interactions.from_pairs(users, items)
    x = data.matrix().toarray().astype(float)
    w = weights_of(Slim(reg=reg, l1_ratio=l1_ratio, sign=sign).fit(data))
    l1, l2 = len(x) * reg * l1_ratio, len(x) * reg * (1 - l1_ratio)
    slope = x.T @ (x - x @ w) - l2 * w
    outside = ~np.eye(len(w), dtype=bool)
    assert not w[~outside].any()
    moving = outside & (w != 0)
    assert np.abs(slope[moving] - l1 * np.sign(w[moving])).max(initial=0) < 1e-5
    still = slope if sign == "positive" else np.abs(slope)
    assert (still[outside & (w == 0)] <= l1 + 1e-5).all()
    assert sign == "any" or (w >= 0).all()


def test_neighbours_are_the_largest_weights_of_each_target(data):
    everything, few = (weights_of(Slim(neighbours=k).fit(data)) for k in (None, 3))
    assert ((few != 0).sum(axis=0) == 3).all()
    assert np.array_equal(few[few != 0], everything[few != 0])
    assert (np.where(few == 0, everything, 0).max(axis=0) <= np.sort(few, axis=0)[-3]).all()


def test_a_path_equals_fits_of_its_own(data):
    regs = [0.001, 0.1, 0.01]
    path = Slim.path(data, regs, l1_ratio=0.3)
    assert [model.reg for model in path] == [0.1, 0.01, 0.001]
    for model in path:
        alone = Slim(reg=model.reg, l1_ratio=0.3).fit(data)
        assert np.abs(weights_of(model) - weights_of(alone)).max() < 1e-6


def test_a_path_checks_its_input(data):
    with pytest.raises(TypeError, match="Slim fits Interactions, not list"):
        Slim.path([1], [0.1])
    with pytest.raises(ParameterTypeError, match="reg of Slim must be a number, not 'a'"):
        Slim.path(data, [0.1, "a"])


def test_local_models_are_learned_together_with_that_of_all(data):
    """With subsets and shares fixed, the weights are those of one elastic net of all features."""
    rng = np.random.default_rng(0)
    users, items = data.shape
    subsets = Subsets(rng.integers(0, 2, users), rng.random(users))
    reg, l1_ratio = 0.01, 0.4
    costs = (users * reg * l1_ratio,) * 3, (users * reg * (1 - l1_ratio),) * 3
    net = ElasticNet(*costs, positive=True, neighbours=None)
    found = net.solve(data.rows, items, subsets, Operators.empty(3, items))
    matrix = data.matrix().toarray().astype(float)
    parts = [subsets.shares] + [(1 - subsets.shares) * (subsets.numbers == p) for p in (0, 1)]
    features = np.concatenate([part[:, None] * matrix for part in parts], axis=1)
    own = lambda j: [j, items + j, 2 * items + j]  # noqa: E731
    expected = by_scikit(features, matrix, reg, l1_ratio, "positive", own)
    for p, starts in enumerate(found.indptr):
        weights = dense(starts, found.columns, found.values, items)
        assert weights.any()
        assert np.abs(weights - expected[p * items : (p + 1) * items]).max() < 1e-6


def test_glslim_with_one_subset_is_slim(data):
    whole = Glslim(subsets=1, reg=0.01, l1_ratio=0.1).fit(data)
    slim = Slim(reg=0.01, l1_ratio=0.1).fit(data)
    assert np.array_equal(whole.scorer.values, slim.scorer.values)
    assert np.allclose(whole.score(), slim.score(), atol=1e-12, equal_nan=True)
    assert whole.recommend().lists() == slim.recommend().lists()


def test_rough_weights_between_moves_lead_to_the_same_model(data, monkeypatch):
    solve, tolerances = ElasticNet.solve, []

    def noted(self, rows, items, subsets, start, tolerance=0.0):
        tolerances.append(tolerance)
        return solve(self, rows, items, subsets, start, tolerance or 1e-9)

    monkeypatch.setattr(ElasticNet, "solve", noted)
    rough = Glslim(subsets=2, reg=0.02).fit(data)
    assert len(tolerances) > 2
    assert all(tolerances[:-1])
    assert not tolerances[-1]  # the last weights are exact
    monkeypatch.setattr("boolrank.models.slim._ROUGH", 1e-9)
    exact = Glslim(subsets=2, reg=0.02).fit(data)
    assert np.nanmean(np.abs(rough.score() - exact.score())) < 3e-3  # of scores up to 1


def test_a_profile_chooses_the_subset_and_share_that_predict_it_best(data):
    model = Glslim(subsets=3, reg=0.02, local_reg=0.005).fit(data)
    scorer = model.scorer
    items = scorer.items
    operators = [dense(starts, scorer.columns, scorer.values, items) for starts in scorer.indptr]
    profiles = Profiles.of_lists([[1, 5, 9], [0], list(range(20))])
    numbers, shares = scorer.subsets(profiles.rows)
    grid = np.linspace(0, 1, 2_001)
    for k in range(profiles.n_rows):
        y = np.zeros(items)
        y[profiles.row(k)] = 1
        whole, *local = (y @ each for each in operators)
        errors = [[((y - g * whole - (1 - g) * part) ** 2).sum() for g in grid] for part in local]
        best, at = np.unravel_index(np.argmin(errors), (3, len(grid)))
        assert (numbers[k], round(shares[k], 3)) == (best, pytest.approx(grid[at], abs=1e-3))
        mixed = shares[k] * whole + (1 - shares[k]) * local[best]
        assert scorer.scores(profiles)[k] == pytest.approx(mixed, abs=1e-12)


def planted(rng, users=400, items=40):
    """Two populations that pair the same items differently: 0-1, 2-3, ... and 1-2, 3-4, ..."""
    pairs = []
    for user in range(users):
        starts = rng.choice(items // 2, 5, replace=False)
        first = (2 * starts + user % 2) % items
        pairs += [(user, item) for item in (*first, *((first + 1) % items))]
    return Interactions.from_pairs(*zip(*pairs, strict=True))


def test_glslim_finds_planted_populations_and_beats_slim():
    data = planted(np.random.default_rng(1))
    local = Glslim(subsets=2, reg=0.05, local_reg=0.01).fit(data)
    numbers = local.scorer.subsets(data.rows).numbers
    agree = np.mean(numbers == np.array([int(user) % 2 for user in data.users]))
    assert max(agree, 1 - agree) > 0.97
    fold = leave_one_out(data, order="random", seed=1)[0]
    found = evaluate_fold(Glslim(subsets=2, reg=0.05, local_reg=0.01), fold, ["ndcg@10"])
    plain = evaluate_fold(Slim(reg=0.05), fold, ["ndcg@10"])
    assert found.means["ndcg@10"] > plain.means["ndcg@10"] + 0.1


def test_threads_and_order_of_events_change_no_bit(data):
    order = np.random.default_rng(2).permutation(data.size)
    users, items = data.rows.numbers[order], data.indices[order]
    shuffled = Interactions.from_pairs(users, items)
    plain = Interactions.from_pairs(data.rows.numbers, data.indices)
    for make in (Slim, Glslim):
        first = make(n_threads=1).fit(plain).scorer
        again = make(n_threads=2).fit(shuffled).scorer
        assert np.array_equal(first.values, again.values)
        assert np.array_equal(first.columns, again.columns)


def test_subsets_that_memory_cannot_hold_are_refused(data, monkeypatch):
    monkeypatch.setattr("boolrank._memory.free_memory", lambda: 20_000)
    with pytest.raises(MatrixTooLargeError, match="fewer subsets"):
        Glslim(subsets=3).fit(data)
    with pytest.raises(MatrixTooLargeError) as caught:
        Slim().fit(data)
    assert "subsets" not in str(caught.value), "it has none"
