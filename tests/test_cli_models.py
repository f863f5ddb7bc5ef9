"""The verbs that work with saved models: fit, recommend, similar, explain, show, update, models."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID

import numpy as np
import polars as pl
import pytest

from boolrank import Interactions, KernelRanker
from boolrank.cli import _output, recommend
from boolrank.cli import update as update_verb
from boolrank.errors import ModelFileError
from boolrank.models import MODELS, load_model, make_model, model_info
from boolrank.models.model_folder import updating
from boolrank.storage.folder import locked

DRINKS = """\
user,item,stars,date
ann,tea,5,2024-01-02
ann,scone,4,2024-01-02
ann,jam,4,2024-01-03
bob,coffee,5,2024-01-02
bob,croissant,5,2024-01-05
bob,jam,4,2024-01-05
cid,tea,5,2024-01-06
cid,scone,3,2024-01-06
dee,tea,4,2024-01-06
dee,coffee,4,2024-01-07
dee,coffee,5,2024-01-09
007,coffee,5,2024-02-07
eve,milk,1,2024-02-07
"""
_PLAIN = "user,item,n\nann,tea,1\n"


@pytest.fixture
def drinks(tmp_path):
    path = tmp_path / "drinks.csv"
    path.write_text(DRINKS)
    return path


@pytest.fixture
def model(run, drinks, tmp_path):
    out = tmp_path / "model"
    code, stdout, _ = run("fit", drinks, "--positive", ">= 4", "--kernel", "linear", "--out", out)
    assert (code, stdout) == (0, "")
    return out


def test_fit_reports_the_model_the_data_the_time_and_the_memory(run, drinks, tmp_path):
    code, out, err = run("fit", drinks, "--kernel", "disjunctive(2)", "--out", tmp_path / "model")
    assert (code, out) == (0, "")
    assert "kernel-ranker(kernel=disjunctive(2)) on Interactions: 6 users x 6 items, 12 int" in err
    assert re.search(r"; \d+\.\d s, [\d,]+ MB peak memory\n$", err)


@pytest.mark.usefixtures("worker_here")
def test_a_choice_whose_lists_few_items_fill_has_a_note_with_what_to_do(run, tmp_path):
    data, out = "synthetic:600x300x6000", tmp_path / "model"
    _, _, err = run("fit", data, "--trials", "1", "--out", out)  # popularity comes first
    assert re.search(r"^note: Ten items fill 8\d% of the places", err, re.MULTILINE)
    assert f"To try more: boolrank compare {data}\n" in err


def test_lists_for_everybody_that_few_items_fill_have_a_note_with_what_to_do(run, tmp_path):
    data, out = "synthetic:600x300x6000", tmp_path / "model"
    run("fit", data, "--model", "popularity", "--out", out)
    _, _, err = run("recommend", out, "--csv")
    assert re.search(
        r"^note: Ten items fill 8\d% .* without --model tries others$", err, re.MULTILINE
    )
    _, _, err = run("recommend", out, "--users", "0,1")
    assert "note: Ten items" not in err, "two lists say little"
    run("fit", data, "--kernel", "linear", "--out", out)
    _, _, err = run("recommend", out, "--csv")
    assert "note:" not in err


def test_fit_is_what_the_library_does(model):
    events = pl.read_csv(io.StringIO(DRINKS))
    data = Interactions.from_frame(events, positive=">= 4")
    expected = KernelRanker("linear").fit(data).recommend(n=10)
    found = load_model(model).recommend(n=10)
    assert found.users == ["007", "ann", "bob", "cid", "dee"]
    assert found.lists() == expected.lists()


def test_parameters_and_columns_of_fit_reach_the_model(run, drinks, tmp_path):
    model = ["--model", "kernel-ranker(reg=0.5, kernel=linear)", "--kernel", "tanimoto"]
    columns = ["--user", "item", "--item", "user", "--rating", "stars", "--time", "date"]
    args = [*model, *columns, "--positive", "<4", "--threads", 1]
    assert run("fit", drinks, *args, "--out", tmp_path / "m")[0] == 0
    loaded = load_model(tmp_path / "m")
    assert (loaded.reg, str(loaded.kernel)) == (0.5, "tanimoto"), "--kernel wins"
    assert list(loaded.interactions.users) == ["milk", "scone"]
    assert list(loaded.interactions.items) == ["cid", "eve"]


@pytest.mark.filterwarnings("ignore")  # of the libraries that others wrote
@pytest.mark.parametrize("name", [name for name, entry in MODELS.items() if entry.available])
def test_every_model_is_fitted_saved_shown_updated_and_asked_by_command(
    run, drinks, tmp_path, name
):
    out = tmp_path / "model"
    text = f"{name}(kernel=linear)" if "kernel" in MODELS[name].defaults else name
    assert run("fit", drinks, "--model", text, "--out", out)[0] == 0
    data = Interactions.from_files(drinks)
    params = {"kernel": "linear"} if "kernel" in MODELS[name].defaults else {}
    expected = make_model(name, **params).fit(data).recommend(n=3)
    _, printed, _ = run("recommend", out, "--n", 3, "--json")
    found = [record["item"] for record in json.loads(printed)]
    assert found == [item for items in expected.lists() for item in items]
    _, printed, _ = run("show", out, "--json")
    (info,) = json.loads(printed)
    assert (info["model"], info["users"], info["interactions"]) == (name, 6, 12)
    abilities = MODELS[name].abilities
    code, printed, err = run("explain", out, "ann", "coffee", "--json")
    assert (code == 0) == ("explain" in abilities), err
    code, printed, err = run("similar", out, "tea", "--json")
    assert (code == 0) == ("similar" in abilities), err
    (tmp_path / "new.csv").write_text("user,item\nfay,tea\nfay,jam\n")
    code, _, err = run("update", out, tmp_path / "new.csv")
    assert code == 0
    exact = "exact update" in abilities
    assert ("updated from counts" if exact else "fitted again on all events") in err
    _, printed, _ = run("recommend", out, "--users", "fay", "--n", 9, "--include-seen", "--json")
    everything = data.updated(Interactions.from_files(tmp_path / "new.csv"), None)
    again = make_model(name, **params).fit(everything).recommend(["fay"], 9, exclude_seen=False)
    assert [record["item"] for record in json.loads(printed)] == again.lists()[0]


def test_the_list_of_models_has_parameters_defaults_ranges_and_abilities(run):
    _, printed, _ = run("models", "--json")
    found = {record["name"]: record for record in json.loads(printed)}
    assert list(found) == list(MODELS)
    assert found["ease"]["parameters"][0] == {
        "name": "reg",
        "default": 500.0,
        "allowed": "number from 0 to 1e+12",
        "search": "1 to 1e+06, log",
    }
    assert "exact update" in found["kernel-ranker"]["abilities"]
    assert found["als"]["extra"] == "compare"
    _, table, _ = run("models")
    for name in MODELS:
        assert re.search(rf"^ {name} ", table, re.MULTILINE)
    assert "negative_weight" in table


def test_update_removes_events_and_leaves_the_model_alone_if_it_fails(run, model, tmp_path):
    before = load_model(model).interactions.size
    (tmp_path / "old.csv").write_text("user,item\nann,jam\n")
    code, out, err = run("update", model, "--remove", tmp_path / "old.csv")
    assert (code, out) == (0, "")
    assert "updated from counts" in err
    assert load_model(model).interactions.size == before - 1
    code, _, err = run("update", model, "--remove", tmp_path / "old.csv")
    assert code == 1
    assert load_model(model).interactions.size == before - 1
    code, _, err = run("update", model)
    assert code == 2
    assert "there are no events" in err


def test_an_update_that_runs_while_another_reads_its_files_is_kept(
    run, model, tmp_path, monkeypatch
):
    for name in ("first", "second"):
        (tmp_path / f"{name}.csv").write_text(f"user,item\n{name},jam\n")
    read = update_verb.read_events

    def read_slowly(*given):
        monkeypatch.setattr(update_verb, "read_events", read)
        assert run("update", model, tmp_path / "second.csv")[0] == 0
        return read(*given)

    monkeypatch.setattr(update_verb, "read_events", read_slowly)
    assert run("update", model, tmp_path / "first.csv")[0] == 0
    users = load_model(model).interactions.users
    assert ("first" in users, "second" in users) == (True, True)


def test_updates_of_a_folder_take_turns(model):
    start = Barrier(4)

    def add(name):
        start.wait()
        with updating(model) as opened:
            with pytest.raises(BlockingIOError), locked(model.parent, wait=False):
                pass
            opened.update(Interactions.from_pairs([name], ["jam"]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, "abcd"))
    assert [name in load_model(model).interactions.users for name in "abcd"] == [True] * 4


def test_update_converts_ids_to_the_type_of_the_model(run, tmp_path):
    folder, day = tmp_path / "model", tmp_path / "day.csv"
    data = Interactions.from_pairs(["a1", "2", "10", "2"], ["x", "2", "10", "x"])
    KernelRanker("linear").fit(data).save(folder)
    day.write_text("user,item\n2,10\n10,2\n3,2\n")
    assert run("update", folder, day)[0] == 0
    more = Interactions.from_pairs(["2", "10", "3"], ["10", "2", "2"])
    found, wanted = load_model(folder).interactions, data.updated(more)
    assert sorted(found.to_frame().rows()) == sorted(wanted.to_frame().rows())
    assert run("update", folder, "--remove", day)[0] == 0
    assert load_model(folder).interactions.to_frame().rows() == data.to_frame().rows()

    KernelRanker("linear").fit(Interactions.from_pairs([1, 2, 2], [7, 7, 8])).save(folder)
    day.write_text("user,item\n1,8\n007,8\n")
    code, _, err = run("update", folder, day)
    assert code == 1
    assert "users here are of type int, such as 1, and '007' is of type str" in err


@pytest.mark.parametrize("name", ["popularity", "ease", "kernel-ranker(kernel=linear)", "cf-omd"])
def test_update_refuses_to_remove_everything(run, drinks, tmp_path, name):
    folder = tmp_path / "model"
    assert run("fit", drinks, "--model", name, "--out", folder)[0] == 0
    before = model_info(folder)
    code, _, err = run("update", folder, "--remove", drinks)
    assert code == 1
    assert "error: no interactions are left" in err
    assert model_info(folder) == before


def test_recommendations_as_json_csv_and_table_are_the_same(run, model):
    _, as_json, err = run("recommend", model, "--users", "ann, 007", "--n", 2, "--json")
    records = json.loads(as_json)
    assert err == ""
    assert [(r["user"], r["rank"]) for r in records] == [
        ("ann", 1), ("ann", 2), ("007", 1), ("007", 2),
    ]  # fmt: skip
    assert not any(r["popular"] for r in records)
    _, as_csv, _ = run("recommend", model, "--users", "ann,007", "--n", 2, "--csv")
    rows = list(csv.DictReader(io.StringIO(as_csv)))
    assert [row["item"] for row in rows] == [r["item"] for r in records]
    assert [float(row["score"]) for row in rows] == [r["score"] for r in records]
    assert rows[0]["popular"] == "false"
    _, table, _ = run("recommend", model, "--users", "ann,007", "--n", 2)
    assert re.findall(r"ann +1 +(\w+)", table) == [records[0]["item"]]
    assert re.findall(r"007 +1 +(\w+)", table) == [records[2]["item"]]


def test_seen_items_are_left_out_unless_asked_for(run, model):
    def items(*options):
        _, out, _ = run("recommend", model, "--users", "ann", "--json", *options)
        return {record["item"] for record in json.loads(out)}

    assert items() == {"coffee", "croissant"}
    assert items("--include-seen") == {"tea", "scone", "jam", "coffee", "croissant"}


def test_users_can_be_in_a_file(run, model, tmp_path):
    (tmp_path / "ids.txt").write_text("dee\n\n ann \n")
    _, out, _ = run("recommend", model, "--users", f"@{tmp_path / 'ids.txt'}", "--n", 1, "--json")
    assert [record["user"] for record in json.loads(out)] == ["dee", "ann"]


def _items(run, *args):
    code, out, err = run(*args, "--json")
    assert code == 0, err
    return [record["item"] for record in json.loads(out)], err


def test_a_profile_is_recommended_items_and_unknown_ids_are_counted(run, model):
    fitted = load_model(model)
    items, err = _items(run, "recommend", model, "--profile", "tea,jam")
    assert (items, err) == (fitted.recommend_profile(["tea", "jam"]).lists()[0], "")
    again, err = _items(run, "recommend", model, "--profile", "tea, beer,jam,wine")
    assert again == items
    assert err == "note: unknown ids in --profile, 2 of 4, are ignored: beer, wine\n"
    code, out, err = run("recommend", model, "--profile", "tea,beer", "--strict")
    assert (code, out) == (1, "")
    assert "no item 'beer'" in err
    popular, _ = _items(run, "recommend", model, "--profile", "beer", "--n", 2)
    assert popular == ["coffee", "tea"]


def test_profiles_come_from_a_file_with_one_per_line(run, model, tmp_path):
    path = tmp_path / "profiles.txt"
    path.write_text('tea,jam\n\n"coffee", beer\n')
    code, out, err = run("recommend", model, "--profiles", path, "--n", 2, "--json")
    assert code == 0
    assert "unknown ids in --profiles, 1 of 4, are ignored: " in err
    records = json.loads(out)
    expected = load_model(model).recommend_profiles([["tea", "jam"], [], ["coffee"]], n=2).lists()
    for number, items in enumerate(expected, 1):
        assert [r["item"] for r in records if r["profile"] == number] == items
    assert [r["popular"] for r in records if r["profile"] == 2] == [True, True]
    assert run("recommend", model, "--profiles", f"@{path}", "--n", 2, "--json")[1] == out


def test_candidates_and_excluded_items_are_ids_or_a_file(run, model, tmp_path):
    (tmp_path / "ids").write_text("coffee\nbeer\n")
    items, err = _items(run, "recommend", model, "--users", "ann", "--candidates", "coffee,beer")
    assert items == ["coffee"]
    assert err == "note: unknown ids in --candidates, 1 of 2, are ignored: beer\n"
    _, _, err = run("recommend", model, "--users", "Ann")
    assert (
        err == "note: unknown ids in --users, 1 of 1, get popular items: Ann; did you mean ann?\n"
    )
    items, err = _items(run, "recommend", model, "--users", "ann", "--exclude", f"@{tmp_path}/ids")
    assert items == ["croissant"]
    assert "unknown ids in --exclude, 1 of 2, are ignored" in err
    for option in ("--candidates", "--exclude"):
        code, _, err = run("recommend", model, "--users", "ann", option, "beer", "--strict")
        assert (code, "no item 'beer'" in err) == (1, True)


def test_unknown_users_get_popular_items_and_are_listed(run, model):
    code, out, err = run("recommend", model, "--users", "zoe,ann,max", "--n", 2, "--json")
    assert code == 0
    assert err == "note: unknown ids in --users, 2 of 3, get popular items: zoe, max\n"
    records = json.loads(out)
    assert [(r["user"], r["item"]) for r in records if r["popular"]] == [
        ("zoe", "coffee"), ("zoe", "tea"), ("max", "coffee"), ("max", "tea"),
    ]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of files")
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_lists_that_do_not_fit_on_the_disk_are_an_error_and_leave_nothing(tmp_path, ending):
    ids = np.arange(2000)
    KernelRanker("linear").fit(Interactions.from_pairs(ids, ids % 7)).save(tmp_path / "model")
    program = (
        "import resource, sys\n"
        "from boolrank.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "main(sys.argv[1:])\n"
    )
    out = tmp_path / "lists" / f"all{ending}"
    call = ("recommend", tmp_path / "model", "--out", out)
    out.parent.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, call)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert re.search(rf"^error: .*all\{ending} cannot be written: .*\nhint: .* room", done.stderr)
    assert not list(out.parent.iterdir())


def test_ids_are_no_formulas_in_a_spreadsheet_if_asked_for(run, tmp_path):
    ids = ["=1+1", "+a", "-b", "@c", "\td", "e=2"]
    folder, out = tmp_path / "model", tmp_path / "lists.csv"
    KernelRanker("linear").fit(Interactions.from_pairs(["u"] * len(ids), ids)).save(folder)
    ask = ("recommend", folder, "--include-seen")
    for more, mark in (((), ""), (("--safe-csv",), "'")):
        expected = {mark * (each != "e=2") + each for each in ids}
        _, text, _ = run(*ask, "--csv", *more)
        assert {row["item"] for row in csv.DictReader(io.StringIO(text))} == expected
        run(*ask, "--out", str(out), *more)
        with out.open(encoding="utf-8", newline="") as file:
            assert {row["item"] for row in csv.DictReader(file)} == expected


def test_ids_cannot_act_on_the_terminal_but_are_exact_in_json_and_csv(run, tmp_path):
    evil = "tea\x1b[2J\x9b31m\u202e"
    data = Interactions.from_pairs(["a", "a", "b"], [evil, "x", "x"])
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    _, table, _ = run("recommend", tmp_path / "model", "--users", "b")
    assert r"tea\x1b[2J\x9b31m\u202e" in table
    _, table, err = run("explain", tmp_path / "model", "a", evil)
    _, _, note = run("recommend", tmp_path / "model", "--users", evil)
    assert not {"\x1b", "\x9b", "\u202e"} & set(table + err + note)
    assert (
        json.loads(run("recommend", tmp_path / "model", "--users", "b", "--json")[1])[0]["item"]
        == evil
    )
    assert evil in run("recommend", tmp_path / "model", "--users", "b", "--csv")[1]


def test_a_profile_is_explained_like_a_user(run, model):
    _, out, err = run("explain", model, "--profile", "tea,scone,jam,beer", "coffee", "--json")
    assert "unknown ids in --profile, 1 of 4, are ignored: beer" in err
    assert json.loads(out) == json.loads(run("explain", model, "ann", "coffee", "--json")[1])


READERS = {
    ".parquet": pl.read_parquet,
    ".csv": lambda path: pl.read_csv(path, schema_overrides={"user": pl.String}),
    ".jsonl": pl.read_ndjson,
}


def test_there_is_a_reader_for_every_output():
    assert set(READERS) == set(recommend.WRITERS)


@pytest.mark.parametrize("ending", READERS)
def test_an_interrupted_file_of_lists_continues_and_leaves_nothing(
    run, model, tmp_path, ending, monkeypatch
):
    monkeypatch.setattr(recommend, "_BATCH", 2)
    out = tmp_path / "new" / f"recs{ending}"
    run("recommend", model, "--out", out)
    expected, put = READERS[ending](out), recommend.Parts.put
    out.unlink()

    def stop(parts, number, frame):
        put(parts, number, frame)
        if number == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(recommend.Parts, "put", stop)
    assert run("recommend", model, "--out", out)[0] == 130
    (folder,) = out.parent.iterdir()
    assert len(list(folder.glob("*.bin"))) == 2
    written = []
    monkeypatch.setattr(recommend.Parts, "put", lambda *part: (written.append(part[1]), put(*part)))
    assert run("recommend", model, "--out", out)[0] == 0
    assert written == [2], "the first two parts were there"
    assert READERS[ending](out).equals(expected)
    assert [file.name for file in out.parent.iterdir()] == [out.name]


@pytest.mark.skipif(os.name == "nt", reason="there are no locks on folders there")
@pytest.mark.parametrize("key", ["the same", "another"])
def test_two_runs_into_one_file_do_not_disturb_each_other(tmp_path, key):
    frame, path = pl.DataFrame({"rank": [1]}), tmp_path / "recs.csv"
    with recommend.Parts.open(path, "the same") as parts:
        for number in range(2):  # before and after the first part is there
            wrong = pytest.raises(ModelFileError, match=r"another process writes .*recs.csv; wait")
            with wrong, recommend.Parts.open(path, key):
                pass
            parts.put(number, frame)
        parts.join(1, safe=False)
    assert path.read_text() == "rank\n1\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_run_that_fails_leaves_no_folder_of_a_killed_one(tmp_path):
    (tmp_path / ".recs.csv-parts").mkdir()
    path = tmp_path / "recs.csv"
    with pytest.raises(ValueError, match="stop"), recommend.Parts.open(path, "key"):
        raise ValueError("stop")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="such names are not allowed there")
def test_signs_of_patterns_in_the_name_of_a_file_are_plain_signs(tmp_path):
    path, other = tmp_path / "re[c*.csv", tmp_path / ".re[cs.csv-parts"
    other.mkdir()
    with recommend.Parts.open(path, "key") as parts:
        parts.put(0, pl.DataFrame({"rank": [1]}))
        assert parts.get(0) is not None
        parts.join(1, safe=False)
    assert path.read_text() == "rank\n1\n"
    assert set(tmp_path.iterdir()) == {path, other}, "parts of another file stay"


@pytest.mark.parametrize("ending", READERS)
def test_everybody_goes_into_a_file(run, model, tmp_path, ending):
    out = tmp_path / "new" / f"recs{ending}"
    code, stdout, err = run("recommend", model, "--n", 3, "--out", out)
    assert (code, stdout) == (0, "")
    assert "rows for 5 users" in err
    frame = READERS[ending](out)
    expected = load_model(model).recommend(n=3)
    assert frame.columns == ["user", "rank", "item", "score", "popular"]
    found = frame.group_by("user", maintain_order=True).agg("item")
    assert found["user"].to_list() == expected.users
    assert found["item"].to_list() == expected.lists()
    assert np.allclose(frame["score"], expected.scores[~np.isnan(expected.scores)])
    assert [path.name for path in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize(
    "make",
    [lambda k: k * 11, lambda k: UUID(int=k), lambda k: k / 3],
    ids=["whole", "uuid", "fraction"],
)
def test_ids_of_other_types_are_matched_to_text(run, tmp_path, make):
    rng = np.random.default_rng(3)
    ids = [make(k) for k in range(1, 9)]
    data = Interactions.from_matrix(rng.random((8, 8)) < 0.5, ids, ids)
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    _, out, _ = run("recommend", tmp_path / "model", "--users", ids[1], "--n", 1, "--json")
    (record,) = json.loads(out)
    assert str(record["user"]) == str(ids[1])
    _, out, _ = run("similar", tmp_path / "model", ids[0], "--n", 1, "--json")
    assert str(json.loads(out)[0]["item"]) == str(ids[0])
    code, _, err = run("recommend", tmp_path / "model", "--users", "zoe", "--strict")
    assert code == 1
    assert f"hint: users here are of type {type(ids[0]).__name__}" in err


def test_people_without_a_history_get_popular_items_and_it_shows(run, tmp_path):
    matrix = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]])
    data = Interactions.from_matrix(matrix, ["a", "b", "new"], ["x", "y", "z"])
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    _, out, _ = run("recommend", tmp_path / "model", "--users", "new", "--n", 1)
    assert re.search(r"new +1 +x \* +2 ", out)
    assert "* popular items, because there is no history" in out
    code, out, err = run("explain", tmp_path / "model", "new", "x", "--csv")
    assert (code, out) == (0, "item,adds\n")
    assert "new has no history" in err


def test_similar_items(run, model):
    _, out, _ = run("similar", model, "tea", "jam", "--n", 2, "--json")
    records = json.loads(out)
    assert [(r["item"], r["rank"]) for r in records] == [
        ("tea", 1), ("tea", 2), ("jam", 1), ("jam", 2),
    ]  # fmt: skip
    expected = load_model(model).similar_items(["tea", "jam"], n=2)
    assert [r["similar"] for r in records] == expected.items.ravel().tolist()
    _, table, _ = run("similar", model, "tea")
    assert re.search(rf"tea +1 +{records[0]['similar']}", table)


def test_reasons_add_up_to_the_score(run, model):
    _, out, _ = run("explain", model, "ann", "coffee", "--json")
    reasons = json.loads(out)
    assert {reason["item"] for reason in reasons} == {"tea", "scone", "jam"}
    _, out, _ = run("recommend", model, "--users", "ann", "--json")
    score = next(r["score"] for r in json.loads(out) if r["item"] == "coffee")
    assert sum(reason["adds"] for reason in reasons) == pytest.approx(score, abs=1e-12)
    _, table, _ = run("explain", model, "ann", "coffee")
    assert "Why coffee for ann" in table
    assert f"{score:.6f}" in table.splitlines()[-2]


def test_some_reasons_are_the_first_of_all_and_the_table_still_adds_up(run, model):
    _, out, _ = run("explain", model, "ann", "coffee", "--json")
    every = json.loads(out)
    _, out, _ = run("explain", model, "ann", "coffee", "--n", 1, "--json")
    assert json.loads(out) == every[:1]
    _, table, _ = run("explain", model, "ann", "coffee", "--n", 1)
    rest, total = (sum(reason["adds"] for reason in part) for part in (every[1:], every))
    assert re.search(rf"2 more +{rest:.6f}", table)
    assert re.search(rf"score +{total:.6f}", table)
    assert "more" not in run("explain", model, "ann", "coffee", "--n", 3)[1]


@pytest.mark.parametrize(
    ("code", "args", "said"),
    [
        (1, ["recommend", "MODEL", "--users", "an", "--strict"], ["no user 'an'", "mean 'ann'?"]),
        (1, ["similar", "MODEL", "te"], ["no item 'te'", "hint: did you mean 'tea'?"]),
        (1, ["explain", "MODEL", "ann", "cofee"], ["no item 'cofee'", "mean 'coffee'?"]),
        (1, ["explain", "MODEL", "bop", "tea"], ["no user 'bop'", "mean 'bob'?"]),
        (2, ["explain", "MODEL", "tea"], ["expected USER ITEM, not 'tea'", "--profile ID,ID ITEM"]),
        (
            2,
            ["explain", "MODEL", "ann", "tea", "--profile", "jam"],
            ["expected ITEM, not 'ann tea"],
        ),
        (2, ["recommend", "MODEL", "--out", "x.xlsx"], ["no known file type", ".parquet, .csv, "]),
        (1, ["recommend", "MODEL", "--out", "TMP.csv"], ["it is a folder"]),
        (
            1,
            ["recommend", "MODEL", "--users", "@nowhere"],
            ["--users cannot read 'nowhere': No su"],
        ),
        (1, ["recommend", "MODEL", "--profiles", "nowhere"], ["--profiles cannot read 'nowhere'"]),
        (
            2,
            ["recommend", "MODEL", "--users", "a", "--profile", "b"],
            ["--users and --profile excl"],
        ),
        (
            1,
            ["recommend", "MODEL", "--where", "price < 4"],
            ["hint: fit the model with a table of items"],
        ),
        (1, ["recommend", "nowhere"], ["no folder nowhere"]),
        (2, ["recommend", "MODEL", "--n", "0"], ["value for '--n': Input should be greater than"]),
        (2, ["similar", "MODEL", "-1"], ["option: -1\nhint: write -- before ids that begin with"]),
        (2, ["recommend", "MODEL", "--json", "--csv"], ["exclude each other"]),
        (2, ["recommend", "MODEL", "--out", "x.csv", "--csv"], ["--out and --csv exclude"]),
        (1, ["recommend", "MODEL", "--out", "BELOW.csv"], ["drinks.csv is a file, not a folder"]),
        (2, ["recommend", "MODEL", "--users", ""], ["--users has no ids"]),
        (1, ["fit", "DRINKS", "--out", "."], ["folder"]),
        (1, ["fit", "DRINKS", "--out", "BELOW"], ["drinks.csv is a file, not a folder"]),
        (1, ["fit", "DRINKS", "--out", "m", "--positive", ">= 9"], ["with stars not >= 9"]),
        (2, ["fit", "DRINKS", "--out", "m", "--kernel", "disjunctive(99)"], ["use arity <= 6"]),
        (
            2,
            ["fit", "DRINKS", "--out", "m", "--model", "kernel-ranker(kernel=disjunctive(7))"],
            ["arity <= 6"],
        ),
        (
            2,
            ["fit", "DRINKS", "filmtrust", "--out", "m"],
            ["'filmtrust' cannot be read together", "alone"],
        ),
        (1, ["fit", "nothing*.csv", "--out", "m"], ["no file matches 'nothing*.csv'"]),
        (1, ["fit", "EMPTY.csv", "--out", "m"], ["EMPTY.csv is empty"]),
        (1, ["fit", "HEADER.csv", "--out", "m"], ["HEADER.csv has no rows"]),
        (1, ["fit", "ODD.csv", "--out", "m"], ["--user: no column looks like the user"]),
        (1, ["fit", "TMP.csv", "--out", "m"], ["is a folder", "hint: name files of events"]),
        (
            1,
            ["fit", "DRINKS", "--time", "user", "--out", "m"],
            ["error: --time: ", "another time column"],
        ),
        (1, ["recommend", "TMP.csv"], ["folder.csv"]),
        (1, ["show", "TMP.csv"], ["folder.csv"]),
        (1, ["show", "DRINKS"], ["no folder", "hint: name the folder of a saved model"]),
        (2, ["fit", "DRINKS"], ["Missing option '--out'"]),
        (1, ["fit", "DRINKS", "--out", "DRINKS"], ["hint: choose another"]),
        (2, ["fit", "DRINKS", "--out", "m", "--kernel", "disj(2)"], ["mean 'disjunctive'?"]),
        (1, ["fit", "DRINKS", "--out", "m", "--user", "who"], ["no column 'who'", "'item'"]),
        (
            2,
            ["fit", "DRINKS", "--out", "m", "--positive", "4"],
            ["write it as '>= 4'"],
        ),
        (2, ["fit", "DRINKS", "--out", "m", "--model", "eas"], ["no model 'eas'", "mean 'ease'?"]),
        (2, ["fit", "DRINKS", "--out", "m", "--model", "ease(reg)"], ["'reg' in 'ease(reg)'"]),
        (2, ["fit", "DRINKS", "--out", "m", "--model", "ease(rge=1)"], ["has no parameter 'rge'"]),
        (
            2,
            ["fit", "DRINKS", "--out", "m", "--model", "ease", "--kernel", "linear"],
            ["no kernel"],
        ),
        (
            2,
            ["fit", "DRINKS", "--out", "m", "--metric", "auc", "--model", "ease"],
            ["--metric goes with --model auto or --tuned"],
        ),
        (1, ["fit", "DRINKS", "--out", "m", "--tuned", "TMP.csv"], ["no study and no comparison"]),
        (
            2,
            ["fit", "DRINKS", "--out", "m", "--tuned", "x", "--model", "ease"],
            ["--tuned and --model exclude"],
        ),
        # Mistakes in the command are reported before those in the file.
        (
            2,
            ["fit", "nowhere.csv", "--out", "m", "--model", "ease(reg=-1)"],
            ["reg of ease must be"],
        ),
        (2, ["fit", "nowhere.csv", "--out", "m", "--kernel", "disj(2)"], ["mean 'disjunctive'?"]),
        (
            1,
            ["fit", "PLAIN.csv", "--out", "m", "--positive", "> 1"],
            ["no column looks like the rating", "--rating"],
        ),
    ],
)
def test_a_mistake_has_a_hint_and_nothing_is_written(
    run, model, drinks, tmp_path, code, args, said
):
    (tmp_path / "folder.csv").mkdir()
    for name, text in (
        ("EMPTY", ""),
        ("HEADER", "user,item\n"),
        ("ODD", "a,b\n1,2\n"),
        ("PLAIN", _PLAIN),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
    before = sorted(path.name for path in tmp_path.iterdir())
    places = {"MODEL": model, "DRINKS": drinks, "TMP.csv": tmp_path / "folder.csv"}
    places |= {f"{n}.csv": tmp_path / f"{n}.csv" for n in ("EMPTY", "HEADER", "ODD", "PLAIN")}
    places |= {"BELOW": drinks / "model", "BELOW.csv": drinks / "recs.csv"}
    found, out, err = run(*(places.get(arg, arg) for arg in args))
    assert (found, out) == (code, "")
    error, *hints = [line for line in err.splitlines() if not line.startswith(("read ", "note: "))]
    assert error.startswith("error: ")
    assert hints
    assert all(hint.startswith("hint: ") for hint in hints)
    for words in said:
        assert words in err
    assert "--debug" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_place_that_may_not_be_written_is_refused_before_the_work(
    run, model, drinks, tmp_path, monkeypatch
):
    closed = tmp_path / "closed"
    closed.mkdir()
    # Rights would not do: root may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, _: path != closed)
    for args in (
        ["fit", drinks, "--out", closed / "m"],
        ["recommend", model, "--out", closed / "recs.csv"],
    ):
        code, out, err = run(*args)
        assert (code, out) == (1, "")
        assert str(closed) in err
        assert "\nhint: choose another" in err
    assert list(closed.iterdir()) == []


def test_more_items_than_there_are_are_as_many_as_there_are(run, model):
    for verb in (["similar", model, "tea"], ["recommend", model, "--users", "ann"]):
        code, out, _ = run(*verb, "--n", 10**11, "--json")
        assert (code, len(json.loads(out))) == (0, 4 if verb[0] == "similar" else 2)
        assert run(*verb, "--n", 10**11)[0] == 0


def test_a_result_without_rows_is_a_header_in_csv(run, tmp_path):
    data = Interactions.from_matrix(np.eye(2)[[0, 1, 1]] + [[1, 1], [0, 0], [0, 0]])
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    code, out, _ = run("recommend", tmp_path / "model", "--users", "0", "--csv")
    assert (code, out) == (0, "user,rank,item,score,popular\n")


def test_that_ratings_count_whatever_they_are_is_said_once(run, drinks, tmp_path):
    note = "note: all rows count, regardless of 'stars'"
    _, _, err = run("fit", drinks, "--kernel", "linear", "--out", tmp_path / "m")
    assert err.count(note) == 1
    _, _, err = run(
        "fit", drinks, "--kernel", "linear", "--positive", ">3", "--out", tmp_path / "m"
    )
    assert "note" not in err
    drinks.write_text("user,item\nann,tea\nbob,tea\n")
    _, _, err = run("fit", drinks, "--kernel", "linear", "--out", tmp_path / "m")
    assert "note" not in err


@pytest.mark.parametrize(("quiet", "shown"), [(60.0, False), (0.0, True)])
def test_a_step_is_named_on_a_terminal_only_once_it_takes_long(monkeypatch, capsys, quiet, shown):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(_output, "_QUIET_SECONDS", quiet)
    with _output.status("Reading"):
        time.sleep(0.3)
    assert ("Reading" in capsys.readouterr().err) == shown


def test_a_table_for_everybody_has_the_first_users_and_says_how_to_get_all(run, model, monkeypatch):
    monkeypatch.setattr(recommend, "_MAX_USERS", 2)
    _, out, err = run("recommend", model, "--n", 1)
    assert "007" in out
    assert "ann" in out
    assert "bob" not in out
    to_do = "--out FILE, --csv or --json gives all, --users some"
    assert err == f"note: these are the first 2 of 5 users; {to_do}\n"
    _, out, err = run("recommend", model, "--n", 1, "--csv")
    assert (len(out.splitlines()), err) == (6, "")


@pytest.mark.filterwarnings("default")
def test_the_default_kernel_adapts_to_few_users(run, tmp_path):
    (tmp_path / "few.csv").write_text("user,item\nann,tea\nann,jam\nbob,tea\ncid,jam\ncid,bun\n")
    fit = ("fit", tmp_path / "few.csv", "--model")
    code, _, err = run(*fit, "kernel-ranker", "--out", tmp_path / "adapted")
    assert code == 0
    said = "the data have only 3 users, so the kernel is disjunctive(3), not disjunctive(8)"
    assert f"warning: {said}\n" in err
    run(*fit, "kernel-ranker(kernel=disjunctive(3))", "--out", tmp_path / "named")
    lists = [run("recommend", tmp_path / name, "--csv")[1] for name in ("adapted", "named")]
    assert lists[0] == lists[1]
    (tmp_path / "one.csv").write_text("user,item\nann,tea\nann,jam\n")
    one = ("fit", tmp_path / "one.csv", "--model", "kernel-ease", "--out", tmp_path / "one")
    code, _, err = run(*one)
    assert (code, "the kernel is disjunctive(1), not disjunctive(2)" in err) == (0, True)
    code, _, err = run(*fit, "kernel-ranker(kernel=disjunctive(9))", "--out", tmp_path / "m")
    assert (code, "there are only 3 variables" in err) == (2, True)


def test_an_empty_list_says_why(run, model):
    own = "own items are left out (--include-seen adds them), and "
    for options, why in (
        (["--candidates", "tea"], f"{own}--candidates leaves out the others"),
        (
            ["--candidates", "tea", "--exclude", "tea", "--include-seen"],
            "--candidates or --exclude",
        ),
    ):
        _, _, err = run("recommend", model, "--users", "ann", *options)
        assert err.startswith(f"note: no items are left for user ann: {why}")


def test_long_ids_are_shortened_in_the_middle_for_people_only(run, tmp_path, monkeypatch):
    items = [f"https://shop.example.org/{'x' * 60}/{k}" for k in range(4)]
    users = [f"{'customer-' * 9}{k}" for k in range(3)]
    data = Interactions.from_matrix([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 1]], users, items)
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    monkeypatch.setenv("COLUMNS", "80")
    for args in (
        ["recommend", tmp_path / "model", "--users", users[0]],
        ["similar", tmp_path / "model", items[1]],
        ["explain", tmp_path / "model", users[0], items[2]],
    ):
        lines = run(*args)[1].splitlines()
        table = [line for line in lines if not line.startswith("Why")]
        assert max(map(len, table)) <= 80
        assert any("…" in line and "xx/" in line for line in table)
        for form in ("--json", "--csv"):
            assert f"{'x' * 60}/" in run(*args, form)[1]


def test_batches_have_everybody_once_and_tell_how_far_it_is(run, model, monkeypatch):
    _, expected, _ = run("recommend", model, "--csv")
    monkeypatch.setattr(recommend, "_BATCH", 2)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(_output, "_QUIET_SECONDS", 0.0)
    columns = recommend._columns
    monkeypatch.setattr(recommend, "_columns", lambda *args: (time.sleep(0.2), columns(*args))[1])
    code, out, err = run("recommend", model, "--csv")
    assert (code, out) == (0, expected)
    assert "Recommending: 4 of 5, about 0 s left" in err


def test_progress_leaves_stdout_alone(monkeypatch):
    """A library that is imported meanwhile may keep it until the end of the process."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(_output, "_QUIET_SECONDS", 0.0)
    before = sys.stdout
    with _output.status("Reading"):
        time.sleep(0.2)
        assert sys.stdout is before


def test_progress_is_not_markup(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(_output, "_QUIET_SECONDS", 0.0)
    with _output.status() as tell:
        time.sleep(0.1)
        tell("ratings [/old].csv: reading")
        time.sleep(0.3)
    assert "ratings [/old].csv: reading …" in capsys.readouterr().err


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk", "^C"])
def test_an_output_that_fails_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "recs.csv"
    path.write_text("old")

    def fail(_, where):
        where.write_text("half")
        raise error

    monkeypatch.setattr(pl.LazyFrame, "sink_csv", fail)
    frame = pl.DataFrame({"rank": [1], "score": [0.5], "popular": [True]})

    def write():
        with recommend.Parts.open(path, "key") as parts:
            parts.put(0, frame)
            parts.join(1, safe=False)

    with pytest.raises((ValueError, KeyboardInterrupt)):
        write()
    if isinstance(error, KeyboardInterrupt):  # parts stay, for the next run
        (folder,) = set(tmp_path.iterdir()) - {path}
        assert len(list(folder.glob("*.bin"))) == 1
        with recommend.Parts.open(path, "another key") as parts:
            assert parts.get(0) is None
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_ctrl_c_exits_with_130_and_leaves_nothing(model, tmp_path):
    program = (
        "import sys, time, boolrank.cli.recommend as r\n"
        "def slow(*args):\n"
        "    print('started', flush=True)\n"
        "    time.sleep(60)\n"
        "r._columns = slow\n"
        "from boolrank.cli import main\n"
        "main(sys.argv[1:])"
    )
    before = sorted(tmp_path.iterdir())
    args = ["recommend", str(model), "--out", str(tmp_path / "recs.csv")]
    child = subprocess.Popen(
        [sys.executable, "-c", program, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with child:
        assert child.stdout.readline() == b"started\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert err == b"interrupted\n"
    assert sorted(tmp_path.iterdir()) == before
