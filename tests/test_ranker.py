"""KernelRanker: what follows from its formula, whatever the threads, the order and the storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from boolrank import (
    InputError,
    Interactions,
    KernelRanker,
    NotFittedError,
    Overlaps,
    ParameterError,
    UnknownIdError,
)
from boolrank.errors import MatrixTooLargeError, ParameterTypeError
from boolrank.models import load_model


@pytest.fixture(scope="module")
def data() -> Interactions:
    rng = np.random.default_rng(7)
    users = [f"u{i:03d}" for i in rng.integers(0, 150, 2500)]
    items = [f"i{i:03d}" for i in (rng.pareto(1.0, 2500) * 8).astype(int) % 120]
    return Interactions.from_pairs(users, items)


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_scores_are_the_formula(data: Interactions, storage: str) -> None:
    model = KernelRanker("disjunctive(4)", reg=0.5, negative_weight=0.7, storage=storage).fit(data)
    K = np.array([model.matrix.row(i) for i in range(len(data.items))])
    q = (K.sum(axis=0) - 1) / len(K)
    for user in range(0, len(data.users), 9):
        name = data.users[user]
        alpha = model.weights([name])[0]
        expected = alpha @ K[data.rows.row(user)] - 0.7 * q
        assert np.allclose(model.score([name])[0], expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_one_and_two_threads_give_the_same_bits(data: Interactions, storage: str) -> None:
    one, two = (
        KernelRanker("disjunctive(4)", storage=storage, n_threads=n).fit(data) for n in (1, 2)
    )
    assert np.array_equal(one.score(), two.score())
    a, b = one.recommend(n=7), two.recommend(n=7)
    assert np.array_equal(a.items, b.items)
    assert np.array_equal(a.scores, b.scores, equal_nan=True)


def test_the_order_of_the_rows_does_not_matter(data: Interactions) -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(len(data.users)), np.diff(data.indptr))
    shuffle = rng.permutation(len(rows))
    shuffled = Interactions.from_pairs(
        [data.users[int(r)] for r in rows[shuffle]],
        [data.items[int(c)] for c in data.indices[shuffle]],
    )
    a, b = (KernelRanker("disjunctive(4)").fit(d).recommend(n=5) for d in (data, shuffled))
    assert np.array_equal(a.items, b.items)
    assert np.array_equal(a.scores, b.scores)


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_reasons_add_up_to_the_score(data: Interactions, storage: str) -> None:
    model = KernelRanker("disjunctive(4)", storage=storage).fit(data)
    for user in list(data.users)[::20]:
        best = model.recommend([user], n=3)
        for item, score in zip(best.lists()[0], best.scores[0], strict=True):
            reasons = model.explain(user, item)
            assert sum(part for _, part in reasons) == pytest.approx(score, abs=1e-12)
            assert {i for i, _ in reasons} == {
                data.items[int(i)] for i in data.rows.row(data.users.number(user))
            }
            assert [p for _, p in reasons] == sorted((p for _, p in reasons), reverse=True)


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_an_update_equals_a_refit(data: Interactions, storage: str) -> None:
    """A thousand random additions and removals, in ten steps."""
    rng = np.random.default_rng(3)
    model = KernelRanker("disjunctive(4)", storage=storage).fit(data)
    for _ in range(10):
        now = model.interactions
        rows = np.repeat(np.arange(len(now.users)), np.diff(now.indptr))
        pick = rng.choice(now.size, 50, replace=False)
        removed = Interactions.from_pairs(
            [now.users[int(r)] for r in rows[pick]], [now.items[int(c)] for c in now.indices[pick]]
        )
        added = Interactions.from_pairs(
            [f"u{i:03d}" for i in rng.integers(0, 170, 50)],
            [f"i{i:03d}" for i in rng.integers(0, 130, 50)],
        )
        model.update(added, removed)
        fresh = KernelRanker("disjunctive(4)", storage=storage).fit(anew(model.interactions))
        a, b = model.recommend(n=10), fresh.recommend(n=10)
        assert np.array_equal(a.items, b.items)
        assert np.array_equal(a.scores, b.scores, equal_nan=True)


def anew(data: Interactions) -> Interactions:
    """The same interactions, from ids."""
    return Interactions.from_pairs(
        data.users.names(data.rows.numbers), data.items.names(data.indices)
    )


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_an_update_equals_a_refit_if_users_and_items_lose_everything(
    data: Interactions, storage: str
) -> None:
    kernel = KernelRanker("disjunctive(4)", storage=storage)
    gone = np.isin(data.rows.numbers, [0, 7, 50]) | np.isin(data.indices, [1, 2])
    model = kernel.fit(data).update(removed=data[gone])
    fresh = KernelRanker("disjunctive(4)", storage=storage).fit(data[~gone])
    assert len(model.interactions.users) == len(fresh.interactions.users) < len(data.users)
    assert len(model.interactions.items) == len(fresh.interactions.items) < len(data.items)
    assert np.array_equal(model.score(), fresh.score())


def test_a_profile_that_equals_a_history_gets_the_same_items(data: Interactions) -> None:
    model = KernelRanker("disjunctive(4)").fit(data)
    users = list(data.users)[:20]
    lists = [[data.items[int(i)] for i in data.rows.row(data.users.number(u))] for u in users]
    batch = model.recommend_profiles(lists, n=6)
    assert np.array_equal(batch.items, model.recommend(users, n=6).items)
    assert model.recommend_profile(lists[3], n=6).lists() == [batch.lists()[3]]


def test_somebody_with_no_items_gets_the_popular_ones_and_is_marked(data: Interactions) -> None:
    model = KernelRanker("disjunctive(4)").fit(data)
    found = model.recommend_profile([], n=3)
    order = np.argsort(-data.popularity(), kind="stable")[:3]
    assert found.lists() == [[data.items[int(i)] for i in order]]
    assert found.popular.tolist() == [True]


def test_mistakes_are_told(data: Interactions) -> None:
    with pytest.raises(NotFittedError, match="fit"):
        KernelRanker().recommend()
    with pytest.raises(ParameterError, match="reg of KernelRanker"):
        KernelRanker(reg=-1).fit(data)
    with pytest.raises(ParameterTypeError, match="reg of KernelRanker"):
        KernelRanker(reg="x").fit(data)
    with pytest.raises(TypeError, match="from_matrix"):
        KernelRanker().fit(np.eye(3))
    for n in (-1, 2.5, None, "2", float("inf"), float("nan")):
        with pytest.raises((ParameterError, ParameterTypeError), match="n must be"):
            KernelRanker("linear").fit(data).recommend(n=n)
    for reg in (1e13, float("nan"), 10**400):
        with pytest.raises(ParameterError, match="reg of KernelRanker must be a number from 0 to"):
            KernelRanker("linear", reg=reg).fit(data)
    for threads in ("x", 1.5, 0):
        with pytest.raises(
            (ParameterError, ParameterTypeError), match="n_threads of KernelRanker must be a whole"
        ):
            KernelRanker("linear", n_threads=threads).fit(data)
    two = Interactions.from_pairs([1, 2], [1, 2])
    with pytest.raises(ParameterError, match=r"only 2 variables"):
        KernelRanker("disjunctive(7)").fit(two)
    with pytest.warns(UserWarning, match=r"only 2 users, so the kernel is disjunctive\(2\)"):
        assert KernelRanker().fit(two).recommend([1]).lists() == [[2]]
    with pytest.raises(ParameterError, match=r"only 2 variables"):
        KernelRanker("linear + disjunctive(8)").fit(two)
    with pytest.raises(ParameterError, match="storage of KernelRanker must be one of"):
        KernelRanker(storage="x").fit(data)
    with pytest.raises(UnknownIdError, match="did you mean 'u"):
        KernelRanker("linear").fit(data).recommend(["u01x"])


def test_a_catalogue_of_one_item_is_no_special_case() -> None:
    for storage in ("dense", "compressed"):
        model = KernelRanker("linear", storage=storage).fit(Interactions.from_pairs([1, 2], [5, 5]))
        assert model.recommend(n=3).lists() == [[], []]
        assert model.recommend([1], n=3, exclude_seen=False).lists() == [[5]]


def test_similar_items_are_padded_like_recommendations(data: Interactions) -> None:
    model = KernelRanker("linear").fit(data)
    found = model.similar_items(list(data.items)[:2], n=10**12)
    assert found.items.shape == (2, len(data.items))
    assert len(found.lists()[0]) == len(data.items) - 1
    assert model.similar_items([], n=4).items.shape == (0, 4)
    for n in (-1, 1.5, None, float("inf")):
        with pytest.raises((ParameterError, ParameterTypeError), match="n must be"):
            model.similar_items(list(data.items)[:1], n=n)


def test_scores_of_profiles_are_those_of_users_with_the_same_items(data: Interactions) -> None:
    model = KernelRanker("disjunctive(3)").fit(data)
    users = list(data.users)[:20]
    lists = [[data.items[int(i)] for i in data.rows.row(data.users.number(u))] for u in users]
    assert np.array_equal(model.score_profiles(lists), model.score(users))
    some = list(data.items)[3:7]
    assert np.array_equal(model.score_profiles(lists, some), model.score(users, some))
    assert model.score_profiles([]).shape == (0, len(data.items))
    assert np.isnan(model.score_profiles([[]])).all()


def test_kernels_can_share_overlaps(data: Interactions) -> None:
    shared = Overlaps.of(data)
    for kernel in ("linear", "disjunctive(2)"):
        alone, sharing = KernelRanker(kernel).fit(data), KernelRanker(kernel).fit(data, shared)
        assert np.array_equal(alone.score(), sharing.score())
    other = Interactions.from_pairs([1, 2], [1, 2])
    with pytest.raises(InputError, match="count them with"):
        KernelRanker("linear").fit(other, shared)
    swapped = Interactions.from_pairs([1, 2, 2], ["b", "a", "b"])
    with pytest.raises(InputError, match="belong to other interactions"):
        KernelRanker("linear").fit(
            swapped, Overlaps.of(Interactions.from_pairs([1, 2, 2], ["a", "a", "b"]))
        )


def test_parameters_count_from_the_next_fit_on(data: Interactions, tmp_path: Path) -> None:
    model = KernelRanker("disjunctive(4)", reg=0.5, negative_weight=0.7).fit(data)
    scores, best = model.score(), model.recommend(n=5)
    model.set_params(kernel="linear", reg=100.0, storage="paper")
    model.negative_weight = -5.0
    assert np.array_equal(model.score(), scores)
    assert np.array_equal(model.recommend(n=5).scores, best.scores)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert (str(loaded.kernel), loaded.reg, loaded.negative_weight) == ("disjunctive(4)", 0.5, 0.7)
    assert np.array_equal(loaded.score(), scores)
    more = Interactions.from_pairs(["u001"], ["i001"])
    fresh = KernelRanker("disjunctive(4)", reg=0.5, negative_weight=0.7)
    assert np.array_equal(model.update(more).score(), fresh.fit(model.interactions).score())
    assert model.fitted.params["reg"] == 0.5
    with pytest.raises(ParameterError, match="negative_weight"):
        model.fit(data)
    model.set_params(negative_weight=0.0, storage="auto").fit(data)
    assert not np.allclose(model.score(), scores)


def test_n_is_never_more_than_there_are_items(data: Interactions) -> None:
    model = KernelRanker("linear").fit(data)
    for found in (model.recommend(["u001"], n=10**12), model.recommend_profile([], n=10**400)):
        assert found.items.shape == found.scores.shape == (1, len(data.items))


def test_a_profile_is_one_list_and_profiles_are_several() -> None:
    pairs = Interactions.from_pairs([1, 1, 2, 2, 3], [(1, 2), (3, 4), (1, 2), (5, 6), (3, 4)])
    model = KernelRanker("linear").fit(pairs)
    alone = model.recommend_profile([(3, 4)], n=2).lists()
    assert alone == model.recommend([3], n=2).lists()
    for several in ([[(3, 4)], []], ({(3, 4)}, frozenset()), iter([iter([(3, 4)]), []])):
        assert model.recommend_profiles(several, n=2).lists()[:1] == alone
    words = KernelRanker("linear").fit(Interactions.from_pairs([1, 2], ["x", "y"]))
    with pytest.raises(ParameterTypeError, match="a list of ids"):
        words.recommend_profile("x")
    with pytest.raises(ParameterTypeError, match="a list of ids"):
        words.recommend_profiles(["x", "y"])
    for single in (1, b"x", np.array(1)):
        for ask in (words.recommend, words.score, words.similar_items, words.recommend_profile):
            with pytest.raises(ParameterTypeError, match=r"a list of ids, .*; put it in \[\]"):
                ask(single)
        for ask in (words.recommend_profiles, words.score_profiles):
            with pytest.raises(ParameterTypeError, match="profiles are a list of lists of items"):
                ask(single)
    for batch in ([["x"], ["y"]], [["x"]]):
        with pytest.raises(ParameterTypeError, match="hashable"):
            words.recommend_profile(batch)
    numbers = KernelRanker("linear").fit(Interactions.from_pairs([1, 2], [7, 8]))
    with pytest.raises(ParameterTypeError, match="hashable"):
        numbers.recommend_profile([[7], [8]])


def test_a_profile_too_long_for_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    items = np.arange(5000)
    data = Interactions.from_pairs(np.zeros(5000, int), items)
    model = KernelRanker("linear", storage="compressed", n_threads=1).fit(data)
    monkeypatch.setattr("boolrank._memory._of_machine", lambda: 10**8)
    with pytest.raises(MatrixTooLargeError, match=r"5,000 items take 500\.0 MB"):
        model.recommend()


def test_recommendations_as_columns_and_frame_have_a_row_per_item(data: Interactions) -> None:
    model = KernelRanker("linear").fit(data)
    users = list(data.users)[:3]
    some = list(data.items)[:4]
    found = model.recommend(users, n=3, candidates=some)
    columns = found.to_dict()
    assert columns["item"] == [item for row in found.lists() for item in row]
    assert columns["user"] == [
        user for user, row in zip(users, found.lists(), strict=True) for _ in row
    ]
    assert columns["rank"] == [k + 1 for row in found.lists() for k in range(len(row))]
    assert found.to_frame().to_dict(as_series=False) == columns
    assert repr(found) == "Recommendations: up to 3 items for 3 users"
    profiles = model.recommend_profiles([[], some], n=2)
    assert repr(profiles).endswith("2 items for 2 profiles, 1 of them by popularity alone")
    assert profiles.to_dict()["user"] == [0, 0, 1, 1]
    nothing = model.recommend([], n=2).to_frame()
    assert nothing.shape == (0, 5)
    without = model.recommend(users, exclude=[some[0]]).lists()
    assert model.recommend(users, exclude=[some[0], "zzz"]).lists() == without
