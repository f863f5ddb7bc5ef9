"""evaluate and spectrum on the command line: what they print, write and refuse."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from boolrank import (
    Disjunctive,
    Interactions,
    KernelRanker,
    Popularity,
    evaluate,
    load_dataset,
    make_split,
    synthetic,
)
from boolrank.cli.spectrum import _ARITIES
from boolrank.kernels.expressiveness import spectral_ratio
from boolrank.studies import parse_arities

DATA = "synthetic:120x60x1500:3"


@pytest.fixture
def ratings(tmp_path):
    """A file with users, items and days, in random order."""
    data = synthetic(60, 30, 500, 1)
    rows = np.repeat(np.arange(60), np.diff(data.indptr))
    days = np.arange(len(rows)) % 28 + 1
    lines = [
        f"u{u},i{i},2024-01-{d:02d}"
        for u, i, d in zip(rows, data.indices.tolist(), days, strict=True)
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["user,item,date", *lines]) + "\n")
    return path


def _means(record):
    """The means of a record, by the default metrics."""
    names = ("mean", "mAP@10", "nDCG@10", "coverage@10", "novelty@10", "top10_share@10")
    return [record[name] for name in names]


def test_evaluate_prints_what_the_library_finds(run):
    args = ["--kernel", "linear", "--kernel", "disjunctive(3)", "--folds", 3, "--seed", 2]
    code, printed, _ = run("evaluate", DATA, *args, "--json")
    assert code == 0
    records = json.loads(printed)
    split = make_split(load_dataset(DATA), "paper", folds=3, seed=2)
    for record, kernel in zip(records, ["linear", "disjunctive(3)"], strict=True):
        expected = evaluate(KernelRanker(kernel), split)
        assert record["model"] == f"kernel-ranker(kernel={kernel})"
        assert _means(record) == list(expected.means.values())
        assert record["deviation"] == expected.deviations["auc"]
        assert record["nDCG@10_deviation"] == expected.deviations["ndcg@10"]
        assert (record["folds"], record["split_hash"]) == (3, split.hash)
    best = max(records, key=lambda record: record["mean"])
    assert best["difference"] is None
    (other,) = (record for record in records if record is not best)
    assert other["difference"] == pytest.approx(other["mean"] - best["mean"], abs=0.05)
    assert other["from"] <= other["difference"] <= other["to"]
    assert other["significant"] == (other["p_t"] < 0.05)


def test_evaluate_takes_models_by_name_beside_kernels(run):
    models = ["--model", "popularity", "--model", "kernel-ranker(kernel=tanimoto, reg=1)"]
    code, printed, _ = run("evaluate", DATA, "--kernel", "linear", *models, "--folds", 2, "--json")
    assert code == 0
    split = make_split(load_dataset(DATA), "paper", folds=2)
    expected = {
        "kernel-ranker(kernel=linear)": KernelRanker("linear"),
        "popularity": Popularity(),
        "kernel-ranker(kernel=tanimoto, reg=1)": KernelRanker("tanimoto", reg=1),
    }
    found = {record["model"]: _means(record) for record in json.loads(printed)}
    assert found == {
        name: list(evaluate(model, split).means.values()) for name, model in expected.items()
    }


def test_evaluate_prints_a_table_with_deviations_and_the_best(run, monkeypatch):
    args = ["evaluate", DATA, "--kernel", "linear", "--kernel", "tanimoto", "--folds", "2"]
    code, printed, messages = run(*args)
    assert (code, messages) == (0, ""), "beside data that goes into a pipe nothing is said"
    assert "±" in printed
    assert "difference" in printed
    assert "in 2 folds" in printed
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert "4 of 4 results are new" in run(*args)[2]


def test_evaluate_keeps_results_and_takes_them_up_again(run, tmp_path):
    args = ["evaluate", DATA, "--kernel", "linear", "--metrics", "auc,recall@5", "--out", tmp_path]
    _, first, messages = run(*args, "--csv")
    assert "5 of 5 results are new" in messages
    _, second, messages = run(*args, "--csv")
    assert "0 of 5 results are new" in messages
    assert first == second
    row = next(csv.DictReader(io.StringIO(first)))
    assert row["metric"] == "AUC"
    assert float(row["mean"]) > 0.5
    assert float(row["recall@5"]) > 0


def test_evaluate_takes_files_experiments_and_other_protocols(run, ratings, tmp_path):
    code, printed, _ = run("evaluate", ratings, "--kernel", "linear", "--least", 4, "--json")
    assert code == 0
    assert json.loads(printed)[0]["folds"] == 5
    code, printed, _ = run(
        *("evaluate", ratings, "--kernel", "linear", "--protocol", "leave_one_out", "--json")
    )
    assert json.loads(printed)[0]["folds"] == 1
    file = tmp_path / "experiment.toml"
    file.write_text(
        'data = "ratings.csv"\n[split]\nfolds = 2\n[[models]]\nmodel = "kernel-ranker"\n'
        'kernel = "linear"\n'
    )
    code, printed, _ = run("evaluate", file, "--json")
    assert code == 0
    assert json.loads(printed)[0]["folds"] == 2


@pytest.mark.parametrize(("args", "order"), [((), "time"), (("--order", "random"), "random")])
def test_a_hold_out_takes_the_last_events_unless_told_otherwise(run, args, order):
    code, printed, _ = run("evaluate", DATA, "--kernel", "linear", "--protocol", "hold_out", *args)
    assert code == 0
    assert f"hold_out(share=0.2, order='{order}'" in printed


def test_undefined_values_are_null_in_json(run):
    code, printed, _ = run(
        *("evaluate", DATA, "--kernel", "linear", "--protocol", "hold_out", "--json")
    )
    assert code == 0
    assert "NaN" not in printed
    assert json.loads(printed)[0]["deviation"] is None


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--kernel", "linear", "--folds", "500"], "take fewer folds"),
        (["--kernel", "linear", "--metrics", "auk"], "did you mean 'auc'"),
        (["--kernel", "linaer"], "linear"),
        (["--kernel", "linear", "--protocol", "papr"], "did you mean 'paper'"),
        (["--kernel", "linear", "--protocol", "temporal", "--folds", "3"], "no parameter 'folds'"),
        (["--model", "ease(reg=-1)"], "reg of ease must be"),
        (["--kernel", "linear", "--user", "who"], "leave out user"),
        (["--model", "popularty"], "did you mean 'popularity'"),
        (["--trials", "3", "--protocol", "paper"], "auto needs one fold"),
    ],
)
def test_evaluate_reports_mistakes(run, args, words):
    code, printed, messages = run("evaluate", DATA, *args)
    assert (code, printed) == (1 if "--user" in args else 2, "")
    assert words in messages
    assert "\nhint: " in messages


def test_evaluate_reports_bad_input(run, tmp_path):
    def words(name: str, text: str | None) -> str:
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        model = [] if name.endswith(".toml") else ["--kernel", "linear"]
        code, printed, messages = run("evaluate", path, *model)
        assert (code, printed) == (1, "")
        assert "\nhint: " in messages
        return messages

    assert "empty" in words("empty.csv", "")
    assert "needs two or more" in words("one.csv", "user,item,time\n1,a,1\n1,b,2\n")
    assert "is not TOML" in words("bad.toml", "data = [")
    assert "hint: check its name and folder" in words("none.toml", None)
    code, _, messages = run("evaluate", "movielens-1n", "--kernel", "linear")
    assert code == 1
    assert "movielens-1m" in messages
    good = tmp_path / "good.toml"
    good.write_text(f'data = "{DATA}"\n[[models]]\nmodel = "kernel-ranker"\nkernel = "linear"\n')
    code, _, messages = run("evaluate", good, "--kernel", "linear")
    assert code == 2
    assert "leave out --kernel" in messages


def test_a_spectrum_is_of_kernels_with_an_arity(run):
    code, printed, messages = run("spectrum", DATA, "--kernel", "linear")
    assert (code, printed) == (2, "")
    assert "linear does not take an arity alone" in messages
    assert "disjunctive" in messages


def test_spectrum_prints_the_ratio_of_each_arity(run):
    code, printed, _ = run("spectrum", DATA, "--arities", "1:3", "--json")
    assert code == 0
    records = json.loads(printed)
    matrix = load_dataset(DATA).T.matrix()
    for record in records:
        kernel = Disjunctive(record["arity"]).normalized()
        assert record["ratio"] == pytest.approx(spectral_ratio(kernel, matrix), rel=1e-12)
    assert [record["arity"] for record in records] == [1, 2, 3]


def test_the_default_arities_end_at_the_number_of_users(run, ratings):
    code, printed, _ = run("spectrum", ratings, "--json")
    assert code == 0
    arities = [record["arity"] for record in json.loads(printed)]
    users = len(Interactions.from_files(ratings).users)
    assert arities[:10] == list(range(1, 11))
    assert max(arities) <= users < max(parse_arities(_ARITIES))
    code, _, messages = run("spectrum", ratings, "--arities", "1:150")
    assert code == 2
    assert f"there are only {users} variables" in messages


@pytest.mark.parametrize("width", [30, 60, 80])
def test_a_narrow_terminal_cuts_no_name_and_no_figure(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    models = ("--kernel", "linear", "--kernel", "disjunctive(2)")
    _, narrow, _ = run("evaluate", DATA, *models)
    _, printed, _ = run("evaluate", DATA, *models, "--json")
    assert "…" not in narrow
    for record in json.loads(printed):
        assert record["model"].removeprefix("kernel-ranker(kernel=")[:-1] in narrow
        for value in (*_means(record), record["deviation"], record["nDCG@10_deviation"]):
            assert f"{value:.4f}" in narrow
        if record["p_t"] is not None:
            assert f" {record['p_t']:.2g} " in narrow
    assert max(len(line) for line in narrow.splitlines()) <= 80, "no wider than it must be"


@pytest.mark.filterwarnings("default")
def test_a_time_column_that_is_left_out_gives_a_warning(run, ratings):
    lines = ratings.read_text().splitlines()
    head, times = lines[0].split(","), [line.split(",") for line in lines[1:]]
    times[3][head.index("date")] = "soon"
    ratings.write_text("\n".join(",".join(row) for row in [head, *times]))
    call = ("evaluate", ratings, "--kernel", "linear", "--least", "4")
    code, printed, messages = run(*call)
    assert code == 0
    assert "warning: left out: the column 'date' is not a time: it has 'soon'" in messages
    assert "row 4 below the header; correct it, or name another time column\n" in messages
    assert "warning: the data have no time, so the split is random; name a column" in messages
    assert printed == run(*call, "--order", "random")[1]
    code, _, messages = run(*call, "--order", "time")
    assert (code, messages.splitlines()[-2]) == (1, "error: --time: the data have no time")


def test_a_title_is_on_one_line_above_a_narrow_table(run):
    _, printed, _ = run("spectrum", DATA, "--arities", "1")
    first, *_ = printed.splitlines()
    assert first == "Normalised spectral ratio: 0 = all items identical, 1 = no two items related"


def test_every_verb_that_reads_notes_that_all_ratings_count(run, ratings):
    lines = ratings.read_text().splitlines()
    ratings.write_text("\n".join([f"{lines[0]},stars", *(f"{line},3" for line in lines[1:])]))
    for verb in (["evaluate", "--least", "4"], ["spectrum", "--arities", "1"]):
        call = [verb[0], ratings, "--json", *verb[1:]]
        kernel = ["--kernel", "linear" if verb[0] == "evaluate" else "disjunctive"]
        read, note = run(*call, *kernel)[2].splitlines()
        assert read.startswith(
            f"read {ratings}: user 'user', item 'item', time 'date', rating 'stars'; "
        )
        assert note.startswith("note: all rows count, regardless of 'stars'; a condition such as")
        (only,) = run(*call, *kernel, "--positive", "> 2")[2].splitlines()
        assert only == read


def test_spectrum_takes_several_families(run):
    families = ("--kernel", "disjunctive", "--kernel", "threshold(2, {})")
    code, printed, _ = run("spectrum", DATA, *families, "--arities", "2,4")
    assert code == 0
    assert "disjunctive" in printed
    assert "threshold(2, {})" in printed


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--arities", "0"], "arities"),
        (["--kernel", "disjunctif"], "disjunctive"),
        (["--kernel", "linear"], "linear"),
    ],
)
def test_spectrum_reports_mistakes(run, args, words):
    code, printed, messages = run("spectrum", DATA, *args)
    assert (code, printed) == (2, "")
    assert words in messages
    assert "\nhint: " in messages
