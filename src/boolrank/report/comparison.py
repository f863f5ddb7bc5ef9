"""The page of a comparison: the best models, results, trade-offs and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..studies.comparison import OURS
from .figures import Drawn
from .page import Block, Entries, Facts, Figures, Note, Page, Section, check_report, write_page
from .scatter import Dots, scatter_figure
from .sections import SIGNIFICANCE, data_facts, made_section
from .tables import SIGNIFICANT, best_table, by_metric, comparison_table, metric_title

if TYPE_CHECKING:
    from ..studies import ModelResult, SetComparison
    from ..table import Table

__all__ = ["check_report", "comparison_page", "findings", "write_comparison"]

# A figure leaves out models that are this many times as far from the best as the median model:
# they would squeeze the others into a corner.
_OUTSIDE = 4.0
_LONG = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")

_BEST_NOTE = (
    f"Boolrank’s models are those on boolean kernels: {', '.join(f'`{name}`' for name in OURS)}. "
    f"Differences with p below {SIGNIFICANT:g} are marked."
)
_MODELS_NOTE = (
    "Parameters are those that were best by the metric in validation, and the other metrics are of "
    "the same parameters. Times are medians over the folds. Memory is the peak of a process that "
    f"did nothing else, Python and the data included. {SIGNIFICANCE}"
)
_FIGURES_NOTE = (
    "Boolrank’s models are coloured. Two joined points are one model with the parameters chosen by "
    "either metric."
)
_RERUN = (
    "The command reproduces this page from the same data, and continues a run that was stopped. "
    "All values are in `results.json`, `manifest.json` and `tables/` beside this page."
)
_FOOTER = (
    "Metrics are the same for the same data, seed and number of trials. Times and memory depend on "
    "the machine and its load."
)


def write_comparison(
    sets: Sequence[SetComparison], out: str | Path, manifest: Mapping[str, Any]
) -> Path:
    """Write the page and, beside it, ``tables/`` and ``figures/``; return the path of the page."""
    tables = [best_table(sets), comparison_table(sets)]
    return write_page(comparison_page(sets, manifest), tables, Path(out) / "comparison.html")


def comparison_page(sets: Sequence[SetComparison], manifest: Mapping[str, Any]) -> Page:
    """Return the page; `render_page` turns it into HTML."""
    names = ", ".join(each.title for each in sets)
    said = {each.title: " ".join(findings(each)) for each in sets}
    best: list[Block] = [Entries(said), best_table(sets), Note(_BEST_NOTE)]
    made = {"seed": str(sets[0].seed)}
    made |= {f"split of {each.title}": f"{each.split!r}; fold 0 is for validation" for each in sets}
    times = f"{manifest['started']} to {manifest['finished']}, {manifest['threads']} threads"
    return Page(
        f"Comparison of models on {names}",
        _lead(sets),
        [
            Section("best", "Best models", _budget(sets[0]), best),
            *(_set_section(each, number) for number, each in enumerate(sets, start=1)),
            made_section(manifest["command"], made | {"run": times}, _RERUN, manifest),
        ],
        _FOOTER,
    )


def findings(found: SetComparison) -> list[str]:
    """Return a sentence on the best model for each metric, and one on models that failed."""
    sentences = [_finding(found, metric) for metric in found.metrics if found.measured]
    failed = ", ".join(f"`{each.name}`" for each in found.failed)
    return [*sentences, f"Failed, with the reason in the table: {failed}."] if failed else sentences


def _finding(found: SetComparison, metric: str) -> str:
    ranked = found.ranked(metric)
    best, title = ranked[0], metric_title(metric)
    value = f"{best.by(metric).means[metric]:.4f}"
    rival = next((each for each in ranked if each.ours != best.ours), None)
    if rival is None:
        return f"`{best.name}` has the best {title}, {value}."
    versus = found.versus_best[metric][rival.name]
    gap, p = f"{abs(versus.difference):.4f}", versus.t_holm
    chance = "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
    chance += "" if p < SIGNIFICANT else ": it may be chance"
    if best.ours:
        return (
            f"`{best.name}`, a boolrank model, has the best {title}, {value}: {gap} better than "
            f"`{rival.name}`, the best of the others ({chance})."
        )
    return (
        f"**The best {title} is not a boolrank model’s:** `{best.name}` has {value}, {gap} better "
        f"than `{rival.name}`, the best of boolrank’s ({chance})."
    )


def _lead(sets: Sequence[SetComparison]) -> str:
    """Name the best models of one set, or say on how many sets a boolrank model is best."""
    if len(sets) == 1 and sets[0].measured:
        best = {metric_title(m): sets[0].ranked(m)[0].name for m in sets[0].metrics}
        return f"Best by {', by '.join(f'{title}: `{name}`' for title, name in best.items())}."
    if not any(model.ours for each in sets for model in each.measured):
        return "No boolrank model is part of this comparison, or all of them failed."
    parts = []
    for metric in sets[0].metrics:
        tops = [(each.title, each.ranked(metric)[0]) for each in sets if each.measured]
        others = [f"{title} (`{top.name}`)" for title, top in tops if not top.ours]
        won = f"{len(tops) - len(others)} of {len(tops)} data sets"
        text = f"the best {metric_title(metric)} on {won}"
        parts.append(text + (f", not on {', '.join(others)}" if others else ""))
    return f"A boolrank model has {'; and '.join(parts)}."


def _budget(found: SetComparison) -> str:
    if not found.trials:
        return (
            "**No model was tuned:** all have their default parameters, so the results say little "
            "about what each of them can do."
        )
    limit = "" if found.seconds is None else f" and at most {found.seconds:g} s"
    names = " and ".join(metric_title(metric) for metric in found.metrics)
    return (
        f"Every model had {found.trials} trials{limit} to find its parameters, in one search for "
        f"{names}, on a fold of users who are not in the test. The best parameters by each metric "
        "were then measured on the other folds. Models given with parameters were not tuned."
    )


def _set_section(found: SetComparison, number: int) -> Section:
    facts = data_facts(found.split.data) | {"test users": f"{found.users:,}"}
    table = comparison_table([found]).where({"data set": found.title})
    tables = by_metric(_short(replace(table, name=f"set{number}")))
    blocks: list[Block] = [Facts(facts), *tables, Note(_MODELS_NOTE)]
    if found.measured:
        figures, left_out = _figures(found, f"set{number}")
        blocks += [Figures(figures), Note(_FIGURES_NOTE + left_out)]
    return Section(f"set{number}", found.title, "", blocks)


def _short(table: Table) -> Table:
    """Return the table with short parameters: four digits, without the name of the model."""
    at = [column.name for column in table.columns].index("parameters")

    def short(text: str | None) -> str | None:
        inside = text and text.partition("(")[2].removesuffix(")")
        return _LONG.sub(lambda m: f"{float(m[0]):.4g}", inside) if inside else text

    rows = [[short(v) if k == at else v for k, v in enumerate(row)] for row in table.rows]
    return replace(table, rows=rows)


def _figures(found: SetComparison, prefix: str) -> tuple[list[Drawn], str]:
    """Return figures of the trade-offs, and a sentence on the models that they leave out."""
    plots: dict[str, tuple[str, str, dict[str, Dots]]] = {}
    if len(found.metrics) > 1:
        one, two = found.metrics[:2]
        dots = {each.name: _dots(found, each, one, two) for each in found.measured}
        plots["quality"] = metric_title(one), metric_title(two), dots
    for metric in found.metrics:
        dots = {each.name: _timed(found, each, metric) for each in found.measured}
        name = f"time-{metric.replace('@', '-')}"
        plots[name] = "seconds per fold, to fit and rank", metric_title(metric), dots
    drawn = []
    for name, (x_label, y_label, dots) in plots.items():
        near = {model: each for model, each in dots.items() if each.x}
        if near:  # all models that are good by one metric may be bad by the other
            log = name != "quality"
            figure = scatter_figure(near, x_label=x_label, y_label=y_label, log=log)
            drawn.append(Drawn(f"{prefix}-{name}", f"{y_label} against {x_label}", figure))
    far = {model for *_, dots in plots.values() for model, each in dots.items() if not each.x}
    names = ", ".join(f"`{each.name}`" for each in found.measured if each.name in far)
    return drawn, f" Left out of figures, as too far below the others: {names}." if far else ""


def _is_near(found: SetComparison, metric: str, value: float) -> bool:
    """Whether a figure shows a value of a metric."""
    each = found.measured[0].by(metric)
    gains = [each.gain(metric, model.by(metric).means[metric]) for model in found.measured]
    limit = max(gains) - _OUTSIDE * max(float(np.median(max(gains) - np.array(gains))), 1e-9)
    return each.gain(metric, value) >= limit


def _dots(found: SetComparison, model: ModelResult, one: str, two: str) -> Dots:
    """Return a point for the parameters chosen by each of two metrics."""
    means = [model.by(chosen).means for chosen in (one, two)]
    points = dict.fromkeys((each[one], each[two]) for each in means)
    near = [(x, y) for x, y in points if _is_near(found, one, x) and _is_near(found, two, y)]
    return Dots([x for x, _ in near], [y for _, y in near], model.ours)


def _timed(found: SetComparison, model: ModelResult, metric: str) -> Dots:
    value = model.by(metric).means[metric]
    near = _is_near(found, metric, value)
    return Dots([sum(model.seconds(metric))] if near else [], [value] if near else [], model.ours)
