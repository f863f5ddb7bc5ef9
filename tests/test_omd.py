"""CF-OMD and ECF-OMD: beside a generic solver of quadratic programs, and beside each other."""

from __future__ import annotations

import warnings

import clarabel
import numpy as np
import pytest
from scipy import sparse

from boolrank import CfOmd, EcfOmd, Interactions, KernelRanker, parse_kernel
from boolrank.counts.overlaps import Overlaps
from boolrank.errors import ConvergenceWarning, ParameterTypeError
from boolrank.matrix import DenseMatrix
from boolrank.models import Profiles, omd
from boolrank.models.omd import MarginScorer
from boolrank.testing import check_recommender


@pytest.fixture(scope="module")
def data():
    return _drawn(60, 40, 0.2)


def _drawn(users, items, density):
    """Items with other users each, some much more popular than others."""
    rng = np.random.default_rng(3)
    share = density * 2 * rng.random(items)
    return Interactions.from_matrix(rng.random((users, items)) < share)


def _cosines(data, kernel="linear"):
    return parse_kernel(kernel).normalized()(data.matrix().toarray().T.astype(np.int8))


def _solved(quadratic, linear, groups):
    """Minimise wᵀQw + 2·lᵀw over w >= 0 whose weights of each group sum to 1."""
    size = len(quadratic)
    rows = np.vstack([*groups, -np.eye(size)])
    bounds = np.concatenate([np.ones(len(groups)), np.zeros(size)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(len(groups)), clarabel.NonnegativeConeT(size)]
    problem = (sparse.csc_matrix(np.triu(2 * quadratic)), 2 * linear, sparse.csc_matrix(rows))
    return np.array(clarabel.DefaultSolver(*problem, bounds, cones, settings).solve().x)


@pytest.mark.parametrize("kernel", ["linear", "disjunctive(3)"])
@pytest.mark.parametrize("negative_reg", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("reg", [0.1, 5.0])
def test_cf_omd_is_the_quadratic_program_over_two_simplices(data, reg, negative_reg, kernel):
    users = list(data.users)[:6]
    scores = CfOmd(reg, negative_reg, kernel).fit(data).score(users)
    K = _cosines(data, kernel)
    for row, found in enumerate(scores):
        own = np.isin(np.arange(len(K)), data.rows.row(row))
        signs = np.where(own, 1.0, -1.0)
        quadratic = np.outer(signs, signs) * K + np.diag(np.where(own, reg, negative_reg))
        weights = _solved(quadratic, np.zeros(len(K)), [own.astype(float), (~own).astype(float)])
        assert np.abs(found - K @ (signs * weights)).max() < 1e-5


@pytest.mark.parametrize("reg", [0.1, 5.0])
def test_ecf_omd_is_the_quadratic_program_against_the_mean_of_the_others(data, reg):
    scores, K = EcfOmd(reg).fit(data).score(), _cosines(data)
    for row, found in enumerate(scores):
        own = data.rows.row(row)
        if not len(own):
            continue
        mean = np.delete(K, own, axis=0).mean(axis=0)
        quadratic = K[np.ix_(own, own)] + reg * np.eye(len(own))
        weights = _solved(quadratic, -mean[own], [np.ones(len(own))])
        assert np.abs(found - (weights @ K[own] - mean)).max() < 1e-6


def test_ecf_omd_is_the_limit_of_cf_omd(data):
    limit = EcfOmd(0.1).fit(data).score()
    apart = [np.abs(CfOmd(0.1, each).fit(data).score() - limit).max() for each in (1e2, 1e4, 1e6)]
    assert apart == sorted(apart, reverse=True)
    assert apart[0] > 1e-3
    assert apart[-1] < 1e-5


def test_the_kernel_ranker_differs_from_ecf_omd_by_the_share_of_own_items():
    """It has the mean over all items, of which few are one's own where there are many."""
    apart = []
    for items in (50, 500):
        data = _drawn(80, items, 10 / items)
        linear, ecf = KernelRanker("linear").fit(data).score(), EcfOmd().fit(data).score()
        seen = data.matrix().toarray() > 0
        differences = np.where(seen, np.nan, linear - ecf)
        # All candidates of a user may be moved together.
        moved = differences - np.nanmean(differences, axis=1, keepdims=True)
        apart.append(np.nanmax(np.abs(moved)))
    assert apart[1] < apart[0] / 3 < 0.05


@pytest.mark.parametrize("model", [CfOmd(1.0, 20.0), EcfOmd(0.0)], ids=["CfOmd", "EcfOmd"])
def test_the_contract_is_kept(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # items alike, and nothing spreads them
        check_recommender(model, 1, n_users=12, n_items=9)


@pytest.mark.parametrize("kind", [CfOmd, EcfOmd])
def test_small_and_full_data_do(kind):
    one = kind().fit(Interactions.from_pairs([1], ["a"]))
    assert one.recommend(n=3, exclude_seen=False).lists() == [["a"]]
    full = kind().fit(Interactions.from_matrix(np.ones((4, 5), bool)))
    assert full.recommend(n=3).lists() == [[]] * 4
    assert np.isfinite(full.score()).all()
    assert full.recommend_profile([3]).lists() == [[0, 1, 2, 4]]
    lonely = np.eye(4, 5, dtype=bool) | (np.arange(5) == 0)
    lonely[:, 4] = False  # an item that nobody has
    assert np.isfinite(kind().fit(Interactions.from_matrix(lonely)).score()).all()


@pytest.mark.parametrize("kernel", ["linear", "disjunctive(3)"])
def test_neither_storage_nor_other_profiles_change_scores(kernel):
    data = _drawn(80, 300, 0.03)
    scorer = CfOmd(0.1, 30.0, kernel).fit(data).scorer
    assert scorer.matrix.storage == "compressed"
    profiles = Profiles(*data.rows.part(0, 70))
    scores = scorer.scores(profiles)
    dense = DenseMatrix.of(parse_kernel(kernel), Overlaps.of(data), plain=True)
    plain = MarginScorer(dense, 0.1, 30.0)
    assert np.abs(plain.scores(profiles) - scores).max() < 1e-9
    for k in (0, 33, 69):
        assert np.array_equal(scorer.scores(profiles.part(k, k + 1))[0], scores[k])
        assert np.array_equal(plain.scores(profiles.part(k, k + 1)), plain.scores(profiles)[[k]])


def test_an_empty_profile_has_scores_and_disturbs_no_other(data):
    scorer = CfOmd().fit(data).scorer
    empty, one = scorer.scores(Profiles.of_lists([[], [0]]))
    assert np.isfinite(empty).all()
    assert (empty < 0).all()
    assert np.array_equal(one, scorer.scores(Profiles.of_lists([[0]]))[0])


def test_threads_change_no_bit(data):
    for model in (CfOmd(), EcfOmd()):
        one = model.set_params(n_threads=1).fit(data).score()
        assert np.array_equal(one, model.set_params(n_threads=2).fit(data).score())


def test_problems_that_end_early_are_said(data, monkeypatch):
    model = CfOmd(negative_reg=1.0).fit(data)
    solved = model.score()
    monkeypatch.setattr(omd, "_MOST_STEPS", 3)
    words = "profiles are right to a duality gap of .* only"
    with pytest.warns(ConvergenceWarning, match=words) as told:
        early = model.score()
    assert len(told) == 1
    gap = float(str(told[0].message).split("duality gap of ")[1].split()[0])
    # The gap that is told bounds how far scores are off, and they are off.
    off = np.nanmax(np.abs(early - solved))
    assert 1e-7 < off <= np.sqrt(1.1 * gap)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (CfOmd(reg=-1), "reg of CfOmd must be a number from 0"),
        (CfOmd(negative_reg=float("nan")), "negative_reg of CfOmd must be .* not nan"),
        (CfOmd(negative_reg=float("inf")), "negative_reg of CfOmd must be .* to 1e.08"),
        (CfOmd(kernel="linaer"), "linear"),
        (EcfOmd(reg="x"), "reg of EcfOmd must be .* not 'x'"),
    ],
)
def test_impossible_parameters_are_said(data, model, said):
    with pytest.raises((ValueError, ParameterTypeError), match=said):
        model.fit(data)
