"""Pages are sound, self-contained HTML with the numbers of the library."""

from __future__ import annotations

import re
from statistics import median

import numpy as np
import pytest

from boolrank import Experiment, InputError, compare, run_experiment
from boolrank.models.spec import labels, parse_model
from boolrank.report import evaluation_page, render_page
from boolrank.report.figures import curves_figure, tail_figure, to_svg
from boolrank.report.output import claim_folder
from boolrank.report.sections import arity_curves
from boolrank.report.tables import by_metric, evaluation_table
from boolrank.studies.arity import family
from boolrank.studies.cache import write_text
from pages import Outline, check_page


@pytest.fixture(scope="module")
def run():
    kernels = ["linear", *family("disjunctive", (1, 2, 4)), "tanimoto"]
    models = tuple(parse_model(f"kernel-ranker(kernel={kernel})") for kernel in kernels)
    return run_experiment(Experiment(("synthetic:150x60x1800",), models))


@pytest.fixture(scope="module")
def evaluations(run):
    """By the names on the page."""
    names = labels(run.experiment.models)
    assert names == ["linear", "disjunctive(1)", "disjunctive(2)", "disjunctive(4)", "tanimoto"]
    return dict(zip(names, run.evaluations.values(), strict=True))


@pytest.fixture(scope="module")
def page(run):
    return render_page(evaluation_page(run, "boolrank evaluate <synthetic>", 1.5))


def test_check_page_finds_broken_pages():
    assert Outline("<p><b>x</p></b>").wrong
    assert Outline("<p>").open == ["p"]
    assert Outline('<script src="a.js"></script><img>').fetched == ["a.js", "img"]


def test_the_page_of_an_evaluation_is_valid_and_self_contained(page):
    outline = check_page(page)
    for name in ("results", "data", "arity", "examples", "time", "made"):
        assert name in outline.ids
        assert f'href="#{name}"' in page
    assert "boolrank evaluate &lt;synthetic&gt;" in page


def test_the_page_has_the_numbers_of_the_library(run, evaluations, page):
    tables = check_page(page).tables
    expected = {each.model: each for each in compare(evaluations, "auc", resamples=2_000)}
    for row, (model, found) in zip(tables["results-auc"][1:], evaluations.items(), strict=True):
        name, auc, (difference, interval), (p, ranks), *others = row
        assert name[1].strip() == model
        assert len(others) == 2
        for metric, (value, text) in zip(found.metrics, [auc, *others], strict=True):
            assert float(value) == found.means[metric]
            assert text == f"{found.means[metric]:.4f}±\u00a0{found.deviations[metric]:.4f}"
        if model not in expected:
            assert (difference, p) == ("", "")
            continue
        each = expected.pop(model)
        assert float(difference) == each.difference
        low, high = (f"{bound:+.4f}".replace("-", "−") for bound in each.interval)
        assert interval.endswith(f"{low} to {high}")
        assert float(p) == each.t_holm
        assert ranks.endswith(f"ranks\u00a0{each.wilcoxon_holm:.2g}".replace("-", "−"))
    assert not expected
    for row, found in zip(tables["times"][1:], evaluations.values(), strict=True):
        assert float(row[1][0]) == median(fold.fit_seconds for fold in found.folds)
    assert run.split.hash in page


def test_significant_differences_are_marked(evaluations, page):
    rows = evaluation_table(evaluations).records()
    marked = [row for row in rows if (row["p (t)"] or 1) < 0.05]
    assert len(marked) > 0
    assert page.count('class="mark"') == len(marked)
    assert {row["significant"] for row in marked} == {"yes"}


def test_few_models_are_compared_by_each_metric(evaluations):
    few = dict(list(evaluations.items())[:3])
    tables = by_metric(evaluation_table(few))
    assert [table.name for table in tables] == ["results-auc", "results-map@10", "results-ndcg@10"]
    for table, metric in zip(tables, ("auc", "map@10", "ndcg@10"), strict=True):
        best = max(few, key=lambda name: few[name].means[metric])
        assert [table.records()[k]["model"] for k in table.strong] == [best]


def test_models_that_differ_only_by_arity_make_a_curve(run, evaluations):
    (curve,) = arity_curves(run)
    assert (curve.family, curve.arities) == ("disjunctive", (1, 2, 4))
    assert curve.means[2] == evaluations["disjunctive(4)"].means["auc"]
    assert curve.means[0] == pytest.approx(evaluations["linear"].means["auc"])
    assert list(curve.ratios) == sorted(curve.ratios, reverse=True)
    assert arity_curves(run, least=4) == []


def test_examples_are_of_the_best_model_and_their_reasons_add_up(run, evaluations):
    (section,) = (s for s in evaluation_page(run).sections if s.name == "examples")
    assert len(section.blocks) == 3
    best = max(evaluations, key=lambda name: evaluations[name].means["auc"])
    for block in section.blocks:
        seen, advice = block.listings
        assert best in advice.title
        assert not {each.name for each in advice.items} & {each.name for each in seen.items}
        first = advice.items[0]
        assert sum(part for _, part in advice.reasons) == pytest.approx(first.score, rel=1e-9)


def test_one_model_has_a_page_without_comparisons():
    run = run_experiment(
        Experiment(("synthetic:60x30x600",), (parse_model("kernel-ranker(kernel=linear)"),))
    )
    outline = check_page(render_page(evaluation_page(run)))
    assert [len(row) for row in outline.tables["results-auc"]] == [2, 2]
    assert "arity" not in outline.ids


def test_points_of_curves_have_tooltips():
    """The discs lie on the markers of matplotlib."""
    series = {"one <": ([1, 2, 4], [0.25, 0.5, 1.0])}
    svg = to_svg(curves_figure(series, x_label="arity", y_label="y"), "f")
    assert "<title>arity 4: one &lt; 1</title>" in svg
    discs = [tuple(map(float, at)) for at in re.findall(r'<circle .*?cx="(.*?)" cy="(.*?)"', svg)]
    markers = re.findall(r'<use xlink:href="#f-m\w+" x="([\d.]+)" y="([\d.]+)"', svg)
    drawn = [tuple(map(float, at)) for at in markers]
    assert len(discs) == 3
    for disc in discs:
        assert min(np.hypot(disc[0] - x, disc[1] - y) for x, y in drawn) < 0.02


def test_a_tail_leaves_out_zeros():
    figure = tail_figure(np.array([5, 0, 9, 1]), label="users", x_label="rank", y_label="items")
    xs, ys = figure.axes[0].lines[0].get_data()
    assert list(xs) == [1, 2, 3]
    assert list(ys) == [9, 5, 1]


def test_results_can_be_written_as_csv(evaluations, tmp_path):
    table = evaluation_table(evaluations)
    write_text(tmp_path / "figures.csv", table.to_csv())
    first = (tmp_path / "figures.csv").read_text().splitlines()[1].split(",")
    assert float(first[3]) == evaluations["linear"].means["auc"]


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
