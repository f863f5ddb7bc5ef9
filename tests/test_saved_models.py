"""Every model is saved, loaded, explained and updated alike; forged folders do no harm."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from boolrank import Interactions, Kernel, KernelRanker, Linear, ModelFileError, NotFittedError
from boolrank.errors import ParameterError, UnknownIdError
from boolrank.models import (
    MODELS,
    ModelEntry,
    Recommender,
    Scorer,
    load_model,
    make_model,
    model_info,
    param,
)
from boolrank.models.tag_columns import SharedTags
from boolrank.storage.folder import read_folder, write_folder
from boolrank.storage.state import State, array
from effort import THOROUGH
from folder_fuzz import NAMES, SMALL, fitted, seal, small_data

FUZZ = Path(__file__).with_name("folder_fuzz.py")
KINDS = [name for name in MODELS if MODELS[name].available]
FORMS = [name for name in NAMES if MODELS[name.partition(" ")[0]].available]


def _answers(model):
    found = model.recommend(n=5)
    return found.users, found.lists(), found.scores.tobytes(), model.score().tobytes()


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_a_loaded_model_gives_the_same_bits(tmp_path, name, verify):
    model = fitted(name)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model", verify=verify)
    assert _answers(loaded) == _answers(model)
    assert type(loaded) is type(model)
    plain = {k: str(v) for k, v in model.fitted.params.items()}
    assert {k: str(v) for k, v in loaded.fitted.params.items()} == plain


_ASK = """
import json, sys
from boolrank.models import load_model
print(json.dumps([load_model(path).recommend(n=5).lists() for path in sys.argv[1:]]))
"""


def test_another_process_gets_the_same_lists_from_every_model(tmp_path):
    models = {name: fitted(name) for name in FORMS}
    paths = []
    for number, model in enumerate(models.values()):
        paths.append(str(tmp_path / f"{number}"))
        model.save(paths[-1])
    done = subprocess.run(
        [sys.executable, "-c", _ASK, *paths], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [model.recommend(n=5).lists() for model in models.values()]


@pytest.mark.parametrize(
    "ids",
    [
        *(lambda k: k, lambda k: f"é{k}", lambda k: UUID(int=k), lambda k: 2**70 + k),
        *(lambda k: k / 3, lambda k: -(1.7**-k) * 1e300),
    ],
)
def test_ids_of_every_savable_type_come_back(tmp_path, ids):
    matrix = np.random.default_rng(1).random((9, 7)) < 0.4
    data = Interactions.from_matrix(matrix, [ids(k) for k in range(9)], [ids(k) for k in range(7)])
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert list(loaded.interactions.users) == list(data.users)
    assert list(loaded.interactions.items) == list(data.items)


@pytest.mark.parametrize("name", KINDS)
def test_an_update_equals_a_fit_on_all_data(tmp_path, name):
    model = fitted(name)
    model.save(tmp_path / "model")
    items = list(model.interactions.items)
    more = Interactions.from_pairs([99, 99, 1, 100], [items[0], items[5], "new", items[2]])
    fewer = Interactions.from_pairs([0], [items[int(model.interactions.rows.row(0)[0])]])
    fresh = make_model(name, **SMALL.get(name, {}))
    fresh.fit(model.interactions.updated(more, fewer))
    assert _answers(load_model(tmp_path / "model").update(more, fewer)) == _answers(fresh)
    assert ("exact update" in MODELS[name].abilities) == (model.fitted.overlaps is not None)


@pytest.mark.parametrize("name", FORMS)
def test_reasons_add_up_to_the_score(name):
    model = fitted(name)
    if "explain" not in MODELS[name.partition(" ")[0]].abilities:
        with pytest.raises(ParameterError, match="cannot explain"):
            model.explain(0, "ite0é")
        return
    items = list(model.interactions.items)
    for user in list(model.interactions.users)[:6]:
        own = [
            items[int(k)]
            for k in model.interactions.rows.row(model.interactions.users.number(user))
        ]
        for item in items:
            reasons = model.explain(user, item)
            cited = sorted(i for i, _ in reasons if not isinstance(i, SharedTags))
            # Beside shared tags, items that add nothing are not named.
            assert set(cited) <= set(own) if "tags" in name else cited == sorted(own)
            parts = [part for _, part in reasons]
            assert parts == sorted(parts, reverse=True)
            score = model.score([user], [item])[0, 0]
            if own:
                close = {"rel": 1e-3, "abs": 1e-4} if name == "ease single" else {"rel": 1e-6}
                assert sum(parts) == pytest.approx(score, **close)
            if "recency" not in name:  # profiles have no times
                assert model.explain_profile(own, item) == reasons


@pytest.mark.parametrize("name", KINDS)
def test_similar_items_are_other_items_in_falling_order(name):
    model = fitted(name)
    if "similar" not in MODELS[name].abilities:
        with pytest.raises(ParameterError, match="cannot compare items"):
            model.similar_items(["ite0é"])
        return
    items = list(model.interactions.items)
    before = _answers(model)
    found = model.similar_items(items, n=20)
    assert _answers(model) == before, "asking for similar items changes nothing"
    for item, near, values in zip(items, found.lists(), found.scores, strict=True):
        assert item not in near
        assert len(near) == len(items) - 1
        assert (np.diff(values[: len(near)]) <= 0).all()


def test_unknown_ids_are_ignored_where_that_is_asked_for():
    model = fitted("item-knn")
    plain = model.recommend([0], n=3)
    assert model.recommend([0], n=3, exclude=["nothing"]).lists() == plain.lists()
    best = plain.lists()[0][1]
    assert model.recommend([0], n=3, candidates=[best, "nothing"]).lists() == [[best]]
    found = model.recommend([0, 777], n=3, unknown="popular")
    assert found.popular.tolist() == [False, True]
    assert found.users == [0, 777]
    assert found.lists()[0] == plain.lists()[0]
    with pytest.raises(UnknownIdError):
        model.recommend([777])
    profile = ["ite0é", "nothing"]
    known = model.recommend_profile(["ite0é"], n=3)
    assert model.recommend_profile(profile, n=3, unknown="ignore").lists() == known.lists()
    with pytest.raises(UnknownIdError):
        model.recommend_profile(profile)
    with pytest.raises(ParameterError, match="unknown must be"):
        model.recommend([0], unknown="whatever")


def test_info_tells_kind_parameters_counts_date_and_hashes(tmp_path):
    model = fitted("kernel-ease")
    model.save(tmp_path / "a")
    model.save(tmp_path / "b")
    info = model_info(tmp_path / "a")
    assert info["model"] == "kernel-ease"
    assert info["parameters"]["kernel"] == "disjunctive(2)"
    counts = *model.interactions.shape, model.interactions.size
    assert (info["users"], info["items"], info["interactions"]) == counts
    assert info["created"].startswith("20")
    other = model_info(tmp_path / "b")
    assert (info["hash"], info["fingerprint"]) == (other["hash"], other["fingerprint"])
    fitted("ease").save(tmp_path / "b")
    other = model_info(tmp_path / "b")
    assert info["fingerprint"] == other["fingerprint"]
    assert info["hash"] != other["hash"]
    write_folder(tmp_path / "c", {"x": 1}, {})
    with pytest.raises(ModelFileError, match="not a saved model"):
        model_info(tmp_path / "c")


def _put(at, value):
    def change(array):
        array.reshape(-1)[at] = value
        return array

    return change


COMPRESSED, DENSE = "kernel-ranker compressed", "kernel-ranker dense"


@pytest.mark.parametrize(
    ("form", "name", "change"),
    [
        (COMPRESSED, "indptr", _put(0, 1)),
        (COMPRESSED, "indptr", _put(2, 10**9)),
        (COMPRESSED, "indptr", lambda a: a[:-1]),
        (COMPRESSED, "indptr", lambda a: a.astype(np.float64)),
        (COMPRESSED, "indices", _put(3, 9)),
        (COMPRESSED, "indices", _put(3, -1)),
        (COMPRESSED, "indices", lambda a: a[::-1].copy()),
        (COMPRESSED, "indices", lambda a: a.reshape(1, -1)),
        (COMPRESSED, "scorer-sizes", lambda a: a[:-1]),
        (COMPRESSED, "scorer-matrix-pull", lambda a: a[:-1]),
        (COMPRESSED, "scorer-matrix-pull", _put(0, np.nan)),
        (COMPRESSED, "scorer-matrix-values", _put(0, np.nan)),
        (COMPRESSED, "scorer-matrix-values", _put(0, np.inf)),
        (COMPRESSED, "scorer-matrix-values", _put(0, 1e9)),
        (COMPRESSED, "scorer-matrix-columns", _put(0, 10**9)),
        (COMPRESSED, "scorer-matrix-indptr", _put(1, -5)),
        (COMPRESSED, "scorer-matrix-classes", _put(0, 10**6)),
        (COMPRESSED, "scorer-matrix-background", lambda a: a[:, :-1]),
        (COMPRESSED, "overlaps-sizes", _put(0, -1)),
        (DENSE, "scorer-matrix-values", lambda a: a[:-1]),
        (DENSE, "scorer-matrix-values", _put(5, np.nan)),
        ("kernel-ranker scaled", "scorer-matrix-scale-nearest", _put(0, 9)),
        ("kernel-ranker centred", "scorer-matrix-distance", lambda a: a[:-1]),
        ("ease", "scorer-group", _put(0, 8)),
        ("ease", "scorer-values", _put(0, np.inf)),
        ("item-knn", "scorer-columns", _put(0, -1)),
        ("bpr", "scorer-folding", lambda a: a[:-1]),
        ("kernel-ranker", "items-ends", _put(0, -4)),
        ("kernel-ranker", "items-ends", _put(0, 5)),
        ("kernel-ranker", "items-text", _put(0, 255)),
        ("kernel-ranker", "users-ids", _put(0, 7)),
    ],
)
def test_a_resealed_array_that_does_not_fit_is_refused(tmp_path, form, name, change):
    folder = tmp_path / "model"
    fitted(form).save(folder)
    about, arrays = read_folder(folder)
    write_folder(folder, about, arrays | {name: change(np.array(arrays[name]))})
    with pytest.raises(ModelFileError, match="save it again"):
        load_model(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.update(model="other"),
        lambda a: a.update(model="ease"),
        lambda a: a["parameters"].update(mood=3),
        lambda a: a["parameters"].update(reg=-5),
        lambda a: a["parameters"].update(kernel="x"),
        lambda a: a["ids"].update(users="pickle"),
        lambda a: a["scorer"].update(kind="margin"),
        lambda a: a["scorer"].update(reg="much"),
        lambda a: a["scorer"].pop("matrix"),
        lambda a: a.update(overlaps=None),
        lambda a: a.pop("created"),
    ],
)
def test_a_resealed_header_that_does_not_fit_is_refused(tmp_path, change):
    folder = tmp_path / "model"
    fitted(COMPRESSED).save(folder)
    header = json.loads((folder / "header.json").read_text())
    change(header["content"]["about"])
    (folder / "header.json").write_text(json.dumps(header))
    seal(folder)
    with pytest.raises(ModelFileError, match=r"save (it|the model) again|import its module"):
        load_model(folder)


def test_an_undeclared_array_is_refused(tmp_path):
    folder = tmp_path / "model"
    fitted(DENSE).save(folder)
    about, arrays = read_folder(folder)
    write_folder(folder, about, arrays | {"scorer-matrix-classes": np.zeros(9, np.int32)})
    with pytest.raises(ModelFileError, match="undeclared array"):
        load_model(folder)


def test_damaged_folders_are_refused_or_answer_and_never_crash():
    count = 60 if THOROUGH else 8  # of each form, more than 300 in all
    call = [sys.executable, str(FUZZ), str(count), "11", *FORMS]  # another process: it may crash
    done = subprocess.run(call, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [int(n) for n in re.findall(r"(\d+) (?:refused|answered)", done.stdout)]
    assert sum(counts) == count * len(FORMS)
    assert min(counts[::2]) > count / 2


def test_a_model_that_cannot_be_saved_writes_nothing(tmp_path):
    @dataclass(frozen=True, repr=False)
    class Own(Kernel):
        name = "own_in_a_test"
        formula = "c"

        def value(self, k):
            return Linear().value(k)

        def __str__(self):
            return "unknown(3)"

    data = Interactions.from_pairs([1, 2, 2], [1, 1, 2])
    with pytest.raises(ModelFileError, match="cannot be saved"):
        KernelRanker(Own()).fit(data).save(tmp_path / "model")
    odd = Interactions.from_pairs([(1, 2), (3, 4)], [1, 2])
    with pytest.raises(ModelFileError, match="users of type tuple cannot be saved"):
        KernelRanker("linear").fit(odd).save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        KernelRanker("linear").save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True, eq=False)
class Weights(State):
    kind = "test-weights"
    values: np.ndarray = array("float64", "items", low=0, high=10)


@dataclass(frozen=True, eq=False)
class WeightScorer(Scorer):
    kind = "test-weight-scorer"
    weights: Weights
    bias: float

    @property
    def items(self):
        return len(self.weights.values)

    def scores(self, profiles):
        return np.tile(self.weights.values + self.bias, (profiles.n_rows, 1))


@dataclass(repr=False, eq=False)
class Weighted(Recommender):
    scorers = (WeightScorer,)
    top: float = param(1.0)
    bias: float = param(0.5, low=0)

    def _learn(self, data, overlaps):  # noqa: ARG002 - as the base has it
        return WeightScorer(Weights(np.full(len(data.items), self.top)), np.float64(self.bias))


def test_a_model_that_could_not_be_read_back_is_refused_when_it_is_saved(tmp_path, monkeypatch):
    entry = ModelEntry("weighted", f"{__name__}:Weighted", "a test")
    monkeypatch.setitem(MODELS, "weighted", entry)
    assert entry.parameters[0].allowed == "number"
    data = small_data("weighted")
    good = Weighted(top=2.0).fit(data)
    good.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.scorer.bias == 0.5
    assert np.array_equal(loaded.score(), good.score(), equal_nan=True)
    with pytest.raises(ModelFileError, match=r"cannot be saved: it has values of .* range"):
        Weighted(top=99.0).fit(data).save(tmp_path / "model")
    for wrong in (np.ones(9, np.float32), np.ones((9, 1))):
        monkeypatch.setattr(Weighted, "_learn", lambda *_, w=wrong: WeightScorer(Weights(w), 0.5))
        found = re.escape(
            f"of type {wrong.dtype} and shape {wrong.shape}, declared as float64 (items)"
        )
        with pytest.raises(ModelFileError, match=f"it has scorer-weights-values {found}"):
            Weighted().fit(data).save(tmp_path / "model")
    monkeypatch.setattr(
        Weighted, "_learn", lambda *_: WeightScorer(Weights(np.ones(9)), np.ones(9))
    )
    with pytest.raises(ModelFileError, match="an undeclared array scorer-bias"):
        Weighted().fit(data).save(tmp_path / "model")
    assert _answers(load_model(tmp_path / "model")) == _answers(good)


def test_small_data_have_what_the_forms_are_for():
    assert fitted("kernel-ranker scaled").matrix.scale is not None
    assert fitted("kernel-ranker scaled compressed").matrix.scale is not None
    assert fitted("kernel-ranker centred").matrix.distance is not None
    assert len(small_data("ease").items) == 9
