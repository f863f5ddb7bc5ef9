"""Metrics equal scikit-learn, ir-measures and hand-computed values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from boolrank import InputError, Interactions, ParameterError
from boolrank.data.rows import Rows
from boolrank.data.vocabulary import Vocabulary
from boolrank.errors import ParameterTypeError
from boolrank.evaluation.metrics import METRICS, Metric, measure, parse_metric
from boolrank.evaluation.rankings import Rankings

DOCS = Path(__file__).parent.parent / "docs"
ALL = [name if row.cut != "needed" else f"{name}@3" for name, row in METRICS.items()]

# Ours, and the same as ir-measures names it.
PEERS = {
    "map": "AP",
    "map@{k}": "AP@{k}",
    "ndcg": "nDCG",
    "ndcg@{k}": "nDCG@{k}",
    "precision@{k}": "P@{k}",
    "recall@{k}": "R@{k}",
    "hit_rate@{k}": "Success@{k}",
    "mrr": "RR",
    "mrr@{k}": "RR@{k}",
}


def _rows(lists: list[list[int]]) -> Rows:
    ends = np.cumsum([0, *(len(each) for each in lists)])
    return Rows(ends.astype(np.int64), np.array([i for each in lists for i in each], np.int32))


def _train(lists: list[list[int]], items: int) -> Interactions:
    """Return the training data of users with these items."""
    users = Vocabulary(np.arange(len(lists)), "user")
    return Interactions(users, Vocabulary(np.arange(items), "item"), *_rows(lists))


def _random(seed: int, users: int = 30, items: int = 40, levels: int | None = None):
    """Scores (all distinct, or of a few levels), what is known and what is relevant."""
    rng = np.random.default_rng(seed)
    if levels is None:
        scores = rng.permuted(np.tile(np.arange(items) / 7.0, (users, 1)), axis=1)
    else:
        scores = rng.integers(0, levels, (users, items)).astype(float)
    known, relevant = [], []
    for _ in range(users):
        some = rng.permutation(items)
        a, b = rng.integers(0, 12), rng.integers(1, 20)
        known.append(sorted(some[:a].tolist()))
        relevant.append(sorted(some[a : a + b].tolist()))
    return scores, known, relevant


def _candidates(known: list[int], items: int) -> list[int]:
    return sorted(set(range(items)) - set(known))


@given(st.integers(0, 10**6))
def test_auc_equals_scikit_learn(seed: int) -> None:
    scores, known, relevant = _random(seed, users=5)
    found = measure(
        Rankings.from_scores(scores, _rows(relevant), _rows(known)), ["auc", "auc_ties"]
    )
    for user, (own, wanted) in enumerate(zip(known, relevant, strict=True)):
        some = _candidates(own, scores.shape[1])
        expected = roc_auc_score(np.isin(some, wanted), scores[user, some])
        assert found["auc"][user] == pytest.approx(expected, abs=1e-12)
        assert found["auc_ties"][user] == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_auc_with_ties_equals_scikit_learn_and_strict_auc_its_definition(seed: int, levels: int):
    scores, known, relevant = _random(seed, users=5, levels=levels)
    found = measure(
        Rankings.from_scores(scores, _rows(relevant), _rows(known)), ["auc", "auc_ties"]
    )
    for user, (own, wanted) in enumerate(zip(known, relevant, strict=True)):
        some = np.array(_candidates(own, scores.shape[1]))
        expected = roc_auc_score(np.isin(some, wanted), scores[user, some])
        assert found["auc_ties"][user] == pytest.approx(expected, abs=1e-12)
        others = scores[user, np.setdiff1d(some, wanted)]
        higher = scores[user, wanted][:, None] > others[None, :]
        assert found["auc"][user] == pytest.approx(higher.mean(), abs=1e-12)


@pytest.mark.parametrize("k", [1, 5, 10, 60])
def test_metrics_equal_ir_measures(k: int) -> None:
    scores, known, relevant = _random(k, users=60)
    rankings = Rankings.from_scores(scores, _rows(relevant), _rows(known))
    qrels = [
        ir_measures.Qrel(str(u), str(i), 1) for u, wanted in enumerate(relevant) for i in wanted
    ]
    run = [
        ir_measures.ScoredDoc(str(u), str(i), scores[u, i])
        for u, own in enumerate(known)
        for i in _candidates(own, scores.shape[1])
    ]
    peers = {ours.format(k=k): theirs.format(k=k) for ours, theirs in PEERS.items()}
    found = measure(rankings, list(peers))
    measures = {ours: ir_measures.parse_measure(theirs) for ours, theirs in peers.items()}
    values = {
        (row.measure, row.query_id): row.value
        for row in ir_measures.iter_calc(list(measures.values()), qrels, run)
    }
    for ours, theirs in measures.items():
        expected = [values[theirs, str(u)] for u in range(len(scores))]
        assert np.allclose(found[ours], expected, rtol=0, atol=1e-12), ours


@given(st.integers(0, 10**6), st.sampled_from([None, 1, 3]))
def test_lists_and_scores_give_the_same_values(seed: int, levels: int | None) -> None:
    scores, known, relevant = _random(seed, users=8, levels=levels)
    whole = Rankings.from_scores(scores, _rows(relevant), _rows(known), n=40)
    lists = Rankings.from_lists(whole.top, _rows(relevant))
    names = [name for name in ALL if METRICS[name.partition("@")[0]].value not in _NOT_OF_LISTS]
    a, b = (
        measure(
            replace(each, train=_train([[*range(40)]], 40)),
            names,
        )
        for each in (whole, lists)
    )
    for name in names:
        assert np.array_equal(a[name], b[name], equal_nan=True), name


_NOT_OF_LISTS = {METRICS["auc"].value, METRICS["auc_ties"].value}


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_ties_are_ranked_by_item_number(seed: int, levels: int) -> None:
    scores, known, relevant = _random(seed, users=4, levels=levels)
    found = Rankings.from_scores(scores, _rows(relevant), _rows(known), n=7)
    for user, own in enumerate(known):
        order = sorted(_candidates(own, 40), key=lambda i: (-scores[user, i], i))
        ranks = sorted(order.index(i) for i in relevant[user])
        assert found.ranks[found.indptr[user] : found.indptr[user + 1]].tolist() == ranks
        assert found.top[user].tolist() == order[:7]


# Three users and five items: 0 and 2 known to the second, the third has nothing to be found.
HAND_SCORES = np.array(
    [[0.9, 0.8, 0.7, 0.6, 0.5], [9.0, 0.1, 9.0, 0.1, 0.3], [1.0, 2.0, 3.0, 4.0, 5.0]]
)
HAND_KNOWN = [[], [0, 2], [4]]
HAND_RELEVANT = [[0, 2, 4], [1], []]
LOG3, ROOT2, THIRD = math.log2(3), math.sqrt(2), 1 - (2 / 4 + 4 / 32**0.5) / 3
NAN = math.nan
HAND = {
    # places 1, 3, 5 of 5; place 2 of 3 (tied with the third: half of a pair, and a wrong one)
    "auc": [(2 + 1 + 0) / 6, 0, NAN],
    "auc_ties": [(2 + 1 + 0) / 6, 0.5 / 2, NAN],
    "map": [(1 + 2 / 3 + 3 / 5) / 3, 1 / 2, NAN],
    "map@3": [(1 + 2 / 3) / 3, 1 / 2, NAN],
    "capped_map@2": [1 / 2, 1 / 2, NAN],
    "ndcg@3": [(1 + 1 / 2) / (1 + 1 / LOG3 + 1 / 2), 1 / LOG3, NAN],
    "ndcg@2": [1 / (1 + 1 / LOG3), 1 / LOG3, NAN],
    "precision@2": [1 / 2, 1 / 2, NAN],
    "precision@10": [3 / 10, 1 / 10, NAN],  # fewer candidates than 10
    "recall@2": [1 / 3, 1, NAN],
    "capped_recall@2": [1 / 2, 1, NAN],
    "hit_rate@1": [1, 0, NAN],
    "mrr": [1, 1 / 2, NAN],
    "mrr@1": [1, 0, NAN],
    # first two: 0 and 1; 4 and 1; 3 and 2. Users of the items: 1, 2, 4, 4, 8 of 8
    "novelty@2": [(3 + 2) / 2, (0 + 2) / 2, (1 + 1) / 2],
    "novelty@10": [(3 + 2 + 1 + 1 + 0) / 5, (2 + 1 + 0) / 3, (3 + 2 + 1 + 1) / 4],
    "diversity@1": [NAN, NAN, NAN],
    "diversity@2": [1 - 1 / ROOT2, 1 - 2 / 4, 1 - 0],
    "diversity@3": [1 - (1 / ROOT2 + 1 / 2 + 2 / 8**0.5) / 3, THIRD, 1 - 2 / 8**0.5 / 3],
}
# The users of the items in training, as rows.
HAND_TRAIN = [[0, 1, 2, 4], [1, 2, 4], [2, 4], [2, 4], [3, 4], [3, 4], [3, 4], [3, 4]]
# Times among the first two: 1, 2, 1, 1, 1; among the first: items 0, 4 and 3 once each.
HAND_MODEL = {
    "coverage@2": 1.0,
    "coverage@1": 3 / 5,
    "gini@1": (0 * -4 + 0 * -2 + 1 * 0 + 1 * 2 + 1 * 4) / (5 * 3),
    "gini@2": (1 * -4 + 1 * -2 + 0 + 1 * 2 + 2 * 4) / (5 * 6),
    "top10_share@2": 1.0,
}


@pytest.fixture
def hand() -> Rankings:
    rankings = Rankings.from_scores(HAND_SCORES, _rows(HAND_RELEVANT), _rows(HAND_KNOWN), n=10)
    return replace(rankings, train=_train(HAND_TRAIN, 5))


@pytest.mark.parametrize("name", HAND)
def test_user_metrics_equal_hand_computed_values(hand: Rankings, name: str) -> None:
    assert measure(hand, [name])[name] == pytest.approx(HAND[name], abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("name", HAND_MODEL)
def test_model_metrics_equal_hand_computed_values(hand: Rankings, name: str) -> None:
    assert measure(hand, [name])[name] == pytest.approx(HAND_MODEL[name], abs=1e-15)


def test_a_row_of_the_table_is_a_metric_with_its_cut(hand: Rankings) -> None:
    found = measure(hand, METRICS["ndcg"].at(3))
    assert found["ndcg@3"] == pytest.approx(HAND["ndcg@3"], nan_ok=True)
    with pytest.raises(ParameterError, match="recall needs a cut"):
        measure(hand, METRICS["recall"])
    for k in (0, -1, 2.5):
        with pytest.raises(ParameterError, match="k of ndcg must be a whole number, 1 or more"):
            METRICS["ndcg"].at(k)


def test_every_metric_has_hand_computed_values() -> None:
    assert {name.partition("@")[0] for name in HAND | HAND_MODEL} == set(METRICS)


def test_the_share_of_ten_items_counts_places() -> None:
    """Nine users share item 0; their other items and the two of the last user are once each."""
    lists = [[0, user] for user in range(1, 10)] + [[10, 11]]
    rankings = Rankings.from_lists(lists, _rows([[0]] * 10))
    rankings = replace(rankings, train=_train([[*range(12)]], 12))
    found = measure(rankings, ["top10_share@1", "top10_share@2"])
    assert found == {"top10_share@1": 1.0, "top10_share@2": (9 + 9) / 20}


def test_auc_is_undefined_if_all_candidates_are_relevant() -> None:
    rankings = Rankings.from_scores(np.ones((1, 3)), _rows([[1, 2]]), _rows([[0]]))
    found = measure(rankings, ["auc", "auc_ties", "mrr"])
    assert np.isnan(found["auc"][0])
    assert np.isnan(found["auc_ties"][0])
    assert found["mrr"] == [1.0]


def test_empty_lists_are_undefined_and_not_an_error() -> None:
    rankings = Rankings.from_lists(np.full((2, 3), -1), _rows([[0], [1]]))
    rankings = replace(rankings, train=_train([[0], [1]], 2))
    found = measure(rankings, ["gini@3", "coverage@3", "novelty@3", "mrr", "diversity@3"])
    assert np.isnan(found["diversity@3"]).all()
    assert np.isnan(found["gini@3"])
    assert found["coverage@3"] == 0
    assert np.isnan(found["novelty@3"]).all()
    assert found["mrr"].tolist() == [0, 0]


def test_gini_is_0_for_even_and_near_1_for_uneven_exposure() -> None:
    even = Rankings.from_lists([[0], [1], [2]], _rows([[], [], []]))
    even = replace(even, train=_train([[0, 1, 2]], 3))
    assert measure(even, ["gini@1"])["gini@1"] == 0
    uneven = replace(even, top=np.zeros((3, 1), np.int32), train=_train([[0]], 1000))
    assert measure(uneven, ["gini@1"])["gini@1"] == pytest.approx(0.999)


@given(st.integers(0, 10**6))
def test_gini_is_half_the_mean_difference_relative_to_the_mean(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(9)[:4] for _ in range(12)])
    some = replace(Rankings.from_lists(lists, _rows([[]] * 12)), train=_train([[*range(9)]], 9))
    counts = np.bincount(lists[:, :3].ravel(), minlength=9)
    apart = np.abs(counts[:, None] - counts[None, :]).mean()
    found = measure(some, ["gini@3", "coverage@3"])
    assert found["gini@3"] == pytest.approx(apart / (2 * counts.mean()), abs=1e-12)
    assert found["coverage@3"] == (counts > 0).mean()


def test_items_with_score_minus_infinity_rank_last_and_are_not_listed() -> None:
    scores = np.array([[-np.inf, 0.0, np.inf, -np.inf]])
    found = Rankings.from_scores(scores, _rows([[0, 2]]))
    assert found.top[0, :4].tolist() == [2, 1, -1, -1]
    assert measure(found, ["auc"])["auc"].tolist() == [0.5]


def test_results_are_bit_identical_for_any_number_of_threads() -> None:
    scores, known, relevant = _random(1, users=333, levels=9)
    one, two = (
        measure(
            replace(
                Rankings.from_scores(scores, _rows(relevant), _rows(known), n_threads=n),
                train=_train([[*range(k, 40)] for k in range(40)], 40),
            ),
            ALL,
            n_threads=n,
        )
        for n in (1, 2)
    )
    for name in ALL:
        assert np.array_equal(one[name], two[name], equal_nan=True), name


def test_joined_blocks_equal_the_whole() -> None:
    scores, known, relevant = _random(5, users=31)
    whole = Rankings.from_scores(scores, _rows(relevant), _rows(known))
    parts = [
        Rankings.from_scores(scores[a:b], _rows(relevant).part(a, b), _rows(known).part(a, b))
        for a, b in ((0, 10), (10, 11), (11, 31))
    ]
    joined = Rankings.joined(parts)
    for name in ("indptr", "ranks", "top", "strict", "half"):
        assert np.array_equal(getattr(whole, name), getattr(joined, name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("acu", "did you mean 'auc'?"),
        ("ndgc@10", "did you mean 'ndcg'?"),
        ("zzz", "there are auc, auc_ties"),
        ("precision", "write precision@10"),
        ("auc@10", "write auc without @10"),
        ("ndcg@0", "is written as"),
        ("ndcg@-1", "is written as"),
        ("ndcg@ten", "is written as"),
        ("", "is written as"),
    ],
)
def test_a_wrong_metric_is_an_error_with_a_hint(text: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_metric(text)
    assert message in str(caught.value)


def test_names_of_metrics_ignore_case_spaces_and_hyphens() -> None:
    written = ["nDCG@10", " Hit-Rate @ 5", "MRR"]
    assert [str(parse_metric(text)) for text in written] == ["ndcg@10", "hit_rate@5", "mrr"]
    rankings = Rankings.from_lists([[0, 1]], _rows([[1]]))
    assert list(measure(rankings, "mrr, precision@1,mrr")) == ["mrr", "precision@1"]


def _filled(rankings: Rankings, k: int) -> NDArray[np.float64]:
    """Share of places that have an item."""
    return (rankings.top[:, :k] >= 0).mean(axis=1)


def _best_rank(rankings: Rankings) -> NDArray[np.float64]:
    return np.array([part.min() for part in np.split(rankings.ranks, rankings.indptr[1:-1])], float)


_best_rank.higher_is_better = False


def _users(rankings: Rankings) -> float:
    return len(rankings)


def test_a_function_is_a_metric() -> None:
    rankings = Rankings.from_lists([[0, 1], [2, -1]], _rows([[1], [2]]))
    of_model = Metric.of(_users, per_user=False)
    found = measure(rankings, [Metric.of(_filled).at(2), _best_rank, of_model, "mrr"])
    assert list(found) == ["_filled@2", "_best_rank", "_users", "mrr"]
    assert found["_filled@2"].tolist() == [1.0, 0.5]
    assert found["_best_rank"].tolist() == [1.0, 0.0]
    assert found["_users"] == 2.0
    assert not parse_metric(_best_rank).higher_is_better
    assert parse_metric(_users) == parse_metric(_users), "as names are"


def test_a_function_may_be_registered_twice_and_given_beside_its_name(monkeypatch) -> None:
    """A module may be imported again, as in a notebook or a worker process."""
    rankings = Rankings.from_lists([[0, 1], [2, -1]], _rows([[1], [2]]))
    for _ in range(2):
        monkeypatch.setitem(METRICS, "_best_rank", Metric.of(_best_rank))
    assert list(measure(rankings, ["_best_rank", _best_rank])) == ["_best_rank"]
    row = Metric.of(_users, per_user=False, version="2")
    monkeypatch.setitem(METRICS, "_users", row)
    assert parse_metric(_users) == row, "a function is what it was registered as"
    assert list(measure(rankings, ["_users", _users])) == ["_users"]


def test_another_function_under_a_registered_name_is_an_error(monkeypatch) -> None:
    def defined() -> Callable[..., Any]:
        def _best_rank(rankings: Rankings) -> NDArray[np.float64]:
            return np.zeros(len(rankings))

        return _best_rank

    monkeypatch.setitem(METRICS, "_best_rank", Metric.of(_best_rank))
    with pytest.raises(ParameterError, match="a metric '_best_rank' already; rename the function"):
        Metric.of(defined())
    monkeypatch.setitem(METRICS, "_best_rank", Metric("_best_rank", "", "none", defined()))
    Metric.of(defined())  # of the same module that runs again


def _width(rankings: Rankings) -> NDArray[np.float64]:
    return np.full(len(rankings), float(rankings.top.shape[1]))


def test_a_function_sees_as_many_items_as_its_cut_whatever_the_other_metrics_are() -> None:
    def seen(rankings: Rankings, k: int) -> NDArray[np.float64]:  # noqa: ARG001
        return _width(rankings)

    rankings = Rankings.from_lists([[0, 1, 2], [2, 1, -1]], _rows([[1], [2]]))
    found = measure(rankings, [Metric.of(seen).at(k) for k in (1, 2, 9)])
    assert [values.tolist() for values in found.values()] == [[1, 1], [2, 2], [3, 3]]


def test_only_concentration_is_better_if_lower() -> None:
    lower = [name for name, row in METRICS.items() if not row.higher_is_better]
    assert lower == ["gini", "top10_share"]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda r: measure(r, [lambda _: 0.0]), ParameterError, "define it with def"),
        (lambda r: measure(r, [_filled]), ParameterError, "_filled needs a cut"),
        (lambda r: measure(r, [Metric.of(_best_rank).at(3)]), ParameterError, "without @3"),
        (lambda r: measure(r, [_users]), InputError, r"shape \(\) instead of \(1,\)"),
        (lambda r: measure(r, [3]), ParameterTypeError, "a name or a function, not 3"),
        (lambda r: measure(r, [_width]), ParameterTypeError, "cannot read rankings.top; add a"),
        (
            lambda r: measure(r, [Metric.of(_users), Metric.of(_users, False)]),
            ParameterError,
            "two functions have the same name",
        ),
        (lambda _: Metric.of(_named_auc()), ParameterError, "there is a metric 'auc' already"),
    ],
)
def test_a_function_that_is_not_a_metric_is_an_error(make, error, message: str) -> None:
    with pytest.raises(error, match=message):
        make(Rankings.from_lists([[0, 1]], _rows([[1]])))


def _named_auc():
    def auc(rankings: Rankings) -> NDArray[np.float64]:
        return np.zeros(len(rankings))

    return auc


def _scores_with_nan() -> NDArray[np.float64]:
    return np.array([[0.0, np.nan]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rankings.from_scores(np.ones(3), _rows([[0]])), "a row for each user"),
        (lambda: Rankings.from_scores(np.ones((2, 3)), _rows([[0]])), "a row for each user"),
        (lambda: Rankings.from_scores(np.ones((1, 3)), _rows([[3]])), "below 3"),
        (
            lambda: Rankings.from_scores(np.ones((1, 3)), _rows([[-1]])),
            "ascending and distinct|start at 0",
        ),
        (lambda: Rankings.from_scores(np.ones((1, 3)), _rows([[2, 1]])), "ascending and distinct"),
        (
            lambda: Rankings.from_scores(np.ones((1, 3)), _rows([[1]]), _rows([[1]])),
            "both known and relevant",
        ),
        (lambda: Rankings.from_scores(_scores_with_nan(), _rows([[0]])), "row 0 have NaN"),
        (lambda: Rankings.from_lists([[0], [1]], _rows([[0]])), "a row for each user"),
        (lambda: Rankings.from_lists([[0, 1, 0]], _rows([[0]])), "an item twice"),
        (lambda: measure(Rankings.from_lists([[0]], _rows([[0]])), ["auc"]), "needs all scores"),
        (
            lambda: measure(Rankings.from_lists([[0]], _rows([[0]])), ["gini@1"]),
            "need the training data",
        ),
        (
            lambda: measure(Rankings.from_lists([[0]], _rows([[0]])), ["diversity@1"]),
            "need the training data",
        ),
    ],
)
def test_malformed_rankings_are_errors(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_the_documented_table_of_metrics_equals_the_code() -> None:
    page = (DOCS / "evaluation.md").read_text(encoding="utf-8")
    row = r"^\| `(\w+)(?:@k)?`(?:, `\w+@k`)? \| (.+?) \| (.+?) \| (.+?) \|$"
    written = re.findall(row, page, re.MULTILINE)
    assert written == [
        (each.name, each.formula, "user" if each.per_user else "model", each.empty)
        for each in METRICS.values()
    ]
    for name, each in METRICS.items():
        shown = {"needed": f"`{name}@k` |", "optional": f"`{name}`, `{name}@k` |"}
        assert f"| {shown.get(each.cut, f'`{name}` |')}" in page
