"""Models of implicit and irspack: the library's own results, under the contract of all models."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from boolrank import Interactions, ParameterError, Popularity, synthetic
from boolrank.data.protocols import strong_generalization
from boolrank.errors import MissingExtraError, ParameterTypeError
from boolrank.evaluation import evaluate_fold
from boolrank.models import MODELS, make_model
from boolrank.testing import check_recommender

ADAPTERS = [name for name, entry in MODELS.items() if entry.extra == "compare"]
# Quick, and one thread where the library would start several: these data are small.
QUICK = {
    "als": {"factors": 6, "n_threads": 1},
    "bpr": {"factors": 6, "iterations": 20},
    "logistic-mf": {"factors": 6, "iterations": 10},
    "rp3beta": {"neighbours": 20, "n_threads": 1},
}


@pytest.fixture(autouse=True)
def _installed():
    for library in ("implicit", "irspack"):
        pytest.importorskip(library, reason="the extra compare is not installed")


@pytest.fixture(scope="module")
def data():
    return synthetic(150, 70, 2_000, 3)


def _matrix(data):
    return csr_matrix(data.matrix(), dtype=np.float32)


def _lonely(data):
    """Numbers of the users whose items nobody else has just so, and who have some."""
    keys = [tuple(data.rows.row(user)) for user in range(len(data.users))]
    return [user for user, key in enumerate(keys) if key and keys.count(key) == 1]


def _of_implicit(model, data, users, **options):
    """(users, items) the scores that the library's own recommend gives."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        fitted = model()
        fitted.fit(_matrix(data), show_progress=False)
        asked = {"N": len(data.items), "filter_already_liked_items": False} | options
        items, scores = fitted.recommend(users, _matrix(data)[users], **asked)
    out = np.full((len(users), len(data.items)), np.nan)
    np.put_along_axis(out, items, scores, axis=1)
    return out


def test_there_are_the_adapters_that_these_tests_know():
    assert set(ADAPTERS) == set(QUICK)


@pytest.mark.parametrize("name", ADAPTERS)
def test_adapters_keep_the_contract(name):
    check_recommender(make_model(name, **QUICK[name]), n_users=20, n_items=12)
    check_recommender(make_model(name, **QUICK[name]), 1)


def test_als_scores_as_the_library_does_when_it_recalculates_users(data):
    from implicit.cpu.als import AlternatingLeastSquares

    users = np.flatnonzero(np.diff(data.indptr))
    theirs = _of_implicit(
        lambda: AlternatingLeastSquares(
            6, regularization=0.2, alpha=3.0, iterations=4, num_threads=1, random_state=5
        ),
        data,
        users,
        recalculate_user=True,
    )
    ours = make_model("als", factors=6, reg=0.2, confidence=3.0, iterations=4, seed=5, n_threads=1)
    found = ours.fit(data).score([data.users[int(u)] for u in users])
    assert np.abs(found - theirs).max() < 1e-5  # 4e-6: the library solves in single precision
    assert np.abs(found - _als_in_double(ours.scorer.factors, data, users)).max() < 1e-12


def _als_in_double(items, data, users):
    """Scores by the definition, with confidence 3 and reg 0.2, from the factors of items."""
    scores = []
    for user in users:
        liked = np.isin(np.arange(len(items)), data.rows.row(int(user)))
        weights = np.where(liked, 3.0, 1.0)
        system = items.T @ (weights[:, None] * items) + 0.2 * np.eye(items.shape[1])
        scores.append(items @ np.linalg.solve(system, items.T @ (weights * liked)))
    return np.array(scores)


def test_bpr_and_logistic_score_as_the_library_does(data):
    from implicit.cpu.bpr import BayesianPersonalizedRanking
    from implicit.cpu.lmf import LogisticMatrixFactorization

    users = np.array(_lonely(data))
    assert len(users) > 100
    for name, params, theirs in (
        (
            "bpr",
            {"learning_rate": 0.1, "reg": 0.02, "iterations": 9},
            lambda: BayesianPersonalizedRanking(
                6,
                learning_rate=0.1,
                regularization=0.02,
                iterations=9,
                num_threads=1,
                random_state=5,
            ),
        ),
        (
            "logistic-mf",
            {"learning_rate": 0.5, "reg": 0.3, "iterations": 7, "negatives": 11},
            lambda: LogisticMatrixFactorization(
                6,
                learning_rate=0.5,
                regularization=0.3,
                iterations=7,
                neg_prop=11,
                num_threads=1,
                random_state=5,
            ),
        ),
    ):
        ours = make_model(name, factors=6, seed=5, **params).fit(data)
        found = ours.score([data.users[int(u)] for u in users])
        expected = _of_implicit(theirs, data, users)
        assert (
            np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()
        )  # 7e-8 of 1.5, 7e-7 of 11


def test_rp3beta_scores_as_the_library_does(data):
    ours = make_model("rp3beta", beta=0.3, neighbours=15, n_threads=1).fit(data)
    from irspack.recommenders.rp3 import RP3betaRecommender

    matrix, users = csr_matrix(data.matrix()), np.flatnonzero(np.diff(data.indptr))
    theirs = RP3betaRecommender(matrix, beta=0.3, top_k=15, n_threads=2)
    expected = theirs.learn().get_score(users)
    found = ours.score([data.users[int(u)] for u in users])
    assert expected.max() > 0.01
    assert np.abs(found - expected).max() < 1e-6  # 0


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_same_seed_gives_the_same_bits_and_threads_change_none(name, data):
    first = make_model(name, **QUICK[name]).fit(data).score()
    again = QUICK[name] | ({"n_threads": 2} if "n_threads" in QUICK[name] else {})
    assert np.array_equal(first, make_model(name, **again).fit(data).score(), equal_nan=True)
    if "seed" in make_model(name).get_params():
        other = make_model(name, **QUICK[name], seed=1).fit(data).score()
        assert not np.array_equal(first, other, equal_nan=True)


@pytest.mark.parametrize("name", ADAPTERS)
def test_scores_are_the_same_bits_alone_and_among_others(name, data):
    fitted, users = make_model(name, **QUICK[name]).fit(data), list(data.users)
    lists = [[data.items[k], data.items[2 * k + 1]] for k in range(9)]
    alone = np.vstack([fitted.score([user]) for user in users])
    assert np.array_equal(alone, fitted.score(users), equal_nan=True)
    assert np.array_equal(alone[:5], fitted.score(users[:5]), equal_nan=True)
    new = np.vstack([fitted.score_profiles([each]) for each in lists])
    assert np.array_equal(new, fitted.score_profiles(lists))


def test_users_with_the_same_items_get_the_same_which_is_the_mean_of_what_was_learned():
    users = [u for u in range(8) for _ in range(2)]
    data = Interactions.from_pairs(users, list("ababbcbccdcddada"))
    model = make_model("bpr", factors=2, iterations=5).fit(data)
    found = model.score([0, 1])
    assert np.array_equal(found[0], found[1])
    theirs = _of_implicit(
        lambda: _bpr(factors=2, iterations=5, learning_rate=0.05, num_threads=1, random_state=0),
        data,
        np.array([0, 1]),
    )
    assert np.abs(theirs[0] - theirs[1]).max() > 1e-3
    assert found[0] == pytest.approx(theirs.mean(axis=0), abs=1e-6)


def _bpr(**parameters):
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    return BayesianPersonalizedRanking(**parameters)


def _tastes():
    """Two tastes of twenty items each, so that what is right for whom is known."""
    rng = np.random.default_rng(0)
    taste = np.arange(200)[:, None] % 2 == np.arange(40)[None, :] % 2
    return Interactions.from_matrix(rng.random((200, 40)) < np.where(taste, 0.8, 0.02))


@pytest.mark.parametrize("name", ADAPTERS)
def test_people_who_were_not_there_are_served_by_their_profile(name):
    fold = strong_generalization(_tastes(), order="random", seed=2)[0]
    assert fold.folded_in
    # Two tastes need two factors, and more would learn the noise.
    fitting = {"als": {"factors": 2, "reg": 1.0}, "bpr": {"factors": 2}}
    found = evaluate_fold(make_model(name, **QUICK[name] | fitting.get(name, {})), fold, ["auc"])
    plain = evaluate_fold(Popularity(), fold, ["auc"])
    assert found.means["auc"] > 0.85 > plain.means["auc"] + 0.1


@pytest.mark.parametrize("name", ADAPTERS)
def test_blas_keeps_its_threads_and_nothing_is_printed_or_warned_of(name, data, capfd):
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    make_model(name, **QUICK[name]).fit(data).recommend(n=2)
    after = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert after[: len(before)] == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("als", {"factors": 0}, "factors of ImplicitAls must be a whole number, 1 or more, not 0"),
        ("als", {"reg": -1}, "reg of ImplicitAls must be a finite number, 0 or more, not -1"),
        (
            "bpr",
            {"iterations": 2.5},
            "iterations of ImplicitBpr must be a whole number, 1",
        ),
        ("logistic-mf", {"negatives": 0}, "negatives of ImplicitLogistic must be"),
        ("rp3beta", {"beta": "0.5"}, "beta of IrspackRP3beta must be a number"),
    ],
)
def test_parameters_that_make_no_sense_are_told(name, params, said, data):
    with pytest.raises((ParameterError, ParameterTypeError), match=said):
        make_model(name, **params).fit(data)


@pytest.mark.parametrize("name", ADAPTERS)
def test_without_the_extra_the_error_has_the_command(name):
    library = "irspack" if name == "rp3beta" else "implicit"
    program = (
        f"import sys; sys.modules[{library!r}] = None\n"
        f"from boolrank.models import make_model\nmake_model({name!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"boolrank.errors.{MissingExtraError.__name__}: ")
    assert last.endswith("is not installed; pip install 'boolrank[compare]'")
