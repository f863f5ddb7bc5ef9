"""scikit-learn's conventions: clone, parameters, searches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.validation import check_is_fitted

from boolrank import (
    Conjunctive,
    Disjunctive,
    Interactions,
    KernelRanker,
    NotFittedError,
    ParameterError,
    evaluate,
    hold_out,
    paper_protocol,
    synthetic,
)
from boolrank.data.protocols import strong_generalization
from boolrank.data.splits import Split
from boolrank.errors import ParameterTypeError
from boolrank.evaluation import masks, scorer


@pytest.fixture(scope="module")
def split() -> Split:
    return paper_protocol(synthetic(120, 60, 1500, seed=1), folds=3)


def test_a_clone_has_the_parameters_and_is_not_fitted(split: Split) -> None:
    model = KernelRanker(Conjunctive(2), reg=0.5, storage="dense", n_threads=1).fit(split.data)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy is not model
    with pytest.raises(NotFittedError):
        copy.recommend()


def test_set_params_returns_the_model_and_raises_for_unknown_parameters() -> None:
    model = KernelRanker("linear")
    assert model.set_params(reg=2.0, kernel="dnf") is model
    assert (model.reg, model.kernel) == (2.0, "dnf")
    with pytest.raises(ParameterError, match="no parameter 'arity'; its parameters: kernel, reg"):
        model.set_params(arity=3)


def test_scikit_learn_sees_whether_a_model_is_fitted(split: Split) -> None:
    model = KernelRanker("linear")
    assert not is_classifier(model)
    assert not is_regressor(model)
    with pytest.raises(ValueError, match="not fitted yet"):
        check_is_fitted(model)
    check_is_fitted(model.fit(split.data))


@pytest.mark.parametrize("metric", ["auc", "ndcg@5", "coverage@3"])
def test_a_grid_search_equals_evaluate_on_the_same_folds(split: Split, metric: str) -> None:
    grid = {"kernel": ["linear", Disjunctive(4)], "reg": [0.1, 10.0]}
    search = GridSearchCV(KernelRanker(), grid, scoring=scorer(metric), cv=masks(split))
    search.fit(split.data)
    found = search.cv_results_
    assert len(found["params"]) == 4
    means = []
    for place, params in enumerate(found["params"]):
        ours = evaluate(KernelRanker(**params), split, [metric])
        theirs = [found[f"split{k}_test_score"][place] for k in range(3)]
        assert theirs == [fold.means[metric] for fold in ours.folds]
        means.append(ours.means[metric])
    assert search.best_score_ == pytest.approx(max(means), rel=1e-15)
    assert search.best_params_ == found["params"][int(np.argmax(means))]
    best = KernelRanker(**search.best_params_).fit(split.data)
    assert np.array_equal(search.best_estimator_.score(), best.score())


def test_models_scorers_and_masks_can_be_pickled() -> None:
    split = hold_out(synthetic(60, 40, 600, seed=2), seed=3)
    parts = KernelRanker("linear"), split.data, scorer("auc"), masks(split)
    model, data, scoring, cv = pickle.loads(pickle.dumps(parts))  # noqa: S301 - our own, just made
    score = cross_val_score(model, data, scoring=scoring, cv=cv)
    assert score.tolist() == [evaluate(KernelRanker("linear"), split, "auc").means["auc"]]


def test_a_mask_selects_interactions_with_their_users_and_items(split: Split) -> None:
    train, test = masks(split)[0]
    chosen = split.data[train]
    fold = split[0]
    assert list(chosen.users) == list(fold.train.users)
    assert list(chosen.items) == list(fold.train.items)
    rows = np.repeat(np.arange(len(split.data.users)), np.diff(split.data.indptr))
    pairs = {(split.data.users[int(u)], split.data.items[int(i)])
             for u, i in zip(rows[test], split.data.indices[test], strict=True)}  # fmt: skip
    tested = split.data[test]
    assert tested.size == len(pairs) == test.sum()
    assert {
        (user, tested.items[int(i)])
        for number, user in enumerate(tested.users)
        for i in tested.rows.row(number)
    } == pairs
    assert tested.time is not None
    assert np.array_equal(tested.time, split.data.time[test])
    assert split.data[np.zeros(split.data.size, bool)].shape == (0, 0)


def test_folds_of_users_are_an_error_with_a_hint(split: Split) -> None:
    search = GridSearchCV(KernelRanker(), {"reg": [1.0]}, scoring=scorer(), cv=KFold(3))
    with pytest.raises(ParameterTypeError, match=r"evaluation\.masks"):
        search.fit(split.data)
    with pytest.raises(ParameterTypeError, match="1,500 truth values"):
        split.data[0]
    unseen = strong_generalization(split.data)
    with pytest.raises(ParameterError, match="not in training"):
        masks(unseen)


def test_the_scorer_negates_a_metric_for_which_lower_is_better(split: Split) -> None:
    model, fold = KernelRanker("linear"), masks(split)[0]
    (score,) = cross_val_score(model, split.data, scoring=scorer("gini@5"), cv=[fold])
    assert score == -evaluate(model, split[0], "gini@5").means["gini@5"]


def test_a_scorer_needs_a_known_metric() -> None:
    with pytest.raises(ParameterError, match="no metric"):
        scorer("accuracy")


def test_a_mask_selects_text_ids_without_times() -> None:
    """Ids that are text, and no times."""
    data = Interactions.from_pairs(["b", "a", "a"], ["tea", "jam", "tea"])
    assert list(data[np.array([False, True, True])].users) == ["a", "b"]
    assert data[np.array([True, False, False])].time is None
