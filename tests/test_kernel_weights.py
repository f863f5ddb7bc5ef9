"""Learned sums of kernels: for the ranker on validation users, and for a classifier by margins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from boolrank import Conjunctive, Disjunctive, KernelRanker, parse_kernel, synthetic
from boolrank.errors import InputError, ParameterError
from boolrank.evaluation import evaluate_fold
from boolrank.kernels.classifier import LearnedKernelClassifier
from boolrank.studies import learn_kernel, validation_fold

KERNELS = ["linear", "disjunctive(8)", "conjunctive(2)"]


@pytest.fixture(scope="module")
def data():
    return synthetic(400, 120, 6_000, seed=4)


@pytest.mark.parametrize("metric", ["auc", "ndcg@10"])
def test_a_sum_is_at_least_as_good_on_validation_as_its_terms(data, metric):
    learned = learn_kernel(data, KERNELS, metric)
    fold = validation_fold(data, "time")
    for kernel, value in learned.values.items():
        alone = evaluate_fold(KernelRanker(kernel), fold, [metric]).means[metric]
        assert value == pytest.approx(alone, abs=1e-12)
    assert learned.value >= max(learned.values.values())
    assert sum(learned.terms.values()) == pytest.approx(1, abs=0.01)
    assert list(learned.terms) == [str(parse_kernel(kernel)) for kernel in KERNELS]


def test_the_scores_that_weights_are_learned_on_are_those_of_the_sum(data):
    """Exactly so where all items of a profile weigh alike."""
    fold = validation_fold(data, "time")
    users, given = list(fold.users), {"reg": 1e12}
    first, second = (
        KernelRanker(text, **given).fit(fold.train).score(users) for text in KERNELS[:2]
    )
    whole = sum(w * parse_kernel(k).normalized() for w, k in zip((0.3, 0.7), KERNELS, strict=False))
    found = KernelRanker(whole, **given).fit(fold.train).score(users)
    assert np.nanmax(np.abs(found - (0.3 * first + 0.7 * second))) < 1e-12 * np.nanmax(
        np.abs(found)
    )


def test_a_sum_that_is_better_than_its_terms_is_found():
    fold = validation_fold(synthetic(2_400, 120, 30_000, seed=4), "time")
    learned = learn_kernel(fold, ["linear", "conjunctive(4)"], "auc", reg=1e12)
    assert all(weight > 0.1 for weight in learned.terms.values())
    assert learned.value > max(learned.values.values()) + 1e-4
    found = evaluate_fold(KernelRanker(learned.kernel, reg=1e12), fold, ["auc"])
    assert found.means["auc"] == pytest.approx(learned.value, abs=1e-12)


def test_margins_favour_a_kernel_that_tells_items_apart(data):
    learned = learn_kernel(data, ["linear", "conjunctive(12)"], "margin")
    assert learned.terms["linear"] > learned.terms["conjunctive(12)"]
    assert np.isnan(learned.value)
    assert learned.values["linear"] > 0


def test_sums_are_kernels_with_text_and_are_learned_alike_on_any_number_of_threads(data):
    learned = [learn_kernel(data, KERNELS, "margin", n_threads=n) for n in (1, 2)]
    assert learned[0].kernel == learned[1].kernel == parse_kernel(str(learned[0].kernel))
    KernelRanker(learned[0].kernel, storage="compressed").fit(data)


def test_a_sum_of_no_kernels_is_refused(data):
    with pytest.raises(ParameterError, match="a sum needs kernels; name one at least"):
        learn_kernel(data, [])


def test_equal_kernels_share_the_weight_however_many_there_are(data):
    kernels = [k * parse_kernel("linear") for k in range(1, 121)]
    learned = learn_kernel(data, kernels, "margin")
    assert set(learned.terms.values()) == {0.00833}
    assert learn_kernel(data, ["linear"]).kernel == parse_kernel("linear")
    with pytest.raises(TypeError, match="learn_kernel takes Interactions, not list"):
        learn_kernel([1, 2])


def test_a_fold_of_one_user_will_do_and_one_of_none_is_refused(data):
    fold = validation_fold(data, "time")

    def part(size):
        users = fold.users.chosen(np.arange(len(fold.users)) < size)
        known, relevant = (each.part(0, size) for each in (fold.known, fold.relevant))
        return replace(fold, users=users, known=known, relevant=relevant)

    learned = learn_kernel(part(1), KERNELS, "ndcg@10")
    assert learned.value >= max(learned.values.values())
    for metric in ("auc", "margin"):
        with pytest.raises(InputError, match="no validation user has held-out items"):
            learn_kernel(part(0), KERNELS, metric)


def concept(X):
    """x1 x2 or x3 x4 or x5 x6."""
    return (X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3]) | (X[:, 4] & X[:, 5])


def test_a_classifier_is_as_good_as_the_best_of_its_kernels():
    rng = np.random.default_rng(5)
    X, held_out = ((rng.random((size, 12)) < 0.4).astype(int) for size in (600, 1_000))
    kernels = [Conjunctive(arity) for arity in (1, 2, 3, 4)]
    model = LearnedKernelClassifier(kernels).fit(X, concept(X))
    singles = [
        SVC(kernel=kernel.normalized(), C=10.0)
        .fit(X, concept(X))
        .score(held_out, concept(held_out))
        for kernel in kernels
    ]
    assert model.score(held_out, concept(held_out)) >= max(singles) - 0.005
    assert min(singles) < 0.9
    assert model.weights_[0] < 0.1  # single variables separate the classes least
    assert model.weights_.sum() == pytest.approx(1)


def test_a_classifier_follows_the_conventions_and_tells_three_classes():
    rng = np.random.default_rng(6)
    X = (rng.random((300, 8)) < 0.5).astype(int)
    names = np.array(["none", "one", "both"])[X[:, 0] + X[:, 1]]
    model = clone(LearnedKernelClassifier([Disjunctive(2), Conjunctive(2)], C=100.0))
    assert (model.fit(X, names).predict(X) == names).mean() > 0.98
    assert model.decision_function(X).shape == (300, 3)
    with pytest.raises(ValueError, match="number of classes"):
        model.fit(X, np.zeros(300, int))


def test_a_classifier_without_anything_to_learn_from():
    with pytest.raises(NotFittedError):
        LearnedKernelClassifier().predict([[1, 0]])
    with pytest.raises(ValueError, match="at least one"):
        LearnedKernelClassifier([]).fit([[1, 0], [0, 1]], [0, 1])
    alike = LearnedKernelClassifier(["linear", "conjunctive(2)"]).fit([[1, 1]] * 4, [0, 1, 0, 1])
    assert alike.weights_.tolist() == [0.5, 0.5]
