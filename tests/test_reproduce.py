"""The paper's experiments: published figures, page, tables and errors."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from boolrank import parse_kernel, synthetic
from boolrank.data import DATASETS
from boolrank.errors import DatasetNotFoundError, ParameterError
from boolrank.kernels.expressiveness import PairSpectrum
from boolrank.paper.page import arities_table, results_table, write_reproduction
from boolrank.paper.published import COLUMNS, PAPER
from boolrank.paper.reproduce import reproduce
from boolrank.studies import run_experiment
from pages import check_page

ARITIES = (1, 2, 5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two small made-up data sets under the names of real ones."""
    place = tmp_path_factory.mktemp("data")
    data = synthetic(150, 80, 2_000, 5)
    rows = np.repeat(np.arange(150), np.diff(data.indptr))
    lines = [f"{u} {i} 3.5\n" for u, i in zip(rows, data.indices, strict=True)]
    np.random.default_rng(0).shuffle(lines)
    (place / "filmtrust").mkdir()
    (place / "filmtrust" / "ratings.txt").write_text("".join(lines))
    (place / "bookcrossing").mkdir()
    pairs = [line.rsplit(" ", 1)[0] + "\n" for line in lines]
    (place / "bookcrossing" / "reduced_fold_train.dat").write_text("".join(pairs[:1500]))
    (place / "bookcrossing" / "reduced_fold_test.dat").write_text("".join(pairs[1500:]))
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def found(folder, place):
    return reproduce(place, folder=folder, arities=ARITIES)


@pytest.fixture(scope="module")
def out(found, tmp_path_factory):
    place = tmp_path_factory.mktemp("page")
    write_reproduction(found, place, "boolrank reproduce")
    return place


def _rows(found, title):
    """The results on a data set."""
    return results_table(found).where({"data set": title}).records()


def _best(rows):
    return max(rows, key=lambda row: row["AUC"])["kernel"].partition("(")[0]


def test_every_data_set_of_the_paper_has_results_of_every_kernel():
    assert {name for name, each in DATASETS.items() if each.printed} == set(PAPER)
    for row in PAPER.values():
        assert list(row.figures) == list(COLUMNS)
        assert all(0.5 < each.auc < 1 and 0 < each.deviation < 0.1 for each in row.figures.values())
        for column, kernel in row.kernels.items():
            assert parse_kernel(kernel).name == column


def test_the_paper_finds_the_disjunctive_kernel_best_except_on_movielens():
    """The paper's text says so; this guards against figures in the wrong column."""
    best = {name: max(row.figures, key=lambda c: row.figures[c].auc) for name, row in PAPER.items()}
    assert {name for name, column in best.items() if column != "disjunctive"} == {"movielens-1m"}
    assert best["movielens-1m"] == "linear"


def test_available_sets_are_measured_and_the_others_named(found):
    assert [each.paper.dataset for each in found.sets] == ["bookcrossing-reduced", "filmtrust"]
    left_out = {paper.dataset: why for paper, why in found.missing}
    assert set(left_out) == {"ciaodvd", "jester", "movielens-1m", "netflix"}
    assert "not published" in left_out["netflix"]


def test_rows_have_our_result_the_papers_and_the_difference(found):
    published, filmtrust = found.sets
    rows = _rows(found, "FilmTrust")
    assert [row["kernel"] for row in rows] == [
        "disjunctive(38)",
        "conjunctive(2)",
        "linear",
        "tanimoto",
        "monotone_dnf",
    ]
    for row, paper in zip(rows, PAPER["filmtrust"].figures.values(), strict=True):
        ours = filmtrust.evaluations[row["kernel"]]
        assert (row["AUC"], row["deviation"]) == (ours.means["auc"], ours.deviations["auc"])
        assert (row["paper's AUC"], row["paper's deviation"]) == paper
        assert row["difference"] == row["AUC"] - paper.auc
        assert row["beyond two deviations"] == (abs(row["difference"]) > 2 * paper.deviation)
        assert (row["mAP@10"], row["nDCG@10"]) == (ours.means["map@10"], ours.means["ndcg@10"])
    assert len(filmtrust.split) == 5
    assert len(published.split) == 1
    assert _rows(found, "BookCrossing")[0]["deviation"] is None


def test_curves_agree_with_the_table_and_with_the_spectral_ratio_of_items(found):
    filmtrust = found.sets[1]
    disjunctive, conjunctive = filmtrust.curves
    linear = filmtrust.evaluations["linear"].means["auc"]
    assert disjunctive.means[0] == conjunctive.means[0] == pytest.approx(linear)
    assert disjunctive.ratios[0] == pytest.approx(conjunctive.ratios[0])
    data = synthetic(150, 80, 2_000, 5)
    rows = PairSpectrum.of(data.T.matrix())
    expected = rows.ratio(parse_kernel("disjunctive(5)").normalized())
    assert disjunctive.ratios[2] == pytest.approx(expected, rel=1e-12)


def test_a_second_run_uses_the_cached_results(folder, found, place, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("fitted again")

    monkeypatch.setattr("boolrank.studies.executor.fit_and_rank", refuse)
    again = reproduce(place, ["filmtrust"], folder=folder, sweep=False, arities=ARITIES)
    assert _rows(again, "FilmTrust") == _rows(found, "FilmTrust")
    assert again.sets[0].curves[0].means == ()


def test_the_page_is_valid_and_self_contained(out, found):
    outline = check_page((out / "report.html").read_text(encoding="utf-8"))
    for name in ("results", "differences", "auc", "spectrum", "made"):
        assert name in outline.ids
    # The heads of the tables aside, all of them under one name.
    values = [row[1][0] for row in outline.tables["results"] if row[1][0]]
    assert [float(value) for value in values] == [
        row["AUC"] for row in results_table(found).records()
    ]


def test_the_page_names_differences_and_missing_sets(out, found):
    page = (out / "report.html").read_text(encoding="utf-8")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    assert "Netflix was not measured" in text
    assert "This is not the whole set, which has 1,508 users, 2,071 items, 35,494 ratings" in text
    papers = {each.paper.title: each.paper for each in found.sets}
    far = [row for row in results_table(found).records() if row["beyond two deviations"]]
    assert far  # a made-up set differs from the paper's
    assert page.count('class="mark"') == len(far)
    for row in far:
        reason = papers[row["data set"]].reason(row["kernel"].partition("(")[0])
        assert reason.split(".")[0].replace("'", "&#39;") in page
    assert "one fold" in text
    for each in found.sets:
        assert each.split.hash[:12] in page


def test_tables_are_written_in_three_forms_with_the_same_numbers(out, found):
    for table in (results_table(found), arities_table(found)):
        rows = list(csv.reader(io.StringIO((out / "tables" / f"{table.name}.csv").read_text())))
        assert rows[0] == [column.name for column in table.columns]
        assert len(rows) - 1 == len(table.rows)
        latex = (out / "tables" / f"{table.name}.tex").read_text()
        assert latex.count(r"\\") == len(table.rows) + 1
        markdown = (out / "tables" / f"{table.name}.md").read_text()
        assert markdown.count("\n|") == len(table.rows) + 2
    text = (out / "tables" / "results.csv").read_text()
    first = next(csv.DictReader(io.StringIO(text)))
    assert float(first["AUC"]) == found.sets[0].evaluations["disjunctive(8)"].means["auc"]
    assert first["deviation"] == ""  # one fold only


def test_figures_are_written_as_svg_and_png(out):
    names = {path.name for path in (out / "figures").iterdir()}
    stems = {
        f"{kind}-{name}"
        for kind in ("auc", "spectrum")
        for name in ("filmtrust", "bookcrossing-reduced")
    }
    assert names == {stem + ending for stem in stems for ending in (".svg", ".png")}
    assert (out / "figures" / "auc-filmtrust.png").read_bytes().startswith(b"\x89PNG")
    svg = (out / "figures" / "auc-filmtrust.svg").read_text()
    assert 'xmlns="http://www.w3.org/2000/svg"' in svg
    assert "var(--" not in svg  # a file has no page to take colours from


def test_sets_that_cannot_be_measured_are_errors(folder, tmp_path):
    with pytest.raises(ParameterError, match="no data set 'filmtrsut'") as caught:
        reproduce(tmp_path, ["filmtrsut"], folder=folder)
    assert "did you mean 'filmtrust'?" in caught.value.hint
    with pytest.raises(ParameterError, match="the paper has no results on 'movielens-20m'"):
        reproduce(tmp_path, ["movielens-20m"], folder=folder)
    with pytest.raises(DatasetNotFoundError, match="netflix is not in"):
        reproduce(tmp_path, ["netflix"], folder=folder)
    with pytest.raises(ParameterError, match="a split of its own"):
        reproduce(tmp_path, ["bookcrossing-reduced=synthetic"], folder=folder)
    with pytest.raises(DatasetNotFoundError, match="jester is not in"):
        reproduce(tmp_path, ["jester"], folder=folder)
    with pytest.raises(DatasetNotFoundError):
        reproduce(tmp_path, folder=tmp_path / "nothing")
    assert not list(tmp_path.rglob("*.json"))


def test_other_data_stand_in_for_a_set_of_the_paper(tmp_path, monkeypatch):
    def run(*args, alone, **options):
        """Run in this process, as others take seconds to start."""
        found = run_experiment(*args, **options)
        for name, each in found.evaluations.items():
            folds = [replace(fold, peak_memory=5_000_000 if alone else None) for fold in each.folds]
            found.evaluations[name] = replace(each, folds=tuple(folds))
        return found

    monkeypatch.setattr("boolrank.paper.reproduce.run_experiment", run)
    data = ["netflix=synthetic:90x30x900"]
    found = reproduce(tmp_path, data, arities=ARITIES, costs=True)
    assert found.sets[0].split.data.shape == (90, 30)
    rows = _rows(found, "Netflix")
    assert [row["kernel"] for row in rows] == list(PAPER["netflix"].kernels.values())
    assert all(row["fit (s)"] > 0 and row["memory (MB)"] == 5 for row in rows)
    page = write_reproduction(found, tmp_path).read_text(encoding="utf-8")
    assert "These are results on synthetic:90x30x900, not on the data of the paper." in page


def test_the_real_excerpt_of_the_netflix_prize_is_measured(data_dir, tmp_path):
    if not DATASETS["netflix"].is_here(data_dir):
        pytest.skip("netflix is not in BOOLRANK_DATA")
    found = reproduce(tmp_path, ["netflix"], folder=data_dir, sweep=False, arities=ARITIES)
    assert len(found.sets[0].split) == 5
    assert all(0.5 < row["AUC"] < 1 for row in _rows(found, "Netflix"))
    page = write_reproduction(found, tmp_path).read_text(encoding="utf-8")
    assert "which has 480,189 users" in page


@pytest.mark.skipif("BOOLRANK_DATA" not in os.environ, reason="BOOLRANK_DATA is not set")
def test_filmtrust_agrees_with_the_paper(tmp_path):
    if not DATASETS["filmtrust"].is_here():
        pytest.skip("filmtrust is not in BOOLRANK_DATA")
    found = reproduce(tmp_path, ["filmtrust"], sweep=False, arities=ARITIES)
    assert _best(_rows(found, "FilmTrust")) == "disjunctive"
    for row in _rows(found, "FilmTrust"):
        assert abs(row["difference"]) < 0.01
        assert not row["beyond two deviations"]
    write_reproduction(found, tmp_path)
    assert "This is not the whole set" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.skipif("BOOLRANK_DATA" not in os.environ, reason="BOOLRANK_DATA is not set")
def test_bookcrossings_published_fold_agrees_with_the_paper(tmp_path):
    if not DATASETS["bookcrossing-reduced"].is_here():
        pytest.skip("bookcrossing-reduced is not in BOOLRANK_DATA")
    found = reproduce(tmp_path, ["bookcrossing-reduced"], sweep=False, arities=ARITIES)
    assert _best(_rows(found, "BookCrossing")) == "disjunctive"
    assert len(found.sets[0].split) == 1
    for row in _rows(found, "BookCrossing"):
        assert abs(row["difference"]) < 0.01


def test_the_command_writes_the_page_and_prints_the_table(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("BOOLRANK_DATA", str(folder))
    out = tmp_path / "out"
    code, printed, messages = run("reproduce", "--out", out, "--arities", "1,3")
    assert code == 0
    assert "disjunctive(38)" in printed
    assert "Netflix was left out" in messages
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "boolrank reproduce --arities 1,3" in page
    args = ["--datasets", "filmtrust", "--no-sweep", "--arities", "1,3"]
    monkeypatch.setenv("COLUMNS", "80")
    _, narrow, _ = run("reproduce", "--out", out, *args)
    assert "…" not in narrow
    assert "conjunctive(2)" in narrow
    code, printed, _ = run("reproduce", "--out", out, *args, "--json")
    assert code == 0
    record = json.loads(printed)[0]
    assert record["data_set"] == "FilmTrust"
    assert record["paper_AUC"] == PAPER["filmtrust"].figures["disjunctive"].auc


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--datasets", "filmtrsut"], "did you mean 'filmtrust'"),
        (["--datasets", "jester"], "is not in"),
        (["--arities", "x"], "arities are written as"),
    ],
)
def test_the_command_explains_errors(run, folder, tmp_path, monkeypatch, args, words):
    monkeypatch.setenv("BOOLRANK_DATA", str(folder))
    code, printed, messages = run("reproduce", "--out", tmp_path / "out", *args)
    assert (code, printed) == (1 if words == "is not in" else 2, "")
    assert words in messages
    assert not Path(tmp_path / "out").exists()


def test_a_folder_with_other_files_is_left_alone(run, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("BOOLRANK_DATA", str(folder))
    (tmp_path / "report.html").write_text("mine")
    code, _, messages = run("reproduce", "--out", tmp_path)
    assert (code, "holds files that boolrank did not write" in messages) == (1, True)
    assert (tmp_path / "report.html").read_text() == "mine"
