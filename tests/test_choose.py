"""The choice of a model: the race, its table, and `fit` with --model auto."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from boolrank import (
    InputError,
    Interactions,
    ModelFileError,
    Popularity,
    evaluate,
    hold_out,
    load_dataset,
)
from boolrank.evaluation.result import FoldResult
from boolrank.models import load_model, model_info, parse_model
from boolrank.studies import Choice, choose, families
from boolrank.studies.choose import _Race
from boolrank.studies.families import FAMILIES
from folder_fuzz import seal

DATA = "synthetic:120x60x1500:3"


def result(values: np.ndarray) -> FoldResult:
    users = list(range(len(values)))
    return FoldResult(users, {"ndcg@10": values}, 0.1, 0.1, 0, 0, None, ())


def entered(**means: float) -> _Race:
    """Return a race with settings of these means, of users who differ a little."""
    race, noise = _Race("ndcg@10", higher=True), np.random.default_rng(0).random(100) / 100
    for text, mean in means.items():
        race.add(parse_model(text.replace("_", "-")), result(mean + noise), 1.0)
    return race


@pytest.mark.usefixtures("worker_here")
def test_the_same_trials_give_the_same_choice() -> None:
    data = load_dataset(DATA)
    first, second = (choose(data, trials=7) for _ in range(2))
    assert first.spec == second.spec
    assert [(e.spec, e.value) for e in first.entrants] == [
        (e.spec, e.value) for e in second.entrants
    ]
    assert len(first.entrants) == 7
    longer = choose(data, trials=8)
    assert [e.spec for e in longer.entrants[:7]] == [e.spec for e in first.entrants]
    assert first.table().rows[0][0] == str(first.spec)


def test_a_later_setting_of_a_model_must_be_clearly_better() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(400)
    for shift, name in ((0.001, "ease"), (0.1, "ease(reg=1000)")):
        race = _Race("ndcg@10", higher=True)
        race.add(parse_model("ease"), result(base), 1.0)
        noise = rng.standard_normal(400) / 10
        race.add(parse_model("ease(reg=1000)"), result(base + shift + noise - noise.mean()), 1.0)
        assert str(race.choice().spec) == name
        assert race.choice().reason == (
            "chosen by ndcg@10 among 2 settings on held-out interactions; "
            "ease(reg=1000) is not clearly better than an earlier ease"
            if name == "ease"
            else "best ndcg@10 of 2 settings on held-out interactions"
        )


def test_every_family_starts_on_its_steps() -> None:
    for family in FAMILIES:
        for spec in family.first_settings(with_times=True):
            for name, values in family.steps.items():
                assert spec.params[name] in values
                assert len(set(values)) == len(values)


def test_families_far_behind_get_no_more_trials() -> None:
    race = entered(popularity=0.1, item_knn=0.5, spectral_ranker=0.5)
    fold = SimpleNamespace(train=Interactions.from_pairs([1, 2], ["a", "b"]))
    rng = np.random.default_rng(1)
    settings = race.settings(fold)
    for family in FAMILIES:
        for spec in family.first_settings(with_times=False):
            assert next(settings) == spec
    for _ in range(12):
        spec = next(settings)
        assert spec.name in ("item-knn", "spectral-ranker")
        mean = 0.4 if spec.name == "item-knn" else 0.49
        race.add(spec, result(mean + rng.random(100) / 50), 1.0)


def test_a_setting_differs_from_the_best_of_its_family_by_one_step() -> None:
    race = entered(item_knn=0.5)
    fold = SimpleNamespace(train=Interactions.from_pairs([1, 2], ["a", "b"]))
    settings = race.settings(fold)
    for _ in range(sum(len(family.starts) for family in FAMILIES)):
        next(settings)
    spec = next(settings)
    start = parse_model("item-knn").params
    changed = {name for name, value in spec.params.items() if value != start[name]}
    assert len(changed) == 1
    assert "recency" not in changed  # there are no times


def test_errors_and_undefined_metrics_are_entrants_that_lose() -> None:
    race = entered(popularity=0.2)
    race.add(parse_model("ease"), None, 1.0, "out of memory")
    race.add(parse_model("item-knn"), result(np.full(10, np.nan)), 1.0)
    choice = race.choice()
    assert choice.spec.name == "popularity"
    assert [bool(e.error) for e in choice.entrants] == [False, True, True]
    assert "out of memory" in str(choice.table().rows)
    assert json.loads(json.dumps(choice.to_dict()))["settings"][1]["value"] is None
    empty = _Race("ndcg@10", higher=True)
    empty.add(parse_model("ease"), None, 1.0, "out of memory")
    with pytest.raises(InputError, match="out of memory"):
        empty.choice()


def test_lower_is_better_for_some_metrics() -> None:
    race = _Race("ndcg@10", higher=False)
    for name, mean in (("popularity", 0.4), ("ease", 0.2), ("item-knn", 0.3)):
        race.add(parse_model(name), result(np.full(50, mean)), 1.0)
    choice = race.choice()
    assert [row[0] for row in choice.table().rows] == ["ease", "item-knn", "popularity"]


def test_data_without_anything_to_hold_out_get_a_model_all_the_same() -> None:
    choice = choose(Interactions.from_pairs([1, 1], ["a", "b"]))
    assert choice.spec.name == "item-knn"
    assert "one user" in choice.reason
    assert choice.entrants == ()


@pytest.mark.usefixtures("worker_here")
def test_a_missing_time_is_as_good_as_none() -> None:
    data = load_dataset(DATA)
    some = np.array(data.time, float)
    some[3] = np.nan
    without, lacking = (
        choose(Interactions(data.users, data.items, *data.rows, time), trials=3)
        for time in (None, some)
    )
    assert [e.spec for e in lacking.entrants] == [e.spec for e in without.entrants]


def test_a_budget_ends_the_race() -> None:
    choice = choose(load_dataset(DATA), trials=1000, budget=1e-3)
    assert 1 <= len(choice.entrants) < 10


@pytest.mark.parametrize("wrong", [{"trials": 0}, {"budget": 0.0}, {"metric": "coverage@10"}])
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        choose(load_dataset(DATA), **wrong)


def test_fit_chooses_by_default_and_show_tells_again(run, tmp_path) -> None:
    out = str(tmp_path / "model")
    code, printed, _ = run("fit", DATA, "--out", out, "--trials", 3, "--metric", "auc")
    assert code == 0
    choice: Choice = choose(load_dataset(DATA), metric="auc", trials=3)
    for each in choice.entrants:
        assert str(each.spec) in printed
    info = model_info(out)
    assert parse_model(info["model"]).name == choice.spec.name
    assert info["choice"]["reason"] == choice.reason
    assert [
        math.isclose(s["value"], e.value)
        for s, e in zip(info["choice"]["settings"], choice.entrants, strict=True)
    ] == [True] * 3
    assert choice.reason in run("show", out)[1]
    model = load_model(out)
    assert (
        model.recommend(n=3).lists()
        == choice.spec.make().fit(load_dataset(DATA)).recommend(n=3).lists()
    )
    assert model.update().fitted.choice == info["choice"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model", "auto", "--kernel", "linear"], "--kernel needs a model"),
        (["--model", "ease", "--trials", "3"], "--trials goes with --model auto"),
        (["--model", "ease", "--metric", "auc"], "--metric goes with --model auto"),
        (["--budget", "soon"], "a time such as 120s"),
        (["--budget", "0s"], "a time such as 120s"),
        (["--metric", "nonsense"], "nonsense"),
    ],
)
def test_fit_refuses_options_that_do_not_go_together(run, tmp_path, args, message) -> None:
    code, _, messages = run("fit", DATA, "--out", str(tmp_path / "model"), *args)
    assert code
    assert message in messages
    assert not (tmp_path / "model").exists()


@pytest.mark.usefixtures("worker_here")
def test_evaluate_chooses_on_the_training_part_of_one_fold(run) -> None:
    split = ["--protocol", "hold_out", "--order", "random"]
    args = ["--model", "auto", "--model", "popularity", "--trials", 3, "--metrics", "ndcg@10"]
    code, printed, _ = run("evaluate", DATA, *split, *args, "--json")
    assert code == 0
    fold = hold_out(load_dataset(DATA))[0]
    spec = choose(fold.train, trials=3, order="random").spec
    found = {record["model"]: record["mean"] for record in json.loads(printed)}
    assert found[str(spec)] == pytest.approx(
        evaluate(spec.make(), fold, "ndcg@10").means["ndcg@10"]
    )
    code, _, messages = run("evaluate", DATA, "--protocol", "paper", *args)
    assert code
    assert "5 folds" in messages
    code, _, messages = run("evaluate", DATA, "--model", "popularity", "--budget", "10s")
    assert code
    assert "--budget goes with --model auto" in messages


def test_evaluate_takes_a_split_that_exists(run, tmp_path) -> None:
    parts = {"train": "user,item\n1,a\n1,b\n2,b\n2,c\n3,a\n", "test": "user,item\n1,c\n3,b\n"}
    for name, text in parts.items():
        (tmp_path / f"{name}.csv").write_text(text)
    files = [tmp_path / "train.csv", tmp_path / "test.csv"]
    model = ["--model", "popularity", "--json"]
    code, printed, _ = run("evaluate", "--train", files[0], "--test", files[1], *model)
    assert code == 0
    other = run("evaluate", *files, "--protocol", "published", *model)[1]
    means, others = ([each["mean"] for each in json.loads(text)] for text in (printed, other))
    assert means == others
    for wrong in (["--train", files[0]], [DATA, "--train", files[0], "--test", files[1]], []):
        code, _, messages = run("evaluate", *wrong, *model)
        assert code
        assert "--train and --test" in messages


@pytest.mark.parametrize("choice", [3, {}, {"settings": 5}, {"settings": [3]}], ids=str)
def test_an_altered_choice_is_refused(run, tmp_path, choice) -> None:
    out = tmp_path / "model"
    Popularity().fit(load_dataset(DATA)).save(out)
    header = json.loads((out / "header.json").read_text())
    header["content"]["about"]["choice"] = choice
    (out / "header.json").write_text(json.dumps(header))
    seal(out)
    with pytest.raises(ModelFileError, match="impossible choice"):
        load_model(out)
    code, _, messages = run("show", out)
    assert code
    assert "impossible choice" in messages


@pytest.mark.usefixtures("worker_here")
def test_a_random_part_is_predicted_without_recency() -> None:
    data = load_dataset(DATA)
    timed = choose(data, trials=12)
    assert any(each.spec.params.get("recency") for each in timed.entrants)
    at_random = choose(data, trials=12, order="random")
    assert not any(each.spec.params.get("recency") for each in at_random.entrants)


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("worker_here")
def test_the_order_of_rows_is_no_time_in_a_race(run, tmp_path, monkeypatch) -> None:
    """It stands in for times in the paper's protocol; a race would learn the order of a file."""
    rng = np.random.default_rng(0)
    pairs = {(int(u), int(i)) for u, i in zip(*rng.integers(0, 25, (2, 300)), strict=True)}
    (tmp_path / "filmtrust").mkdir()
    text = "".join(f"{user} {item} 4\n" for user, item in sorted(pairs))
    (tmp_path / "filmtrust" / "ratings.txt").write_text(text)
    monkeypatch.setenv("BOOLRANK_DATA", str(tmp_path))
    code, _, messages = run("fit", "filmtrust", "--trials", 8, "--out", tmp_path / "model")
    assert code == 0, messages
    settings = model_info(tmp_path / "model")["choice"]["settings"]
    assert len(settings) == 8
    assert not any("recency" in each["model"] for each in settings)
    assert "so the split is random" in run("evaluate", "filmtrust", "--trials", 1)[2]
    fit = "fit", "filmtrust", "--model", "ease(recency=4)", "--out", tmp_path / "other"
    assert run(*fit)[0] == 0  # what tune and compare may have found


@pytest.mark.usefixtures("worker_here")
def test_evaluate_without_a_model_measures_the_choice_beside_popularity(run) -> None:
    data = "synthetic:600x300x6000"
    code, printed, messages = run("evaluate", data, "--trials", 2, "--json")
    assert code == 0
    fold = hold_out(load_dataset(data), order="time")[0]
    choice = choose(fold.train, trials=2)
    assert f"auto is {choice.spec}, chosen on the training part: {choice.reason}" in messages
    records = json.loads(printed)
    assert [record["model"] for record in records] == [str(choice.spec), "popularity"]
    expected = evaluate(choice.spec.make(), fold).means
    for name in ("coverage@10", "novelty@10", "top10_share@10"):
        assert records[0][name] == expected[name]
    assert records[0]["mean"] == expected["auc"]


def test_a_race_leaves_out_the_few_users_that_make_too_many_pairs(monkeypatch) -> None:
    users = np.repeat(np.arange(400), 3)
    items = np.random.default_rng(0).integers(0, 3000, len(users))
    heavy = Interactions.from_pairs([*users, *[400] * 3000], [*items, *range(3000)])
    assert families.activity_cap(heavy) is None
    monkeypatch.setattr(families, "_PAIRS", 100_000)
    assert families.activity_cap(heavy) == 2000
    light = Interactions.from_pairs(users, items)
    assert families.activity_cap(light) is None
    monkeypatch.setattr(families, "_LEFT_OUT", 0.0)
    assert families.activity_cap(heavy) is None
    for family in FAMILIES:
        for spec in family.first_settings(with_times=True, items=3000, cap=2000):
            assert spec.params.get("activity_cap") == (None if spec.name == "popularity" else 2000)
            spec.make()


def test_large_catalogues_race_with_sparse_weights() -> None:
    stored = {
        items: {
            spec.name: spec.params.get("storage")
            for family in FAMILIES
            for spec in family.first_settings(with_times=False, items=items)
        }
        for items in (10_000, 10_001)
    }
    assert stored[10_000]["ease"] != "sparse"
    assert stored[10_001]["ease"] == stored[10_001]["kernel-ease"] == "sparse"
    assert set(stored[10_001]) == set(stored[10_000])
