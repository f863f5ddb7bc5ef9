"""Comparisons: choice of parameters, test results, resuming, failures, and the page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.ft2font import FT2Font

from boolrank import (
    InputError,
    Interactions,
    KernelRanker,
    compare,
    make_split,
    paper_protocol,
    synthetic,
)
from boolrank._memory import peak_memory
from boolrank.errors import ParameterError
from boolrank.evaluation import Evaluation, evaluate_fold
from boolrank.evaluation.metrics import Metric, parse_metric
from boolrank.models import (
    MODELS,
    ModelEntry,
    ModelSpec,
    Popularity,
    make_model,
    parse_model,
)
from boolrank.report.comparison import (
    comparison_page,
    doubts_about,
    verdicts,
    write_comparison,
)
from boolrank.report.page import render_page
from boolrank.report.tables import (
    COSTS,
    by_metric,
    comparison_table,
    evaluation_table,
    split_variety,
)
from boolrank.studies import (
    ModelResult,
    SetComparison,
    best_spec,
    compare_models,
    record,
)
from boolrank.studies.cache import Cache, Task
from pages import check_page

METRICS = ("auc", "ndcg@10")
GRID = {
    "kernel-ranker": [{"kernel": "linear"}, {"kernel": "disjunctive(30)"}, {"reg": -1.0}],
    "popularity": [{}],
}


@dataclass
class GridTrial:
    params: dict
    metrics: dict
    error: str = ""


@dataclass
class GridStudy:
    trials: tuple[GridTrial, ...]

    def best(self, metric):
        worked = [trial for trial in self.trials if not trial.error]
        return max(worked, key=lambda trial: trial.metrics[metric])


class GridTuner:
    """A tuner that tries all of a short list; and remembers what it was asked."""

    def __init__(self):
        self.folds, self.budgets = [], []

    def __call__(self, name, fold, *, metrics, trials, seconds, seed, folder, n_threads, progress):
        self.folds.append(fold)
        self.budgets.append((trials, seconds, seed))
        tried = []
        for params in GRID[name][:trials]:
            try:
                found = evaluate_fold(make_model(name, **params), fold, metrics, n_threads)
                tried.append(GridTrial(params, found.means))
            except ParameterError as error:
                tried.append(GridTrial(params, {}, str(error)))
            progress(len(tried), trials, name)
        assert folder is not None
        return GridStudy(tuple(tried))


@pytest.fixture(scope="module")
def split():
    return paper_protocol(synthetic(120, 60, 1500, 3), folds=4)


@pytest.fixture(scope="module")
def tuner():
    return GridTuner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("comparison")


@pytest.fixture(scope="module")
def found(split, tuner, folder):
    models = ["popularity", "kernel-ranker", "kernel-ranker(kernel=tanimoto)"]
    options = {"title": "made up", "tuner": tuner, "trials": 9, "seconds": 7, "seed": 2}
    return compare_models(split, models, METRICS, folder=folder, **options)


@pytest.fixture(scope="module")
def page(found, folder):
    manifest = record([found], folder, command="boolrank compare <x>", started=time.time())
    write_comparison([found], folder, manifest, _commands(found))
    return (folder / "comparison.html").read_text(encoding="utf-8")


def test_parameters_are_chosen_on_the_first_fold_whose_users_are_never_tested(split, tuner, found):
    assert tuner.budgets == [(9, 7, 2)] * 2, "one with parameters is not tuned"
    asked = set(tuner.folds[0].users)
    assert asked == set(split[0].users)
    ranker = found.models[1]
    assert (ranker.trials, ranker.failed) == (3, 1)
    for metric in METRICS:
        scores = {
            kernel: evaluate_fold(KernelRanker(kernel), split[0], [metric]).means[metric]
            for kernel in ("linear", "disjunctive(30)")
        }
        assert ranker.chosen[metric].params["kernel"] == max(scores, key=scores.get)
        tested = [user for fold in ranker.by(metric).folds for user in fold.users]
        assert not asked & set(tested)
        assert len(tested) == len(set(tested)) == found.users


def test_test_results_equal_evaluate_fold(split, found):
    tanimoto = found.models[2]
    assert str(tanimoto.chosen["auc"]) == "kernel-ranker(kernel=tanimoto)"
    for each, fold in zip(tanimoto.by("auc").folds, split[1:], strict=True):
        variety = ("coverage@10", "top10_share@10")
        alone = evaluate_fold(KernelRanker("tanimoto"), fold, (*METRICS, *variety))
        np.testing.assert_array_equal(each.values["auc"], alone.values["auc"])
        assert each.means == alone.means


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize("protocol", ["paper", "strong"])
def test_ids_of_any_type_can_be_compared_and_cached(protocol, tmp_path):
    data = synthetic(120, 60, 1500, 3)
    users, items = np.repeat(np.arange(120), np.diff(data.indptr)), data.indices
    dates = (np.datetime64("2020-01-01") + items.astype("timedelta64[D]")).tolist()
    pairs = [("shop", int(user)) for user in users]
    named = Interactions.from_pairs(pairs, dates, np.arange(len(users)))
    split = make_split(named, protocol, folds=2)
    found = compare_models(split, ["kernel-ranker"], "auc", folder=tmp_path, trials=0)
    (fold,) = found.models[0].by("auc").folds
    alone = evaluate_fold(KernelRanker(), split[1], ["auc"])
    assert fold.users == alone.users
    np.testing.assert_array_equal(fold.values["auc"], alone.values["auc"])
    again = compare_models(split, ["kernel-ranker"], "auc", folder=tmp_path, trials=0)
    assert (found.computed, again.computed) == (1, 0)
    later = Interactions.from_pairs(
        pairs, [day.replace(year=2024) for day in dates], np.arange(len(users))
    )
    assert make_split(later, protocol, folds=2).hash != split.hash


@pytest.mark.parametrize("name", MODELS)
def test_the_version_of_a_wrapped_library_is_part_of_the_key(name, split, monkeypatch, tmp_path):
    def path():
        return Cache(tmp_path).path(Task(split[0], ModelSpec(name), (parse_metric("auc"),)))

    before = path()
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.0.1")
    assert (path() != before) == (MODELS[name].extra == "compare")


def test_a_file_as_folder_is_an_error_before_any_work(split, tuner, tmp_path):
    asked = len(tuner.folds)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="file is a file, not a folder; choose another"):
            compare_models(split, ["popularity"], METRICS, tuner=tuner, folder=folder)
    assert len(tuner.folds) == asked


def test_models_are_compared_with_the_best_by_each_metric(found):
    for metric in METRICS:
        evaluations = {each.name: each.by(metric) for each in found.measured}
        rows = compare(evaluations, metric, resamples=2_000, seed=2)
        assert found.versus_best[metric] == {row.model: row for row in rows}
        assert found.ranked(metric)[0].name == rows[0].baseline


def test_every_model_has_its_own_times_and_memory(found):
    for each in found.measured:
        fit, rank = each.by("auc").seconds
        assert fit > 0
        assert rank > 0
        if peak_memory() is not None:
            assert 2e7 < each.by("auc").peak_memory < 2e10
    assert "seconds" not in json.dumps(found.models[0].to_dict())


@pytest.mark.skipif(peak_memory() is None, reason="the system does not say")
def test_peak_memory_does_not_include_the_parent_process(split):
    held = np.ones(60_000_000)  # 480 MB
    (model,) = compare_models(split, ["popularity"], "auc", trials=0).models
    assert model.by("auc").peak_memory < held.nbytes


def test_a_second_comparison_recomputes_only_damaged_results(split, tuner, found, folder):
    def again():
        models = [each.name for each in found.models]
        options = {"title": "made up", "tuner": tuner, "trials": 9, "seconds": 7, "seed": 2}
        return compare_models(split, models, METRICS, folder=folder, **options)

    second = again()
    assert second.computed == 0
    assert second.to_dict() == found.to_dict()
    assert second.models[1].by("auc").seconds == found.models[1].by("auc").seconds
    next((folder / "cells").rglob("*.json")).write_text("{")
    third = again()
    assert third.to_dict() == found.to_dict()
    assert third.computed == 1


_COMPARE = """
from boolrank import paper_protocol, synthetic
from boolrank.studies import compare_models, record
split = paper_protocol(synthetic(120, 60, 1500, 3), folds=6)
found = compare_models(split, ["popularity", "kernel-ranker"], folder=out, trials=0)
record([found], out, started=0.0)
"""


@pytest.mark.usefixtures("worker_here")
def test_a_killed_and_resumed_comparison_equals_an_undisturbed_one(tmp_path):
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"

    def cells(out):
        return [path for path in out.rglob("cells/*/*.json") if path.name[0] != "."]

    program = f"out = {str(stopped)!r}\n{_COMPARE}"
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 120
    while len(cells(stopped)) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert 2 <= len(cells(stopped)) < 10
    assert not (stopped / "results.json").exists()
    for out in (stopped, whole):
        exec(_COMPARE, {"out": out})  # noqa: S102 - the program above
    a, b = (out / "results.json" for out in (stopped, whole))
    assert a.read_bytes() == b.read_bytes()
    assert len(cells(stopped)) == len(cells(whole)) == 10


def first_rank(rankings):
    """The best rank of a relevant item."""
    return np.array([r.min() for r in np.split(rankings.ranks, rankings.indptr[1:-1])], float)


@pytest.mark.usefixtures("worker_here")
def test_models_can_be_compared_by_a_function_for_which_lower_is_better(split, tmp_path):
    metric = Metric.of(first_rank, higher_is_better=False, version="1")
    models = ["popularity", "kernel-ranker(kernel=linear)"]
    found = compare_models(split, models, [metric], folder=tmp_path, trials=0)
    means = {each.name: each.by("first_rank").means["first_rank"] for each in found.models}
    best = min(means, key=means.get)
    assert means["popularity"] != means["kernel-ranker(kernel=linear)"]
    assert found.ranked("first_rank")[0].name == best
    (row,) = found.versus_best["first_rank"].values()
    assert row.baseline == best
    assert row.difference > 0
    assert compare_models(split, models, [metric], folder=tmp_path, trials=0).computed == 0
    record([found], tmp_path, started=0.0)
    assert best_spec(tmp_path) == parse_model(best)


def test_best_spec_finds_the_winner_of_a_comparison(found, folder, page, tmp_path):
    assert page
    for metric in METRICS:
        assert best_spec(folder, metric) == found.ranked(metric)[0].chosen[metric]
    assert best_spec(folder) == best_spec(folder, "auc")
    with pytest.raises(ParameterError, match="'mrr' was not measured; there are auc"):
        best_spec(folder, "mrr")
    record([found, found], tmp_path, started=0.0)
    with pytest.raises(InputError, match="on 2 data sets"):
        best_spec(tmp_path)
    text = (tmp_path / "results.json").read_text()
    (tmp_path / "results.json").write_text(text.replace("popularity", "ease"))
    with pytest.raises(InputError, match="is damaged"):
        best_spec(tmp_path)


def test_a_failed_model_is_recorded_with_its_reason(split, monkeypatch):
    absent = ModelEntry("absent", ".popularity:Popularity", "", "not_installed", "compare")
    monkeypatch.setitem(MODELS, "absent", absent)

    def tuner(*_args, **_options):
        raise MemoryError("8 TB")

    huge = f"als(factors={10**13})"
    found = compare_models(split, ["absent", huge, "popularity"], ["auc"], trials=0)
    assert [each.name for each in found.measured] == ["popularity"]
    missing_extra, wrong = (each.error for each in found.failed)
    assert "pip install 'boolrank[compare]'" in missing_extra
    assert "memory" in wrong or "allocate" in wrong
    (said,) = verdicts(found, _commands(found)).values()
    assert said == f"**Use `popularity`**: AUC {found.models[2].by('auc').means['auc']:.4f}."
    assert doubts_about(found) == [f"Failed, with the reason in the table: `absent`, `{huge}`."]
    page = render_page(comparison_page([found], _manifest(), _commands(found)))
    check_page(page)
    assert f"{found.title}: Failed, with" not in page
    both = [found, replace(found, title="other")]
    page = render_page(comparison_page(both, _manifest(), _commands(found) | _commands(both[1])))
    assert "other: Failed, with the reason in the table" in page
    out_of_memory = compare_models(split, ["popularity"], ["auc"], tuner=tuner)
    assert out_of_memory.failed[0].error == "out of memory: 8 TB"
    check_page(render_page(comparison_page([out_of_memory], _manifest(), {})))


@pytest.mark.parametrize(
    ("script", "words"),
    [("kill -9 $$", "ended by signal 9"), ("echo boom >&2; exit 3", "ended with code 3: boom")],
)
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the process")
def test_a_worker_that_dies_is_a_failure_with_a_reason(split, tmp_path, monkeypatch, script, words):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    (failed,) = compare_models(split, ["popularity"], trials=0).failed
    assert words in failed.error


@pytest.mark.parametrize(
    ("models", "metrics", "words"),
    [
        (["popularty"], "auc", "no model 'popularty'"),
        (["kernel-ranker(rog=1)"], "auc", "no parameter 'rog'"),
        (["kernel-ranker(reg=-1)"], "auc", "reg of kernel-ranker must be"),
        ([], "auc", "no model to compare"),
        (["popularity"], "coverage@10", "coverage@10 is not a metric of users"),
        (["popularity"], "auk", "did you mean 'auc'"),
    ],
)
def test_invalid_comparisons_are_errors_before_any_work(split, models, metrics, words):
    with pytest.raises(ParameterError, match=words):
        compare_models(split, models, metrics, trials=0)


def test_a_comparison_needs_a_fold_for_validation():
    with pytest.raises(ParameterError, match="needs a fold for validation"):
        compare_models(paper_protocol(synthetic(60, 30, 700), folds=1), ["popularity"])


def _commands(found):
    return {
        (found.title, metric): f"boolrank fit {found.title} {metric}" for metric in found.metrics
    }


def _manifest():
    machine = {"processor": "p", "cores": 2, "system": "s", "architecture": "a"}
    times = {"started": "then", "finished": "now", "threads": 2}
    return {"command": "boolrank compare x", "versions": {}, "machine": machine} | times


def _made_up(scores):
    """A comparison in which models have these AUCs, and every user the same."""
    split = paper_protocol(synthetic(60, 30, 700), folds=2)
    real = evaluate_fold(Popularity(), split[1], ["auc"])
    models = []
    for name, auc in scores.items():
        spec = ModelSpec("popularity")
        values = {"auc": np.full(len(real.users), auc) + np.linspace(0, 1e-3, len(real.users))}
        fold = type(real)(real.users, values, 1.0, 2.0)
        evaluation = Evaluation("made up", repr(split), split.hash, (fold,))
        models.append(ModelResult(name, {"auc": spec}, {"auc": evaluation}))
    return SetComparison("some data", split, ("auc",), tuple(models), 5, None, 0, 1)


def test_the_page_opens_with_the_model_to_use_its_margin_and_the_command():
    best = _made_up({"kernel-ranker": 0.8, "kernel-ease": 0.9, "slim": 0.85, "als": 0.7})
    commands = {("some data", "auc"): "boolrank fit some.csv --model kernel-ease --out model"}
    (command, said), *_ = verdicts(best, commands).items()
    assert command == commands["some data", "auc"]
    assert said == ("**Use `kernel-ease`**: AUC 0.9005, 0.0500 better than `slim` (p < 0.0001).")
    page = render_page(comparison_page([best], _manifest(), commands))
    assert page.index("Use <code>kernel-ease</code>") < page.index(command) < page.index("<table")
    assert "Every model had 5 trials to find its parameters, in one search for AUC" in page
    both = [best, replace(best, title="others")]
    (table,) = by_metric(comparison_table(both))
    assert [table.records()[k]["model"] for k in sorted(table.strong)] == ["kernel-ease"] * 2
    page = render_page(comparison_page(both, _manifest(), commands | _commands(both[1])))
    assert "others: <strong>Use" in page
    even = _made_up({"kernel-ease": 0.8, "slim": 0.8})
    assert "p = 1, which may be chance" in next(iter(verdicts(even, _commands(even)).values()))


def test_the_figure_has_every_winner_and_leaves_out_bad_models():
    aucs = {name: 0.9 - k / 100 for k, name in enumerate("abcdefghij")}
    found, models = _made_up(aucs), []
    for k, each in enumerate(found.models):
        (fold,) = each.by("auc").folds
        ndcg = 0.1 + 0.01 * k if k else 0.0  # the last has the best nDCG@10, the first the worst
        values = {**fold.values, "ndcg@10": fold.values["auc"] * 0 + ndcg}
        if k == 9:
            values["auc"] = values["auc"] * 0 + 0.2
        evaluation = replace(each.by("auc"), folds=(replace(fold, values=values),))
        both = {"ndcg@10": evaluation, "auc": evaluation}
        chosen = dict.fromkeys(both, each.chosen["auc"])
        models.append(replace(each, chosen=chosen, evaluations=both))
    found = replace(found, metrics=("ndcg@10", "auc"), models=tuple(models))
    page = render_page(comparison_page([found], _manifest(), _commands(found)))
    (svg,) = page.split("<svg")[1:]
    assert [name for name in aucs if f": {name} " in svg] == list("acdefghij")
    assert "`j` has the best nDCG@10, and an AUC of 0.2000, below chance" in doubts_about(found)[0]


def _latex_width(text):
    """Return the width of the table in points, by the letters of Computer Modern."""
    path = Path(mpl.get_data_path(), "fonts", "ttf", "cmr10.ttf")
    font = FT2Font(str(path))
    size = {"footnotesize": 8, "scriptsize": 7}[re.search(r"\\(\w+size)", text)[1]]
    font.set_size(size, 72)
    rows = [line.partition(r" \\\\")[0].split(" & ") for line in text.splitlines() if " & " in line]
    places = re.findall(r"p\{[^}]*\}|[lr]", re.search(r"tabular\}\{(.*)\}", text)[1])
    total = 0.0
    for place, column in zip(places, zip(*rows, strict=True), strict=True):
        plain = [re.sub(r"\\allowbreak|\\(?=[_%])", "", c).replace(r"$\pm$", "+") for c in column]
        widths = []
        for cell in plain:
            font.set_text(cell.replace("~", " "))
            widths.append(font.get_width_height()[0] / 64)
        total += 6 + (0.25 * _PAGE if place.startswith("p") else max(widths))
    return total


_PAGE = 345  # points in a line of LaTeX's article


def test_latex_tables_fit_a_page(found, folder, page):
    assert page
    tables = (folder / "tables" / "results.tex").read_text().split("\n\n")
    evaluations = {each.name: each.by("auc") for each in found.measured}
    shown = found.models[2].by("auc"), compare(evaluations, "auc")
    tables += [each.table().to_latex() for each in shown]
    (wide,) = by_metric(evaluation_table(evaluations), ["p (Wilcoxon)", *COSTS])
    tables += [table.to_latex() for table in split_variety(wide)]
    for text in tables:
        assert text.count(r"\begin{tabular}") == 1
        assert 100 < _latex_width(text) <= _PAGE, text


def test_the_page_is_self_contained_and_has_the_right_numbers(found, page):
    outline = check_page(page)
    for name in ("use", "set1", "made"):
        assert f'href="#{name}"' in page
    assert "boolrank compare &lt;x&gt;" in page
    assert found.split.hash[:12] in page
    for metric, other in (METRICS, METRICS[::-1]):
        rows = outline.tables[f"set1-{metric}"][1:]
        assert [row[0][0] for row in rows] == [each.name for each in found.ranked(metric)]
        for row, each in zip(rows, found.ranked(metric), strict=True):
            name, (mean, text), (difference, _), (p, _), (value, _), *lists, (fit, _), _, _ = row
            measured = each.by(metric)
            variety = [measured.means[k] for k in ("coverage@10", "top10_share@10")]
            assert [float(cell) for cell, _ in lists] == variety
            spec = each.chosen[metric]
            given = ", ".join(f"{key}={value}" for key, value in spec.changes.items())
            assert name[1] == each.name + ("" if str(spec) == each.name else given)
            assert float(mean) == measured.means[metric]
            assert text == f"{measured.means[metric]:.4f}±\u00a0{measured.deviations[metric]:.4f}"
            assert float(value) == measured.means[other]
            assert float(fit) == each.by(metric).seconds[0]
            versus = found.versus_best[metric].get(each.name)
            assert difference == ("" if versus is None else str(versus.difference))
            assert p == ("" if versus is None else str(versus.t_holm))


def test_tables_and_figures_are_written_as_files(found, folder, page):
    assert page
    written = {path.name for path in (folder / "tables").iterdir()}
    assert written == {"results.csv", "results.md", "results.tex"}
    assert len(list((folder / "figures").glob("*.png"))) == 1
    records = comparison_table([found]).records()
    assert {row["parameters"] for row in records if row["model"] == "kernel-ranker"} == {
        str(spec) for spec in found.models[1].chosen.values()
    }
    assert len(records) == len(METRICS) * len(found.models)
    for row in records:
        (model,) = (each for each in found.models if each.name == row["model"])
        metric = {"AUC": "auc", "nDCG@10": "ndcg@10"}[row["metric"]]
        assert row["mean"] == row[row["metric"]] == model.by(metric).means[metric]
        assert (row["trials"], row["failed trials"]) == (model.trials, model.failed)


def test_the_manifest_is_kept_if_nothing_was_recomputed(found, folder, page):
    assert page
    before = (folder / "manifest.json").read_bytes()
    kept = record([replace(found, computed=0)], folder, command="another", started=0.0)
    assert kept["command"] == "boolrank compare <x>"
    assert (folder / "manifest.json").read_bytes() == before
