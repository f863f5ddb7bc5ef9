"""compare on the command line: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from boolrank import KernelRanker, evaluate_fold, load_dataset, make_split

DATA = "synthetic:120x60x1500:3"
OTHER = "synthetic:90x50x900:1"


def test_compare_prints_what_the_library_finds_and_writes_a_page(run, tmp_path):
    args = ["compare", DATA, "--models", "popularity,kernel-ranker(kernel=linear)", "--trials", 0]
    args += ["--seed", 1, "--out", tmp_path]
    code, printed, messages = run(*args, "--json")
    assert code == 0
    assert "comparison.html" in messages
    records = json.loads(printed)
    split = make_split(load_dataset(DATA), "paper", folds=6, seed=1)
    folds = [evaluate_fold(KernelRanker("linear"), fold) for fold in split[1:]]
    for record in records[2:]:
        assert record["parameters"] == "linear"
        means = [fold.means[record["metric"]] for fold in folds]
        assert record["mean"] == pytest.approx(sum(means) / 5, rel=1e-14)
        assert record["error"] is None
    assert {record["metric"] for record in records} == {"auc", "ndcg@10"}
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert "Nothing was tuned" in page
    assert f"boolrank compare {DATA}" in page
    code, printed, _ = run(*args, "--csv")
    again = list(csv.DictReader(io.StringIO(printed)))
    assert [float(row["mean"]) for row in again] == [record["mean"] for record in records]
    seconds = [float(row["fit_seconds"]) for row in again]
    assert seconds == [record["fit_seconds"] for record in records], "nothing was measured again"


def test_several_data_sets_are_sections_of_one_page(run, tmp_path):
    code, printed, _ = run(
        *("compare", DATA, OTHER, "--models", "popularity", "--trials", 0, "--metrics", "auc"),
        *("--out", tmp_path),
    )
    assert code == 0
    flags = re.MULTILINE
    for name in (DATA, OTHER):
        assert re.search(rf"^ {name} +popularity +0\.\d{{4}} ± 0\.\d{{4}} +best ", printed, flags)
    page = (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert page.count("<section") == 4
    results = json.loads((tmp_path / "results.json").read_text())
    assert [each["title"] for each in results["sets"]] == [DATA, OTHER]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--models", "popularty"], "there is no model 'popularty'"),
        (["--metrics", "auk"], "did you mean 'auc'"),
        (["--metrics", "gini@5"], "user by user"),
        (["--least", "100"], "take fewer folds"),
        (["--models", ","], "no model to compare"),
    ],
)
def test_compare_says_what_is_wrong(run, tmp_path, args, words):
    code, printed, messages = run("compare", DATA, "--trials", 0, "--out", tmp_path, *args)
    assert (code, printed) == (2, "")
    assert words in messages
    assert "\nhint: " in messages
