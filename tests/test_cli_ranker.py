"""The verbs of the ranker, from a CSV of text ids to recommendations, and what goes wrong."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from uuid import UUID

import numpy as np
import polars as pl
import pytest

from boolrank import Interactions, KernelRanker
from boolrank.cli import _work, recommend

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


def test_fit_says_what_it_did_in_what_time_and_memory(run, drinks, tmp_path):
    code, out, err = run("fit", drinks, "--kernel", "disjunctive(2)", "--out", tmp_path / "model")
    assert (code, out) == (0, "")
    assert "disjunctive(2) on Interactions: 6 users x 6 items, 12 interactions, 1 dup" in err
    assert re.search(r"; \d+\.\d s, [\d,]+ MB at most\n$", err)


def test_fit_is_what_the_library_does(model):
    events = pl.read_csv(io.StringIO(DRINKS))
    data = Interactions.from_frame(events, positive=">= 4")
    expected = KernelRanker("linear").fit(data).recommend(n=10)
    found = KernelRanker.load(model).recommend(n=10)
    assert found.users == ["007", "ann", "bob", "cid", "dee"]
    assert found.lists() == expected.lists()


def test_options_of_fit_reach_the_ranker(run, drinks, tmp_path):
    options = ["--reg", 0.5, "--negative-weight", 0.25, "--storage", "compressed", "--threads", 1]
    columns = ["--user", "item", "--item", "user", "--rating", "stars", "--time", "date"]
    args = ["--kernel", "linear", *options, *columns, "--positive", "<4"]
    assert run("fit", drinks, *args, "--out", tmp_path / "m")[0] == 0
    loaded = KernelRanker.load(tmp_path / "m")
    assert (loaded.reg, loaded.negative_weight, loaded.storage) == (0.5, 0.25, "compressed")
    assert list(loaded.interactions.users) == ["milk", "scone"]
    assert list(loaded.interactions.items) == ["cid", "eve"]


def test_the_help_of_fit_has_the_defaults_of_the_ranker(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run("fit", "-h")
    for name, parameter in inspect.signature(KernelRanker).parameters.items():
        if name != "n_threads":
            line = next(line for line in out.splitlines() if f"--{name.replace('_', '-')} " in line)
            assert f"; default {parameter.default}." in line


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


def test_what_is_seen_is_left_out_unless_asked_for(run, model):
    def items(*options):
        _, out, _ = run("recommend", model, "--users", "ann", "--json", *options)
        return {record["item"] for record in json.loads(out)}

    assert items() == {"coffee", "croissant"}
    assert items("--include-seen") == {"tea", "scone", "jam", "coffee", "croissant"}


def test_users_can_stand_in_a_file(run, model, tmp_path):
    (tmp_path / "ids.txt").write_text("dee\n\n ann \n")
    _, out, _ = run("recommend", model, "--users", f"@{tmp_path / 'ids.txt'}", "--n", 1, "--json")
    assert [record["user"] for record in json.loads(out)] == ["dee", "ann"]


READERS = {
    ".parquet": pl.read_parquet,
    ".csv": lambda path: pl.read_csv(path, schema_overrides={"user": pl.String}),
    ".jsonl": pl.read_ndjson,
}


def test_there_is_a_reader_for_every_output():
    assert set(READERS) == set(_work.WRITERS)


@pytest.mark.parametrize("ending", READERS)
def test_everybody_goes_into_a_file(run, model, tmp_path, ending):
    out = tmp_path / "new" / f"recs{ending}"
    code, stdout, err = run("recommend", model, "--n", 3, "--out", out)
    assert (code, stdout) == (0, "")
    assert "rows for 5 users" in err
    frame = READERS[ending](out)
    expected = KernelRanker.load(model).recommend(n=3)
    assert frame.columns == ["user", "rank", "item", "score", "popular"]
    found = frame.group_by("user", maintain_order=True).agg("item")
    assert found["user"].to_list() == expected.users
    assert found["item"].to_list() == expected.lists()
    assert np.allclose(frame["score"], expected.scores[~np.isnan(expected.scores)])
    assert [path.name for path in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("make", [lambda k: k * 11, lambda k: UUID(int=k)], ids=["whole", "uuid"])
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
    code, _, err = run("recommend", tmp_path / "model", "--users", "zoe")
    assert code == 1
    assert f"hint: users here are of type {type(ids[0]).__name__}" in err


def test_people_without_a_history_get_popular_items_and_it_shows(run, tmp_path):
    matrix = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]])
    data = Interactions.from_matrix(matrix, ["a", "b", "new"], ["x", "y", "z"])
    KernelRanker("linear").fit(data).save(tmp_path / "model")
    _, out, _ = run("recommend", tmp_path / "model", "--users", "new", "--n", 1)
    assert re.search(r"new +1 +x +2 +popular: no history", out)
    code, out, err = run("explain", tmp_path / "model", "new", "x", "--csv")
    assert (code, out) == (0, "item,adds\n")
    assert "new has no history" in err


def test_similar_items(run, model):
    _, out, _ = run("similar", model, "tea", "jam", "--n", 2, "--json")
    records = json.loads(out)
    assert [(r["item"], r["rank"]) for r in records] == [
        ("tea", 1), ("tea", 2), ("jam", 1), ("jam", 2),
    ]  # fmt: skip
    expected = KernelRanker.load(model).similar_items(["tea", "jam"], n=2)
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
        (1, ["recommend", "MODEL", "--users", "an"], ["no user 'an'", "hint: did you mean 'ann'?"]),
        (1, ["similar", "MODEL", "te"], ["no item 'te'", "hint: did you mean 'tea'?"]),
        (1, ["explain", "MODEL", "ann", "cofee"], ["no item 'cofee'", "mean 'coffee'?"]),
        (1, ["explain", "MODEL", "bop", "tea"], ["no user 'bop'", "mean 'bob'?"]),
        (
            2,
            ["recommend", "MODEL", "--out", "x.xlsx"],
            ["must end in one of .parquet, .csv, .jsonl"],
        ),
        (1, ["recommend", "MODEL", "--out", "TMP.csv"], ["is a folder"]),
        (1, ["recommend", "MODEL", "--users", "@nowhere"], ["'nowhere' cannot be read"]),
        (1, ["recommend", "nowhere"], ["there is no folder nowhere", "a model was saved"]),
        (2, ["recommend", "MODEL", "--n", "0"], ["Invalid value for '--n'"]),
        (2, ["recommend", "MODEL", "--json", "--csv"], ["exclude each other"]),
        (2, ["recommend", "MODEL", "--out", "x.csv", "--csv"], ["prints neither --json nor --csv"]),
        (1, ["recommend", "MODEL", "--out", "BELOW.csv"], ["drinks.csv is a file, not a folder"]),
        (2, ["recommend", "MODEL", "--users", ""], ["there are no ids in ''"]),
        (1, ["recommend", "MODEL", "--users", "ann, jr"], ["no user 'jr'", "one a line: @file"]),
        (1, ["fit", "DRINKS", "--out", "."], ["is the folder you are in"]),
        (1, ["fit", "DRINKS", "--out", "BELOW"], ["drinks.csv is a file, not a folder"]),
        (
            1,
            ["fit", "DRINKS", "--out", "m", "--positive", ">= 9"],
            ["no rating is >= 9", "1.0 to 5"],
        ),
        (2, ["fit", "DRINKS", "--out", "m", "--kernel", "disjunctive(99)"], ["are only 6 users"]),
        (2, ["fit", "DRINKS", "--out", "m"], ["are only 6 users", "hint: instead use --kernel"]),
        (2, ["fit", "DRINKS", "filmtrust", "--out", "m"], ["'filmtrust' is a data set", "alone"]),
        (1, ["fit", "nothing*.csv", "--out", "m"], ["no file matches 'nothing*.csv'"]),
        (1, ["fit", "EMPTY.csv", "--out", "m"], ["EMPTY.csv is empty", "hint: a file has the"]),
        (1, ["fit", "HEADER.csv", "--out", "m"], ["HEADER.csv has no rows", "a row per event"]),
        (
            1,
            ["fit", "ODD.csv", "--out", "m"],
            ["like the user or the item", "hint: name them with --user", "hint: the first line of"],
        ),
        (1, ["fit", "TMP.csv", "--out", "m"], ["is a folder", "hint: name its files"]),
        (1, ["fit", "DRINKS", "--time", "user", "--out", "m"], ["is not a time", "with --time"]),
        (1, ["recommend", "TMP.csv"], ["is no model folder", "that a model was saved in"]),
        (2, ["fit", "DRINKS"], ["Missing option '--out'"]),
        (1, ["fit", "DRINKS", "--out", "DRINKS"], ["is no model folder", "hint: choose another"]),
        (2, ["fit", "DRINKS", "--out", "m", "--kernel", "disj(2)"], ["mean 'disjunctive'?"]),
        (1, ["fit", "DRINKS", "--out", "m", "--user", "who"], ["no column 'who' for the user"]),
        (2, ["fit", "DRINKS", "--out", "m", "--positive", "4"], ["such as '>= 4'"]),
        (2, ["fit", "DRINKS", "--out", "m", "--storage", "x"], ["storage is one of"]),
        (2, ["fit", "DRINKS", "--out", "m", "--reg", "-1"], ["reg of KernelRanker must be 0"]),
        # What is wrong with the command is said before what is wrong with the file.
        (2, ["fit", "nowhere.csv", "--out", "m", "--reg", "-1"], ["reg of KernelRanker must be 0"]),
        (2, ["fit", "nowhere.csv", "--out", "m", "--storage", "x"], ["storage is one of"]),
        (2, ["fit", "nowhere.csv", "--out", "m", "--kernel", "disj(2)"], ["mean 'disjunctive'?"]),
        (
            1,
            ["fit", "PLAIN.csv", "--out", "m", "--positive", "> 1"],
            ["no column looks like the rating", "name it with --rating, of ['user', 'item', 'n']"],
        ),
    ],
)
def test_mistakes_are_said_with_a_hint_and_nothing_is_written(
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
    error, *hints = [line for line in err.splitlines() if not line.startswith("note: ")]
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
        ["spectrum", drinks, "--out", closed / "figure.svg"],
    ):
        code, out, err = run(*args)
        assert (code, out) == (1, "")
        assert f"you may not write in {closed}" in err
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
    note = "note: every row counts, whatever its 'stars'"
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
def test_a_step_is_named_on_a_terminal_only_once_it_takes_long(monkeypatch, quiet, shown):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr(_work, "_LONGEST_QUIET", quiet)
    work = _work.Work()
    work.messages.file = io.StringIO()
    with work.step("Reading"):
        time.sleep(0.3)
    assert ("Reading" in work.messages.file.getvalue()) == shown


def test_too_many_rows_for_a_table_are_refused_before_the_work(run, model, monkeypatch):
    monkeypatch.setattr(recommend, "_MOST_ROWS", 9)
    code, out, err = run("recommend", model)
    assert (code, out) == (2, "")
    assert "25 rows are too many for a table" in err


def test_on_a_terminal_a_table_has_the_first_users_and_says_how_many_more(run, model, monkeypatch):
    monkeypatch.setattr(recommend, "_SHOWN", 2)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    _, out, err = run("recommend", model, "--n", 1)
    assert "007" in out
    assert "ann" in out
    assert "bob" not in out
    assert "2 users, 3 more with --out, --json or --csv" in err


def test_progress_comes_in_growing_batches_and_loses_nobody(monkeypatch):
    monkeypatch.setattr(_work, "_LONGEST_QUIET", 0.0)
    work = _work.Work()
    parts = [list(part) for part in work.batches(range(1000), "Counting")]
    assert [k for part in parts for k in part] == list(range(1000))
    assert len(parts) < 8


def test_what_a_terminal_is_told_is_no_markup(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with _work.Work().teller() as told:
        told("ratings [/old].csv: reading")
    assert "ratings [/old].csv: reading …" in capsys.readouterr().err


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk", "^C"])
def test_an_output_that_fails_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "recs.csv"
    path.write_text("old")

    def fail(_, where):
        where.write_text("half")
        raise error

    monkeypatch.setitem(_work.WRITERS, ".csv", fail)
    with pytest.raises((ValueError, KeyboardInterrupt)):
        _work.write_frame(pl.DataFrame({"a": [1]}), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_ctrl_c_exits_with_130_and_leaves_nothing(model, tmp_path):
    program = (
        "import sys, time, boolrank.cli.recommend as r\n"
        "def slow(*args):\n"
        "    print('started', flush=True)\n"
        "    time.sleep(60)\n"
        "r._append = slow\n"
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
