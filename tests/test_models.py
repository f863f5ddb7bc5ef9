"""What one would pick instead of the ranker: under the same contract, and what it should be."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from boolrank import (
    InputError,
    Interactions,
    ModelFileError,
    NotFittedError,
    ParameterError,
    Popularity,
    UnknownIdError,
    evaluate,
    paper_protocol,
    synthetic,
)
from boolrank.data.protocols import strong_generalization
from boolrank.data.rows import Rows
from boolrank.errors import MatrixTooLargeError, ParameterTypeError
from boolrank.models import (
    MODELS,
    ModelEntry,
    Recommender,
    Scorer,
    make_model,
    param,
    scorer,
)
from boolrank.storage.state import array
from boolrank.testing import check_recommender


@pytest.fixture(scope="module")
def data():
    return synthetic(120, 60, 1_500, 3)


@pytest.fixture(scope="module")
def model(data):
    return Popularity().fit(data)


def test_popularity_keeps_the_contract():
    check_recommender(Popularity(), n_users=20, n_items=12)
    check_recommender(Popularity(), 1)


def test_popularity_ranks_by_the_number_of_users_and_then_by_id(data, model):
    counts = dict.fromkeys(data.items, 0)
    for user in range(len(data.users)):
        for item in data.rows.row(user):
            counts[data.items[int(item)]] += 1
    order = sorted(counts, key=lambda item: (-counts[item], item))
    found = model.recommend(n=7)
    for user, items in enumerate(found.lists()):
        seen = {data.items[int(item)] for item in data.rows.row(user)}
        assert items == [item for item in order if item not in seen][:7]
    assert model.recommend([data.users[0]], n=60, exclude_seen=False).lists() == [order]


def _pairs(fold):
    """Each test user's relevant and other candidates: how many users they have in training."""
    train = fold.train
    counts = np.zeros(len(train.items))
    for user in range(len(train.users)):
        for item in train.rows.row(user):
            counts[item] += 1
    for user in range(len(fold.users)):
        known, relevant = set(fold.known.row(user)), set(fold.relevant.row(user))
        others = [i for i in range(len(train.items)) if i not in known | relevant]
        yield counts[sorted(relevant)], counts[others]


def test_popularitys_auc_is_that_of_counting_pairs(data):
    split = paper_protocol(data, seed=1)
    found = evaluate(Popularity(), split, ["auc", "auc_ties"])
    for fold, result in zip(split, found.folds, strict=True):
        for k, (good, others) in enumerate(_pairs(fold)):
            if not len(good) or not len(others):
                assert np.isnan(result.values["auc"][k])
                continue
            higher = sum(g > o for g in good for o in others) / (len(good) * len(others))
            assert result.values["auc"][k] == pytest.approx(higher, rel=1e-12)
            truth = np.repeat([1, 0], [len(good), len(others)])
            half = roc_auc_score(truth, np.concatenate([good, others]))
            assert result.values["auc_ties"][k] == pytest.approx(half, rel=1e-12)


def test_unseen_users_get_the_same_by_their_profiles(data, model):
    found = evaluate(Popularity(), strong_generalization(data, seed=2), ["auc"])
    assert 0.5 < found.means["auc"] < 1
    items = [data.items[0], data.items[3]]
    assert np.array_equal(model.score_profiles([items])[0], data.popularity())
    assert np.isnan(model.score_profiles([[]])).all()


def test_blocks_of_users_change_nothing(data, model, monkeypatch):
    whole = model.recommend(n=5)
    monkeypatch.setattr(scorer, "_BLOCK", 7 * len(data.items))
    parts = model.recommend(n=5)
    assert whole.lists() == parts.lists()
    assert np.array_equal(whole.scores, parts.scores, equal_nan=True)


LARGE = [*MODELS, "item-knn"]  # the second one with few neighbours


@pytest.mark.parametrize("at", range(len(LARGE)), ids=LARGE)
def test_a_user_with_200_000_items_is_refused_at_once_or_costs_little(at):
    """40,000,000,000 pairs of items: no model starts to count them."""
    name, params = LARGE[at], {}
    if at == len(MODELS):
        params = {"neighbours": 10}
    elif name in {"als", "bpr", "logistic-mf"}:
        params = {"factors": 2, "iterations": 1}
    model, i = make_model(name, **params), np.arange(200_000)
    # No two items have the same users.
    users = np.concatenate((np.zeros_like(i), 1 + i // 50, 5000 + i % 50))
    data, start = Interactions.from_pairs(users, np.tile(i, 3)), time.process_time()
    if name in {"popularity", "als", "bpr", "logistic-mf"}:
        model.fit(data).recommend([0, 1], n=3, exclude_seen=False)
    else:
        with pytest.raises(MatrixTooLargeError, match="leave out"):
            model.fit(data)
    assert time.process_time() - start < 20


@pytest.mark.parametrize("name", ["ease", "lrec", "kernel-ease"])
def test_a_user_with_200_000_equal_items_costs_little(name):
    """They are one row of the weights, and their pairs are never visited."""
    i = np.arange(200_000)
    data = Interactions.from_pairs(np.append(np.zeros_like(i), [1, 1, 2, 2]), [*i, 0, 1, 0, 2])
    start = time.process_time()
    model = make_model(name).fit(data)
    assert model.recommend([0, 1], n=3).lists()[1] == [2, 3, 4]
    model.recommend([0], n=3, exclude_seen=False)
    assert time.process_time() - start < 20


def test_mistakes_are_said(data, model):
    with pytest.raises(NotFittedError, match=r"this Popularity is not fitted; call fit"):
        Popularity().recommend()
    with pytest.raises(ParameterTypeError, match="Popularity fits Interactions, not list"):
        Popularity().fit([1, 2])
    with pytest.raises(ParameterError, match="Popularity has no parameter 'reg'"):
        Popularity().set_params(reg=1)
    with pytest.raises(ParameterError, match="n must be a whole number"):
        model.recommend(n=1.5)
    with pytest.raises(UnknownIdError):
        model.recommend_profile(["no such item"])
    assert repr(Popularity()) == "Popularity(), not fitted"
    assert repr(model) == f"Popularity() on {data!r}"
    assert Popularity().get_params() == {}


@dataclass(frozen=True, eq=False)
class NearestScorer(Scorer):
    """Cosines of items, added up over a profile."""

    kind = "nearest"
    near: np.ndarray = array("float64", "items", "items")

    @property
    def items(self):
        return len(self.near)

    def scores(self, profiles: Rows):
        return np.add.reduceat(self.near[profiles.indices], profiles.indptr[:-1], axis=0)


@dataclass(repr=False, eq=False)
class Nearest(Recommender):
    """A second model on the same base."""

    scorers = (NearestScorer,)
    power: float = param(1.0, low=0)

    def _learn(self, data, overlaps):  # noqa: ARG002 - as the base has it
        seen = data.matrix().toarray()
        norms = np.sqrt(np.maximum(seen.sum(axis=0), 1))
        near = ((seen.T @ seen) / np.outer(norms, norms)).astype(float) ** self.power
        return NearestScorer(near)


def test_a_model_needs_what_it_learns_and_how_it_scores(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(MODELS, "nearest", ModelEntry("nearest", f"{__name__}:Nearest", "a test"))
        check_recommender(Nearest(power=2.0), n_users=20, n_items=12)
    assert Nearest().set_params(power=3.0).get_params() == {"power": 3.0}
    data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    assert Nearest().fit(data).recommend([3], n=1).lists() == [["a"]]
    with pytest.raises(ParameterError, match="power of Nearest must be"):
        Nearest(power=-1.0).fit(data)
    with pytest.raises(ModelFileError, match="not in the table of models"):
        Nearest().fit(data).save("nowhere")


def test_a_model_says_in_its_class_what_it_is_saved_as():
    def define(scorers):
        return type("Made", (Recommender,), scorers | {"_learn": Nearest._learn})

    with pytest.raises(ParameterTypeError, match=r"Made has no scorers; write scorers: ClassVar"):
        define({})
    unnamed = type("Unnamed", (Scorer,), {"items": 1, "scores": NearestScorer.scores})
    with pytest.raises(ParameterTypeError, match=r"Unnamed has no kind; write kind: ClassVar"):
        define({"scorers": (unnamed,)})


def test_a_model_that_learns_something_else_than_a_scorer_is_named(monkeypatch):
    monkeypatch.setattr(Nearest, "_learn", lambda *_: None)
    with pytest.raises(ParameterTypeError, match="_learn of Nearest returns NoneType, not a Scor"):
        Nearest().fit(Interactions.from_pairs([1, 2], ["a", "b"]))


@pytest.mark.parametrize("ask", ["score", "recommend"])
def test_scores_of_another_shape_are_an_error(monkeypatch, ask):
    """One row would otherwise be that of everybody."""
    monkeypatch.setattr(NearestScorer, "scores", lambda self, _: self.near[0])
    fitted = Nearest().fit(Interactions.from_pairs([1, 2], ["a", "b"]))
    with pytest.raises(
        InputError, match=r"NearestScorer gives scores of shape \(2,\) for 2 profil"
    ):
        getattr(fitted, ask)()
