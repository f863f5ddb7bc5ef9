"""tune on the command line: what it prints, keeps and refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time

import pytest

from boolrank import load_dataset
from boolrank.cli import main
from boolrank.models import make_model
from boolrank.studies import arity_from_spectrum, best_arity, tune_model, validation_fold

DATA = "synthetic:120x60x1500:3"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tune_prints_what_the_library_finds(run, folder):
    args = ["--trials", 4, "--seed", 2, "--metric", "ndcg@10,auc", "--out", "here"]
    code, printed, messages = run("tune", DATA, *args, "--json")
    assert code == 0
    fold = validation_fold(load_dataset(DATA), seed=2)
    study = tune_model("kernel-ranker", fold, ["ndcg@10", "auc"], trials=4, seed=2)
    records = json.loads(printed)
    assert [record["params"] for record in records] == [t.params for t in study.ranked("ndcg@10")]
    for record in records:
        assert record["metrics"] == study.trials[record["trial"]].metrics
        assert record["error"] is None
    assert len(list((folder / "here" / "studies").iterdir())) == 1
    assert "best ndcg@10: make_model('kernel-ranker'" in messages
    assert "4 trials, 0 failed; here; " in messages


def test_the_python_and_the_command_that_it_prints_make_the_best_model(run, folder):
    _, _, messages = run("tune", DATA, "--trials", 5, "--metric", "auc", "--seed", 1)
    lines = dict(line.split(": ", 1) for line in messages.splitlines() if ": " in line)
    fold = validation_fold(load_dataset(DATA), seed=1)
    best = tune_model("kernel-ranker", fold, "auc", trials=5, seed=1).best()
    assert best.params, "the defaults are not the best here, so there is something to check"
    model = eval(lines["best auc"], {"make_model": make_model})  # noqa: S307 - what people would paste
    assert model.get_params() == make_model("kernel-ranker", **best.params).get_params()
    words = shlex.split(lines["to use it"])
    assert words[:3] == ["boolrank", "fit", DATA]
    assert run(*words[1:])[0] == 0
    from boolrank import KernelRanker

    found = KernelRanker.load(folder / "model").fitted
    assert repr(found.kernel) == best.params["kernel"]
    assert found.reg == best.params["reg"]
    assert found.negative_weight == best.params["negative_weight"]


def test_tune_prints_a_table_of_the_best(run, folder):
    code, printed, _ = run("tune", DATA, "--trials", 3)
    assert code == 0
    assert printed.startswith("The best of 3 trials of kernel-ranker, 0 failed\n")
    assert "the defaults" in printed
    assert "kernel=" in printed
    code, printed, messages = run("tune", DATA, "--model", "popularity", "--csv")
    (row,) = csv.DictReader(io.StringIO(printed))
    assert (row["model"], row["params"], row["error"]) == ("popularity", "{}", "")
    assert "to use it" not in messages
    assert (folder / "tuning").is_dir()


@pytest.mark.usefixtures("folder")
def test_tune_takes_up_what_is_there(run):
    _, first, _ = run("tune", DATA, "--trials", 3, "--json")
    _, second, _ = run("tune", DATA, "--trials", 4, "--json")
    by_trial = {record["trial"]: record for record in json.loads(second)}
    assert len(by_trial) == 4
    for record in json.loads(first):
        assert by_trial[record["trial"]] == record, "with the seconds that it took the first time"


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C cannot be sent to one process")
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(folder):
    args = ["tune", "synthetic:300x150x6000", "--trials", "5000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "boolrank", *args],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    )
    path, deadline = None, time.time() + 60
    while path is None or len(json.loads(path.read_text())["trials"]) < 3:
        assert process.poll() is None, process.stderr.read()
        assert time.time() < deadline
        time.sleep(0.02)
        path = next(folder.glob("tuning/studies/kernel-ranker-*.json"), None)
    process.send_signal(signal.SIGINT)
    printed, messages = process.communicate(timeout=30)
    assert process.returncode == 130
    assert printed == ""
    assert len(json.loads(path.read_text())["trials"]) >= 3
    assert "the trials so far are kept in tuning; the same command goes on from there" in messages
    assert messages.rstrip().endswith("interrupted")


@pytest.mark.skipif(sys.platform == "win32", reason="there no signal ends a process")
@pytest.mark.parametrize(
    ("verb", "out"),
    [("tune", "tuning"), ("compare", "comparison")],
)
def test_sigterm_leaves_nothing_behind_but_what_is_done(verb, out, folder):
    temporary = folder / "temporary"
    temporary.mkdir()
    args = [verb, "synthetic:300x150x6000", "--trials", "5000", "--out", out]
    args += [] if verb == "tune" else ["--models", "kernel-ranker"]
    process = subprocess.Popen(
        [sys.executable, "-m", "boolrank", *args],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    deadline = time.time() + 60
    while next(folder.glob(f"{out}/**/kernel-ranker-*.json"), None) is None:
        assert process.poll() is None
        assert time.time() < deadline
        time.sleep(0.02)
    assert list(temporary.iterdir())
    process.terminate()
    assert process.wait(30) == 143
    assert not list(temporary.iterdir())


def test_the_command_line_works_in_another_thread_too(capsys):
    """There Python lets nobody handle signals."""
    ended = []

    def run():
        try:
            main(["kernels", "--json"])
        except SystemExit as end:
            ended.append(end.code)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ended == [0]
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("verb", ["tune", "compare"])
def test_a_folder_that_is_a_file_is_said_before_anything_is_read(run, folder, verb):
    (folder / "file").write_text("")
    code, _, messages = run(verb, "nowhere.csv", "--out", folder / "file")
    assert code == 1
    assert messages.splitlines() == [
        f"error: {folder}/file cannot be written: {folder}/file is a file, not a folder",
        "hint: choose another folder, or make room",
    ]


def test_data_of_too_few_users_have_a_hint_that_can_be_followed(run, folder):
    (folder / "two.csv").write_text("user,item,time\n1,1,1\n1,2,2\n2,1,1\n2,3,2\n")
    code, _, messages = run("tune", "two.csv")
    assert code == 1
    assert "error: 0 users have 5 interactions or more" in messages
    assert "hint: give data with more users, or more of each" in messages


def test_an_arity_is_searched_and_the_one_of_the_spectrum_is_said(run, folder):
    code, printed, messages = run("tune", DATA, "--arity", "disjunctive", "--json")
    assert code == 0
    fold = validation_fold(load_dataset(DATA))
    expected = best_arity(fold)
    records = json.loads(printed)
    assert {record["arity"]: record["auc"] for record in records} == expected.measured
    assert [record["arity"] for record in records if record["best"]] == [expected.arity]
    spectrum = arity_from_spectrum(fold.train).kernel
    assert f"best by auc: {expected.kernel}; from the spectrum alone: {spectrum}; " in messages
    _, printed, messages = run("tune", DATA, "--arity", "conjunctive", "--metric", "ndcg@5")
    assert "best" in printed
    assert "spectrum" not in messages
    assert not list(folder.iterdir()), "an arity leaves no files"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--model", "magic"], 2, "there is no search space for 'magic'"),
        (["--metric", "ncdg@10"], 2, "there is no metric 'ncdg'"),
        (["--trials", "0"], 2, "'--trials'"),
        (["--seconds", "-3"], 2, "seconds must be a finite number, more than 0"),
        (["--arity", "disjunctive", "--trials", "5"], 2, "--arity searches by itself"),
        (["--arity", "disjunctive", "--metric", "auc,mrr"], 2, "chosen by one metric"),
        (["--arity", "magic"], 2, "magic"),
        (["--arity", "tanimoto"], 2, "tanimoto has no arity"),
        (["--arity", "threshold"], 2, "threshold takes (satisfied, arity), not an"),
        (["--arity", "disjunctive(3)"], 2, "it has its numbers already"),
        (["--order", "sideways"], 2, "sideways"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_mistakes_are_said_with_a_hint(run, args, code, said):
    found, printed, messages = run("tune", DATA, *args)
    assert (found, printed) == (code, "")
    assert said in messages.splitlines()[0]
    assert "hint: " in messages


@pytest.mark.usefixtures("folder")
def test_files_without_a_time_are_told_what_to_do(run):
    rows = [f"u{u},i{(u * 7 + k * k) % 11}" for u in range(40) for k in range(6)]
    with open("events.csv", "w") as file:  # noqa: PTH123 - in the folder of the test
        file.write("\n".join(["user,item", *rows]) + "\n")
    code, _, messages = run("tune", "events.csv", "--trials", 1)
    assert code == 1
    assert "no time" in messages
    assert "name their column with --time, or give --order file or --order random" in messages
    for order in ("random", "file"):
        assert run("tune", "events.csv", "--trials", 1, "--order", order)[0] == 0


@pytest.mark.usefixtures("folder")
def test_missing_extras_are_said_in_one_line_with_the_command(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, messages = run("tune", DATA)
    assert code == 1
    assert "hint: run pip install 'boolrank[tune]'" in messages
