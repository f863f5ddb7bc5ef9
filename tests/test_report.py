"""Pages are sound, self-contained HTML with the numbers of the library."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.text import Text

from boolrank import InputError, KernelRanker, compare, evaluate, paper_protocol, synthetic
from boolrank.report.figures import Dots, Plot, curves_figure, scatter_figure
from boolrank.report.page import claim_folder
from boolrank.report.tables import by_metric, evaluation_table
from pages import Outline


@pytest.fixture(scope="module")
def evaluations():
    split = paper_protocol(synthetic(150, 60, 1800))
    kernels = ["linear", "disjunctive(1)", "disjunctive(2)", "disjunctive(4)", "tanimoto"]
    return {kernel: evaluate(KernelRanker(kernel), split) for kernel in kernels}


def test_check_page_finds_broken_pages():
    assert Outline("<p><b>x</p></b>").wrong
    assert Outline("<p>").open == ["p"]
    assert Outline('<script src="a.js"></script><img>').fetched == ["a.js", "img"]


def test_results_have_the_numbers_of_the_library(evaluations):
    (table,) = by_metric(evaluation_table(evaluations))
    expected = {each.model: each for each in compare(evaluations, "auc", resamples=2_000)}
    for row, found in zip(table.records(), evaluations.values(), strict=True):
        assert row["mean"] == found.means["auc"]
        assert row["deviation"] == found.deviations["auc"]
        assert row["nDCG@10"] == found.means["ndcg@10"]
        assert row["fit (s)"] == np.median([fold.fit_seconds for fold in found.folds])
        each = expected.pop(row["model"], None)
        assert row["difference"] == (each and each.difference)
        assert (row["from"], row["to"]) == ((None, None) if each is None else each.interval)
        assert row["p (t)"] == (each and each.t_holm)
        assert row["p (Wilcoxon)"] == (each and each.wilcoxon_holm)
    assert not expected


def test_significant_differences_are_marked(evaluations):
    (table,) = by_metric(evaluation_table(evaluations))
    at = [column.name for column in table.shown].index("difference")
    marked = [table.cells(row)[at].marked for row in table.rows]
    assert marked == [(row["p (t)"] or 1) < 0.05 for row in table.records()]
    assert any(marked)


def test_models_can_be_compared_by_each_metric(evaluations):
    few = dict(list(evaluations.items())[:3])
    tables = by_metric(evaluation_table(few, by_each=True))
    assert [table.name for table in tables] == ["results-auc", "results-map@10", "results-ndcg@10"]
    for table, metric in zip(tables, ("auc", "map@10", "ndcg@10"), strict=True):
        best = max(few, key=lambda name: few[name].means[metric])
        assert [table.records()[k]["model"] for k in table.strong] == [best]


def test_one_model_has_no_differences(evaluations):
    (table,) = by_metric(evaluation_table({"linear": evaluations["linear"]}))
    assert "difference" not in table.records()[0]


def test_points_of_curves_have_tooltips():
    """The discs lie on the markers of matplotlib."""
    series = {"one <": ([1, 2, 4], [0.25, 0.5, 1.0])}
    svg = Plot("f", "", curves_figure(series, "y")).element()
    assert "<title>arity 4: one &lt; 1</title>" in svg
    discs = [tuple(map(float, at)) for at in re.findall(r'<circle .*?cx="(.*?)" cy="(.*?)"', svg)]
    markers = re.findall(r'<use xlink:href="#f-m\w+" x="([\d.]+)" y="([\d.]+)"', svg)
    drawn = [tuple(map(float, at)) for at in markers]
    assert len(discs) == 3
    for disc in discs:
        assert min(np.hypot(disc[0] - x, disc[1] - y) for x, y in drawn) < 0.02


def test_results_can_be_written_as_csv(evaluations):
    first = evaluation_table(evaluations).to_csv().splitlines()[1].split(",")
    assert float(first[3]) == evaluations["linear"].means["auc"]


def test_labels_in_a_figure_overlap_no_label_and_no_point():
    rng = np.random.default_rng(0)
    points = rng.normal(100, 14, (13, 2))
    dots = {f"a model {k}": Dots([x], [y], k % 3 == 0) for k, (x, y) in enumerate(points)}
    figure = scatter_figure(dots, "x", "y")
    (axes,) = figure.axes
    places = axes.transData.transform(points)
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert len(boxes) == len(dots)
    for k, box in enumerate(boxes):
        assert axes.bbox.contains(*box.min)
        assert axes.bbox.contains(*box.max)
        assert not any(box.contains(*place) for place in places)
        assert not box.count_overlaps(boxes[:k])


def test_points_of_a_figure_have_labels():
    dots = {"one": Dots([1.0, 2.0], [0.5, 0.6], strong=True), "two": Dots([30.0], [0.55])}
    figure = scatter_figure(dots, "seconds", "AUC", log=True)
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["one", "two"]
    assert axes.get_xscale() == "log"
    assert list(axes.lines[0].get_xdata()) == [1.0, 2.0]


def test_a_command_writes_only_into_a_new_an_empty_or_its_own_folder(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "new" / "folder", tmp_path / "empty"):
        claim_folder(folder, "demo")
        (folder / "report.html").write_text("ours")
        claim_folder(folder, "demo")
        with pytest.raises(InputError, match="holds output of `boolrank demo`") as caught:
            claim_folder(folder, "compare")
        assert caught.value.parameter == "out"
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "report.html").write_text("theirs")
    with pytest.raises(InputError, match="files that boolrank did not write; choose a new or an"):
        claim_folder(foreign, "demo")
    assert [path.name for path in foreign.iterdir()] == ["report.html"]
