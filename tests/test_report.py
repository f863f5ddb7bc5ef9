"""Pages are sound, self-contained HTML with the numbers of the library."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.text import Text

from boolrank import (
    InputError,
    Interactions,
    KernelRanker,
    Popularity,
    compare,
    evaluate,
    paper_protocol,
    synthetic,
)
from boolrank.evaluation import parse_metric
from boolrank.report.cautions import cautions, concentration
from boolrank.report.figures import Dots, arity_plots, scatter_figure
from boolrank.report.page import claim_folder
from boolrank.report.tables import by_metric, evaluation_table, split_variety
from boolrank.studies import Curve
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


def test_the_variety_of_lists_has_a_table_with_formulas(evaluations):
    (table,) = by_metric(evaluation_table(evaluations))
    accuracy, variety = split_variety(table)
    names = ["coverage@10", "novelty@10", "top10_share@10"]
    assert [c.name for c in variety.columns if "deviation" not in c.name] == ["model", *names]
    assert not set(names) & {column.name for column in accuracy.columns}
    for name in names:
        assert f"{name}: {parse_metric(name).formula}" in variety.note
        assert [row[name] for row in variety.records()] == [
            each.means[name] for each in evaluations.values()
        ]
    assert split_variety(accuracy) == [accuracy]


def test_cautions_name_lists_that_are_all_alike_and_rankings_below_chance():
    alike = {"ndcg@10": 0.4, "auc": 0.9, "top10_share@10": 0.6, "coverage@10": 0.1}
    varied = {"ndcg@10": 0.3, "auc": 0.8, "top10_share@10": 0.2, "coverage@10": 0.7}
    (said,) = cautions({"one": alike, "two": varied}, "ndcg@10")
    assert "60% of the places in the lists of `one`" in said
    assert "`two`, 20% and 70%, with nDCG@10 0.3000 instead of 0.4000" in said
    assert cautions({"two": varied, "one": alike}, "ndcg@10") == []
    assert cautions({"one": alike}, "ndcg@10") == [], "nothing that was tried is more varied"
    assert cautions({"one": alike, "two": varied | {"coverage@10": 0.11}}, "ndcg@10") == []
    (said,) = cautions({"one": varied | {"auc": 0.37}}, "ndcg@10")
    assert "best nDCG@10, and an AUC of 0.3700, below chance" in said
    assert cautions({"one": {"auc": 0.37}}, "auc") == [], "it is no contradiction"


def test_a_fitted_model_whose_lists_are_filled_by_few_items_has_a_caution():
    data = synthetic(600, 300, 6_000)
    said = concentration(KernelRanker("disjunctive(8)").fit(data))
    match = re.fullmatch(
        r"Ten items fill (\d+)% of the places .* have (\d+)% of the events\.", said
    )
    lists = KernelRanker("disjunctive(8)").fit(data).recommend(n=10).items
    share = np.sort(np.unique(lists, return_counts=True)[1])[-10:].sum() / lists.size
    assert abs(int(match[1]) / 100 - share) < 0.03, "a sample stands for all users"
    assert int(match[2]) == round(100 * np.sort(data.popularity())[-10:].sum() / data.size)
    assert concentration(KernelRanker("linear").fit(data)) is None


def test_lists_of_a_small_catalogue_have_no_caution():
    assert concentration(Popularity().fit(synthetic(60, 18, 300))) is None
    everything = Interactions.from_matrix(np.ones((5, 40)))
    assert concentration(Popularity().fit(everything)) is None, "there is nothing to recommend"


def test_one_model_has_no_differences(evaluations):
    (table,) = by_metric(evaluation_table({"linear": evaluations["linear"]}))
    assert "difference" not in table.records()[0]


def test_points_of_curves_have_tooltips():
    """The discs lie on the markers of matplotlib."""
    (plot,) = arity_plots([Curve("one <", (1, 2, 4), (0.25, 0.5, 1.0))])
    svg = plot.element()
    assert "<title>arity 4: one &lt; 1</title>" in svg
    discs = [tuple(map(float, at)) for at in re.findall(r'<circle .*?cx="(.*?)" cy="(.*?)"', svg)]
    markers = re.findall(r'<use xlink:href="#spectrum-m\w+" x="([\d.]+)" y="([\d.]+)"', svg)
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
    figure.draw_without_rendering()
    (axes,) = figure.axes
    places = axes.transData.transform(points)
    boxes = [Text.get_window_extent(text) for text in axes.texts]
    assert len(boxes) == len(dots)
    for k, box in enumerate(boxes):
        assert figure.bbox.contains(*box.min)
        assert figure.bbox.contains(*box.max)
        assert not any(box.contains(*place) for place in places)
        assert not box.count_overlaps(boxes[:k])


def test_points_of_a_figure_have_labels():
    dots = {"one": Dots([1.0, 2.0], [0.5, 0.6], strong=True), "two": Dots([30.0], [0.55])}
    figure = scatter_figure(dots, "seconds", "AUC")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["one", "two"], "in the order of AUC"
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
