"""Profile weights by recency, beside the formula in plain Python, for every model with them."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boolrank import (
    MODELS,
    InputError,
    Interactions,
    KernelRanker,
    ParameterError,
    hold_out,
    load_model,
    make_model,
)
from boolrank.data.rows import Rows
from boolrank.errors import ModelFileError
from boolrank.evaluation import evaluate_fold
from boolrank.models.profiles import recency_weights
from boolrank.models.spec import parse_model
from boolrank.storage.folder import read_folder, write_folder
from boolrank.studies.cache import Task
from boolrank.testing import check_recommender

TIMED = [name for name, entry in MODELS.items() if "recency" in entry.defaults]
# Scores of these are sums over the items of a profile; the others solve a problem per profile.
LINEAR = [name for name in TIMED if name not in ("kernel-ranker", "mean-ranker")]
SMALL = {
    "kernel-ranker": {"kernel": "disjunctive(2)"},
    "kernel-ease": {"kernel": "linear", "reg": 1.0},
    "ease": {"reg": 3.0, "user_exponent": 0.5},
    "spectral-ranker": {"rank": 6},
}


def model(name, recency=3.0, **params):
    return make_model(name, **SMALL.get(name, {}) | {"recency": recency} | params)


@pytest.fixture(scope="module")
def data():
    """Forty users of 30 items, two of which everybody treats alike; few distinct times."""
    rng = np.random.default_rng(5)
    matrix = rng.random((40, 30)) < 0.3
    matrix[:, 1] = matrix[:, 0]
    matrix[7] = False
    data = Interactions.from_matrix(matrix)
    return replace(data, time=rng.integers(0, 9, data.size))


def plain_weights(times, recency):
    """Return the weights of one user's items."""
    order = sorted(range(len(times)), key=lambda k: -times[k])
    out, place = [0.0] * len(times), 0
    for _, group in groupby(order, key=lambda k: times[k]):
        same = list(group)
        mean = sum(2 ** (-(place + k) / recency) for k in range(len(same))) / len(same)
        for k in same:
            out[k] = mean
        place += len(same)
    return out


def matrix_of_weights(data, recency):
    out = np.zeros(data.shape)
    for user in range(data.shape[0]):
        part = slice(data.indptr[user], data.indptr[user + 1])
        out[user, data.indices[part]] = plain_weights(data.time[part].tolist(), recency)
    return out


LISTS = st.lists(st.lists(st.integers(-3, 3), max_size=12), max_size=6)


@given(LISTS, st.sampled_from([0.3, 1.0, 2.5, 40.0]))
def test_weights_are_those_of_the_formula(times, recency):
    rows = Rows.of_lists([range(len(each)) for each in times])
    flat = np.array([t for each in times for t in each], np.int64)
    expected = [w for each in times for w in plain_weights(each, recency)]
    found = recency_weights(recency, rows, flat)
    assert found == pytest.approx(expected, rel=1e-14)
    for row, each in enumerate(times):  # and the same bits alone
        alone = recency_weights(recency, Rows.of_lists([range(len(each))]), np.array(each, "i8"))
        assert np.array_equal(found[rows.indptr[row] : rows.indptr[row + 1]], alone)


@pytest.mark.parametrize("kind", ["datetime64[s]", "datetime64[us]", "int64", "float64"])
def test_half_lives_in_days_count_from_the_latest_item(kind):
    seconds = np.array([86_400, 43_200, 0, 5], "int64")
    time = seconds.astype("datetime64[s]").astype(kind) if "64[" in kind else seconds.astype(kind)
    found = recency_weights("0.5d", Rows.of_lists([[0, 1, 2], [], [3]]), time)
    assert found == pytest.approx([1.0, 0.5, 0.25, 1.0])


@pytest.mark.parametrize("units", [1, 1_000, 1_000_000, 1_000_000_000])
def test_half_lives_in_days_know_the_unit_of_times_since_1970(units):
    seconds = 1_700_000_000 + np.array([86_400, 43_200, 0])
    found = recency_weights("0.5d", Rows.of_lists([[0, 1, 2]]), seconds * units)
    assert found == pytest.approx([1.0, 0.5, 0.25])


def test_very_old_items_keep_a_weight_above_zero():
    rows = Rows.of_lists([range(5000)])
    for recency in (1e-300, 0.5, "0.001d"):
        assert (recency_weights(recency, rows, np.arange(5000) * 9000) > 0).all()


@pytest.mark.parametrize("name", LINEAR)
def test_scores_are_weighted_sums_over_the_items(name, data):
    fitted = model(name).fit(data)
    operator = fitted.score_profiles([[item] for item in data.items])
    expected = matrix_of_weights(data, 3.0) @ operator
    some = data.rows.lengths > 0
    assert fitted.score()[some] == pytest.approx(expected[some], rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("storage", ["dense", "compressed"])
@pytest.mark.parametrize("kernel", ["linear", "disjunctive(2)", "disjunctive(30)", "monotone_dnf"])
def test_the_ranker_multiplies_its_weights_and_scales_them_to_the_sum_one(data, kernel, storage):
    params = {"kernel": kernel, "storage": storage, "negative_weight": 0.7}
    plain, fitted = KernelRanker(**params).fit(data), KernelRanker(**params, recency=2.0).fit(data)
    of_items = matrix_of_weights(data, 2.0)
    rows = np.array([fitted.matrix.row(i) for i in range(data.shape[1])])
    for user in np.flatnonzero(data.rows.lengths):
        name = data.users[int(user)]
        own = data.rows.row(int(user))
        expected = plain.weights([name])[0] * of_items[user, own]
        expected /= expected.sum()
        assert fitted.weights([name])[0] == pytest.approx(expected, abs=1e-12)
        if fitted.matrix.scale is None and fitted.matrix.distance is None:
            scores = expected @ rows[own] - 0.7 * fitted.matrix.means
            assert fitted.score([name])[0] == pytest.approx(scores, abs=1e-12)


@pytest.mark.parametrize("name", TIMED)
def test_lists_are_the_same_in_any_batch_and_with_any_threads(name, data):
    fitted = model(name, n_threads=2).fit(data)
    everybody, scores = fitted.recommend(n=7), fitted.score()
    single = model(name, n_threads=1).fit(data)
    assert np.array_equal(single.score(), scores, equal_nan=True)
    assert single.recommend(n=7).lists() == everybody.lists()
    users = list(data.users)
    for user in range(0, 40, 7):
        assert fitted.recommend([users[user]], n=7).lists() == [everybody.lists()[user]]
        alone = fitted.score([users[user]])
        assert np.array_equal(alone, scores[user : user + 1], equal_nan=True)
        for item, score in zip(everybody.lists()[user], everybody.scores[user], strict=False):
            if not everybody.popular[user]:
                assert score == pytest.approx(scores[user, data.items.number(item)], rel=1e-9)
    strangers = fitted.recommend([users[3], "nobody", users[9]], n=7, unknown="popular")
    assert [strangers.lists()[k] for k in (0, 2)] == [everybody.lists()[k] for k in (3, 9)]


@pytest.mark.parametrize("name", TIMED)
def test_models_with_recency_keep_the_contract(name):
    check_recommender(model(name, n_threads=1), n_users=14, n_items=9)


@pytest.mark.parametrize("name", TIMED)
def test_reasons_include_the_weights(name, data):
    fitted = model(name, 1.5).fit(data)
    for user in list(data.users)[:5]:
        for item in list(data.items)[:6]:
            parts = [part for _, part in fitted.explain(user, item)]
            score = fitted.score([user], [item])[0, 0]
            assert sum(parts) == pytest.approx(score, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("kind", ["int64", "datetime64[D]"])
def test_saved_models_and_updates_keep_the_times(name, kind, data, tmp_path):
    def timed(part):
        return replace(part, time=part.time.astype(kind))

    more = timed(Interactions.from_pairs([0, 41, 41], [3, 5, 30], time=[20, 4, 3]))
    fitted = model(name).fit(timed(data))
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.recommend(n=6).lists() == fitted.recommend(n=6).lists()
    assert np.array_equal(loaded.score(), fitted.score(), equal_nan=True)
    again = model(name).fit(timed(data).updated(more))
    assert loaded.update(more).recommend(n=6).lists() == again.recommend(n=6).lists()
    assert loaded.interactions.time.dtype.kind == np.dtype(kind).kind
    with pytest.raises(
        InputError, match=r"times, and 1 added interaction has none.*of added ones too"
    ):
        loaded.update(Interactions.from_pairs([0], [9]))


def test_models_without_recency_are_saved_without_times(data, tmp_path):
    model("item-knn", 0.0).fit(data).save(tmp_path / "model")
    assert load_model(tmp_path / "model").interactions.time is None


def test_a_saved_model_with_recency_and_without_times_is_refused(data, tmp_path):
    model("item-knn").fit(data).save(tmp_path / "model")
    about, arrays = read_folder(tmp_path / "model")
    arrays = {name: np.array(each) for name, each in arrays.items()}
    forged = [
        (arrays | {"time": arrays["time"][:-1]}, about["ids"]),
        (arrays, about["ids"] | {"time": "datetime64[fortnight]"}),
        (arrays, about["ids"] | {"time": "float64"}),
        (arrays | {"time": np.full(data.size, -(2**63))}, about["ids"] | {"time": "datetime64[s]"}),
        ({k: v for k, v in arrays.items() if k != "time"}, {"users": "int64", "items": "int64"}),
    ]
    for content, ids in forged:
        write_folder(tmp_path / "model", about | {"ids": ids}, content)
        with pytest.raises(ModelFileError, match=r"time|interactions"):
            load_model(tmp_path / "model")


@pytest.mark.parametrize("name", TIMED)
def test_zero_and_very_long_half_lives_count_all_items_alike(name, data):
    plain = model(name, 0.0).fit(data)
    bare = replace(data, time=None)
    assert np.array_equal(plain.score(), model(name, 0.0).fit(bare).score(), equal_nan=True)
    slow = model(name, 1e9).fit(data).score()
    assert slow == pytest.approx(plain.score(), rel=1e-6, abs=1e-6, nan_ok=True)
    fast = model(name, 0.01).fit(data).score()
    assert not np.allclose(fast, plain.score(), equal_nan=True)


@pytest.mark.parametrize("name", TIMED)
def test_lists_of_items_have_no_times_and_count_alike(name, data):
    plain, fitted = model(name, 0.0).fit(data), model(name).fit(data)
    lists = [[0, 4, 7], [2], list(range(9))]
    assert np.array_equal(plain.score_profiles(lists), fitted.score_profiles(lists))
    assert plain.recommend_profiles(lists).lists() == fitted.recommend_profiles(lists).lists()
    assert plain.explain_profile([0, 4], 9) == fitted.explain_profile([0, 4], 9)


def test_recency_needs_times(data):
    bare = replace(data, time=None)
    with pytest.raises(InputError, match=r"recency of ItemKNN needs times.* set recency=0"):
        model("item-knn").fit(bare)
    gaps = np.where(np.arange(data.size) < 2, np.nan, 1.0)
    with pytest.raises(InputError, match="and 2 interactions have none"):
        model("item-knn").fit(replace(data, time=gaps))
    dated = replace(data, time=np.arange(data.size).astype("datetime64[D]"))
    known = model("item-knn").fit(replace(data, time=np.arange(data.size)))
    for time, why in (
        (None, f"and {data.size} added interactions have none; give the time of each event"),
        (dated.time, "added interactions, such as 1970-01-01, are in another unit than"),
        (np.full(data.size, 1 << 40), "such as 1099511627776, are in another unit .* such as 0;"),
    ):
        with pytest.raises(InputError, match=why):
            known.update(replace(data, time=time))
    make_model("item-knn").fit(replace(data, time=np.arange(data.size))).update(dated)


def test_days_are_text_with_one_form(data):
    spec = parse_model("item-knn(recency=30.0d)")
    assert str(spec) == "item-knn(recency=30d)"
    assert parse_model(str(spec)) == spec
    assert json.loads(json.dumps(spec.to_dict()))["recency"] == "30d"
    assert spec.make().fit(data).get_params()["recency"] == "30d"
    for wrong in ("30", "d", "-3d", "0d", "30 days", "1e3d", None, [3], -1.0):
        with pytest.raises((ParameterError, TypeError), match=r"recency of .* must be a"):
            model("item-knn", wrong).fit(data)


def test_the_latest_items_lead_the_list():
    """Everybody has one of two tastes at a time, and this user has changed theirs."""
    tastes = [["a", "b", "c", "d"], ["w", "x", "y", "z"]]
    events = [(10 + k, item) for k in range(20) for item in tastes[k % 2]]
    events += [(0, item) for item in ("a", "b", "c", "w")]
    data = Interactions.from_pairs(*zip(*events, strict=True), time=np.arange(len(events)))
    for name in TIMED:
        small = {"rank": 2} if name == "spectral-ranker" else {}
        late = make_model(name, **small, recency=0.2).fit(data).recommend([0], n=2).lists()
        assert set(late[0]) <= {"x", "y", "z"}, name


def test_results_depend_on_times_only_with_recency(data):
    late = replace(data, time=-data.time)
    folds = [hold_out(each)[0] for each in (data, late)]
    keys = [Task(fold, parse_model("item-knn(recency=2)"), ()).key for fold in folds]
    assert keys[0] != keys[1]
    for text, equal in (("item-knn", True), ("item-knn(recency=2)", False)):
        values = [evaluate_fold(parse_model(text).make(), fold).means for fold in folds]
        assert (values[0] == values[1]) == equal


def test_half_lives_are_drawn_where_there_are_times(data):
    class Trial:
        def __init__(self, kind):
            self.kind = kind

        def suggest_categorical(self, name, choices):
            assert (name, choices) == ("recency.weighs", ("alike", "by recency"))
            return self.kind

        def suggest_float(self, name, low, high, *, log):
            assert (name, low, high, log) == ("recency.half_life", 0.5, 50.0, True)
            return 2.0

    bare = replace(data, time=None)
    search = MODELS["item-knn"].space["recency"]
    assert search.draw(Trial("by recency"), "recency", data) == 2.0
    assert search.draw(Trial("alike"), "recency", data) == 0.0
    assert search.draw(Trial("by recency"), "recency", bare) == 0.0
