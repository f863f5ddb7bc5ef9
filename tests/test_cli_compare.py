"""compare on the command line: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex

import pytest

from boolrank import KernelRanker, load_dataset, make_split
from boolrank.evaluation import evaluate_fold

DATA = "synthetic:120x60x1500:3"
OTHER = "synthetic:90x50x900:1"


@pytest.mark.usefixtures("worker_here")
def test_compare_prints_what_the_library_finds_writes_a_page_and_ends_with_commands(run, tmp_path):
    args = ["compare", DATA, "--models", "popularity,kernel-ranker(kernel=linear)", "--trials", 0]
    args += ["--seed", 1, "--out", tmp_path]
    code, printed, messages = run(*args, "--json")
    assert code == 0
    assert "comparison.html" in messages
    records = json.loads(printed)
    split = make_split(load_dataset(DATA), "paper", folds=6, seed=1)
    folds = [evaluate_fold(KernelRanker("linear"), fold) for fold in split[1:]]
    metrics = {"AUC": "auc", "nDCG@10": "ndcg@10"}
    for record in records:
        if record["model"] == "popularity":
            continue
        assert record["model"] == "kernel-ranker(kernel=linear)"
        means = [fold.means[metrics[record["metric"]]] for fold in folds]
        assert record["mean"] == pytest.approx(sum(means) / 5, rel=1e-14)
        assert record["error"] is None
    assert {record["metric"] for record in records} == set(metrics)
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert "No model was tuned" in page
    for title, metric in metrics.items():
        rows = [record for record in records if record["metric"] == title]
        best = max(rows, key=lambda record: record["mean"])["model"]
        command = f"boolrank fit {DATA} --model {shlex.quote(best)} --out model"
        assert f"best {metric} on {DATA}: {command}\n" in messages
    assert f"boolrank compare {DATA}" in page
    code, printed, _ = run(*args, "--csv")
    again = list(csv.DictReader(io.StringIO(printed)))
    assert [float(row["mean"]) for row in again] == [record["mean"] for record in records]
    seconds = [float(row["fit_s"]) for row in again]
    assert seconds == [record["fit_s"] for record in records], "nothing was measured again"


@pytest.mark.usefixtures("worker_here")
def test_several_data_sets_are_sections_of_one_page(run, tmp_path):
    code, printed, _ = run(
        *(
            "compare",
            DATA,
            OTHER,
            DATA,
            "--models",
            "popularity",
            "--trials",
            0,
            "--metrics",
            "auc",
        ),
        *("--out", tmp_path),
    )
    assert code == 0
    flags = re.MULTILINE
    for name in (DATA, OTHER):
        assert re.search(rf"^ {name} +popularity +0\.\d{{4}} ± 0\.\d{{4}} ", printed, flags)
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert page.count("<section") == 4
    results = json.loads((tmp_path / "results.json").read_text())
    assert [each["title"] for each in results["sets"]] == [DATA, OTHER]


@pytest.mark.usefixtures("worker_here")
def test_a_foreign_manifest_is_replaced(run, tmp_path):
    args = ["compare", DATA, "--models", "popularity", "--trials", 0, "--metrics", "auc"]
    code, first, _ = run(*args, "--out", tmp_path, "--json")
    assert code == 0
    for text in ("[]", "null", "3", '"x"', '{"sets": 3}', '{"versions": [], "machine": 1}'):
        (tmp_path / "manifest.json").write_text(text)
        code, again, messages = run(*args, "--out", tmp_path, "--json")
        assert (code, again) == (0, first), messages
        page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
        assert "fold 0 is for validation" in page
        assert json.loads((tmp_path / "manifest.json").read_text())["command"].startswith(
            "boolrank"
        )


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize("width", [30, 60, 80])
def test_a_table_wider_than_the_terminal_is_complete(run, monkeypatch, tmp_path, width):
    models = ["popularity", "kernel-ranker(kernel=linear)"]
    args = ["compare", DATA, "--models", ",".join(models), "--trials", 0, "--metrics", "auc"]
    monkeypatch.setenv("COLUMNS", str(width))
    _, narrow, _ = run(*args, "--out", tmp_path)
    _, printed, _ = run(*args, "--out", tmp_path, "--json")
    assert "…" not in narrow
    assert max(map(len, narrow.splitlines())) <= 80, "no wider than it must be"
    folded = "".join(line.split("  ")[0].strip() for line in narrow.splitlines())
    for name, record in zip(models, json.loads(printed), strict=True):
        assert name in folded
        assert f" {record['mean']:.4f} " in narrow
        assert f" {record['deviation']:.4f} " in narrow
        assert f" {record['fit_s']:.3f} " in narrow


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--models", "popularty"], "did you mean 'popularity'"),
        (["--metrics", "auk"], "did you mean 'auc'"),
        (["--metrics", "gini@5"], "user by user"),
        (
            ["--least", "100"],
            "and there are 0\nhint: take fewer folds, lower least, or give more data",
        ),
        (["--models", ","], "no model to compare"),
        (["--seconds", "-3"], "seconds must be a finite number, more than 0"),
    ],
)
def test_compare_reports_mistakes(run, tmp_path, args, words):
    out = tmp_path / "out"
    code, printed, messages = run("compare", DATA, "--trials", 0, "--out", out, *args)
    assert (code, printed) == (2, "")
    assert not out.exists(), "the folder is not claimed"
    assert words in messages
    assert "\nhint: " in messages


def test_a_folder_with_other_files_is_left_alone(run, tmp_path):
    (tmp_path / "comparison.html").write_text("mine")
    code, _, messages = run("compare", DATA, "--trials", 0, "--out", tmp_path)
    assert (code, "holds files that boolrank did not write" in messages) == (1, True)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_too_few_users_have_a_hint_that_can_be_followed(run, tmp_path):
    rows = [f"{user},{item},{item}" for user in range(7) for item in range(6 if user < 4 else 3)]
    events = tmp_path / "events.csv"
    events.write_text("\n".join(["user,item,time", *rows]) + "\n")
    code, _, messages = run("compare", events, "--trials", 0, "--out", tmp_path / "out")
    assert code == 2
    assert "6 folds need 6 users with at least 5 interactions, and there are 4\n" in messages
    assert "hint: take fewer folds, lower least, or give more data" in messages
    code, _, messages = run("evaluate", events, "--kernel", "linear")
    assert code == 2
    assert "hint: take fewer folds, lower least, or give more data" in messages


@pytest.mark.usefixtures("worker_here")
def test_data_without_any_value_have_a_page_and_an_exit_code(run, tmp_path):
    """Everybody has all items in the end, so that nothing is left to rank below what is sought."""
    rows = [f"{user},{item},{item}" for user in range(24) for item in range(6)]
    events = tmp_path / "events.csv"
    events.write_text("\n".join(["user,item,time", *rows]) + "\n")
    code, printed, messages = run(
        *("compare", events, "--models", "popularity,item-knn", "--trials", 0),
        *("--metrics", "auc", "--out", tmp_path / "out"),
    )
    assert code == 1
    assert printed.count("failed") == 2
    assert "item-knn failed: no test user has a value of auc" in messages

    def no_json(text):
        raise AssertionError(f"{text} is no JSON")

    json.loads((tmp_path / "out" / "results.json").read_text(), parse_constant=no_json)
    assert "no test user has a value of auc" in (tmp_path / "out" / "comparison.html").read_text()
