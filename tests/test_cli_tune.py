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
from boolrank.models import load_model, make_model
from boolrank.studies import tune_model, validation_fold

DATA = "synthetic:120x60x1500:3"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("worker_here")
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
    assert len(list((folder / "here").glob("studies/kernel-ranker-*.json"))) == 1
    assert "4 trials, 0 failed; here; " in messages


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize("model", ["kernel-ranker", "ease"])
def test_the_commands_at_the_end_and_tuned_fit_the_best_model_by_each_metric(run, folder, model):
    args = ["--model", model, "--trials", 5, "--seed", 1, "--metric", "auc,mrr"]
    _, _, messages = run("tune", DATA, *args)
    commands = [line for line in messages.splitlines() if line.startswith("best ")]
    fold = validation_fold(load_dataset(DATA), seed=1)
    study = tune_model(model, fold, ["auc", "mrr"], trials=5, seed=1)
    for metric, line in zip(["auc", "mrr"], commands, strict=True):
        best = study.best(metric)
        said, command = line.split(": ", 1)
        assert said == f"best {metric}, {best.metrics[metric]:.4f}"
        words = shlex.split(command)
        assert words[:3] == ["boolrank", "fit", DATA]
        assert run(*words[1:])[0] == 0
        expected = make_model(model, **study.spec(metric).params).get_params()
        assert load_model(folder / "model").get_params() == expected
        out = ["--out", f"by {metric}", "--tuned", "tuning", "--metric", metric]
        assert run("fit", DATA, *out)[0] == 0
        assert load_model(folder / f"by {metric}").get_params() == expected


@pytest.mark.usefixtures("worker_here")
def test_tune_prints_a_table_of_the_best(run, folder):
    code, printed, messages = run("tune", DATA, "--trials", 3)
    assert code == 0
    assert printed.startswith("The best of 3 trials of kernel-ranker, 0 failed\n")
    assert "defaults" in printed
    assert "kernel=" in printed
    advice = f"this compares several models: boolrank fit {DATA} --out model\n"
    assert f"only kernel-ranker was tried; {advice}" in messages
    code, printed, messages = run("tune", DATA, "--model", "popularity", "--csv")
    (row,) = csv.DictReader(io.StringIO(printed))
    assert (row["model"], row["params"], row["error"]) == ("popularity", "{}", "")
    assert f"boolrank fit {DATA} --model popularity --out model" in messages
    assert "was tried" not in messages
    assert (folder / "tuning").is_dir()


@pytest.mark.usefixtures("folder", "worker_here")
def test_tune_continues_a_study(run):
    _, first, _ = run("tune", DATA, "--trials", 3, "--json")
    _, second, _ = run("tune", DATA, "--trials", 4, "--json")
    by_trial = {record["trial"]: record for record in json.loads(second)}
    assert len(by_trial) == 4
    for record in json.loads(first):
        assert by_trial[record["trial"]] == record, "with the seconds that it took the first time"


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C cannot be sent to one process")
def test_ctrl_c_keeps_finished_trials_and_tells_how_to_continue(folder):
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
        path = next(folder.glob("tuning/**/kernel-ranker-*.json"), None)
    process.send_signal(signal.SIGINT)
    printed, messages = process.communicate(timeout=30)
    assert process.returncode == 130
    assert printed == ""
    assert len(json.loads(path.read_text())["trials"]) >= 3
    assert "finished trials are kept in tuning; the same command continues" in messages
    assert messages.rstrip().endswith("interrupted")


@pytest.mark.skipif(sys.platform == "win32", reason="there no signal ends a process")
@pytest.mark.parametrize(
    ("verb", "out"),
    [("tune", "tuning"), ("compare", "comparison")],
)
def test_sigterm_leaves_only_finished_results(verb, out, folder):
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
def test_a_folder_that_is_a_file_is_refused_before_reading(run, folder, verb):
    (folder / "file").write_text("")
    code, _, messages = run(verb, "nowhere.csv", "--out", folder / "file")
    assert code == 1
    assert messages.splitlines() == [
        f"error: {folder}/file cannot be written: {folder}/file is a file, not a folder",
        "hint: choose another place, or make room",
    ]


def test_too_few_users_have_a_hint_that_can_be_followed(run, folder):
    (folder / "two.csv").write_text("user,item,time\n1,1,1\n1,2,2\n2,1,1\n2,3,2\n")
    code, _, messages = run("tune", "two.csv")
    assert code == 1
    assert "error: 0 users have 5 interactions or more" in messages
    assert "hint: give data with more users, or more of each" in messages


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["--model", "magic"], 2, "no model 'magic'"),
        (["--model", "ease(reg=3)"], 2, "tune chooses the parameters of ease"),
        (["--metric", "ncdg@10"], 2, "there is no metric 'ncdg'"),
        (["--trials", "0"], 2, "trials"),
        (["--seconds", "-3"], 2, "seconds must be a finite number, more than 0"),
        (["--order", "sideways"], 2, "sideways"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_has_a_hint(run, args, code, said):
    found, printed, messages = run("tune", DATA, *args)
    assert (found, printed) == (code, "")
    assert said in messages.splitlines()[0]
    assert "hint: " in messages


def test_several_models_are_for_compare(run):
    code, _, messages = run("tune", DATA, "--model", "ease(reg=3),popularity", "--last", "9d")
    assert code == 2
    command = f"boolrank compare {DATA} --last 9d --models ease,popularity"
    assert messages == f"error: --model: tune takes one model\nhint: several: {command}\n"


@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("folder", "worker_here")
def test_files_without_times_are_split_at_random(run):
    rows = [f"u{u},i{(u * 7 + k * k) % 11}" for u in range(40) for k in range(6)]
    with open("events.csv", "w") as file:  # noqa: PTH123 - in the folder of the test
        file.write("\n".join(["user,item", *rows]) + "\n")
    code, _, messages = run("tune", "events.csv", "--trials", 1)
    assert code == 0
    assert "warning: the data have no time, so the split is random; name a column" in messages
    for order in ("random", "file"):
        code, _, messages = run("tune", "events.csv", "--trials", 1, "--order", order)
        assert (code, "warning" in messages) == (0, False)


@pytest.mark.usefixtures("folder")
def test_a_missing_extra_has_the_command_that_installs_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, messages = run("tune", DATA)
    assert code == 1
    assert "hint: pip install 'boolrank[tune]'" in messages


@pytest.mark.usefixtures("folder", "worker_here")
def test_a_best_trial_that_gives_everybody_the_same_is_doubted(run):
    """Of five trials the first by AUC has ten items in half of all places, another in an eighth."""
    args = ["--model", "kernel-ranker", "--metric", "auc", "--trials", 5]
    code, printed, messages = run("tune", "synthetic:1500x500x12000", *args)
    assert code == 0
    assert "top10_share@10" in printed
    assert "note: Ten items fill 51% of the places in the lists of `trial 4`" in messages
    assert "More varied: `trial 1`, 13% and 70%, with AUC 0.8396 instead of 0.8590." in messages
