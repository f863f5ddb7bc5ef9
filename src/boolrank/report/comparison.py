"""The page of a comparison: the model to use, results, trade-offs and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..table import Table
from .cautions import cautions
from .figures import Dots, Plot, scatter_figure
from .page import Block, Entries, Facts, Figures, Note, Page, Section, write_page
from .sections import SIGNIFICANCE, data_facts, made
from .tables import (
    COSTS,
    SIGNIFICANT,
    by_metric,
    comparison_table,
    describes_lists,
    metric_title,
)

if TYPE_CHECKING:
    from ..studies import ModelResult, SetComparison

# By data set and metric, the command that fits the best model.
Commands = Mapping[tuple[str, str], str]

# A figure leaves out models that are this many times as far from the best as the median model,
# unless they are best by a metric: they would squeeze the others into a corner.
_OUTSIDE = 4.0
_NOT_IN_PAPERS = (*COSTS, "trials", "failed trials", "p (t)", "p (Wilcoxon)")
_LONG = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")

_TUNED = (
    "Every model had {} to find its parameters, in one search for {}, on a fold of users who are "
    "not in the test. The best parameters by each metric were then measured on the other folds. "
    "Models given with parameters were not tuned."
)
_UNTUNED = (
    "**No model was tuned:** all have their default parameters, so the results say little about "
    "what each of them can do."
)
_MODELS_NOTE = (
    "Parameters are those that were best by the metric in validation, and the other metrics are of "
    "the same parameters. Times are medians over the folds. Memory is the peak of a process that "
    f"did nothing else, Python and the data included. {SIGNIFICANCE}"
)
_FIGURES_NOTE = (
    "The best models are coloured. Two joined points are one model with the parameters chosen by "
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
    sets: Sequence[SetComparison],
    out: str | Path,
    manifest: Mapping[str, Any],
    commands: Commands | None = None,
) -> Path:
    """Write the page and, beside it, ``tables/`` and ``figures/``; return the path of the page."""
    page, results = comparison_page(sets, manifest, commands), comparison_table(sets)
    papers = []
    for found in sets:
        for metric, table in zip(found.metrics, _tables(found, "", _NOT_IN_PAPERS), strict=True):
            names = [column.name for column in table.columns]
            spread = [each for each in names if each.endswith(", deviation")]
            title = f"{metric_title(metric)} on {found.title}; * differs from the best model"
            papers.append(replace(table.without(spread), title=title))
    return write_page(page, [results], Path(out) / "comparison.html", papers)


def comparison_page(
    sets: Sequence[SetComparison], manifest: Mapping[str, Any], commands: Commands | None = None
) -> Page:
    """Return the page; `render_page` turns it into HTML."""
    first, names = sets[0], ", ".join(each.title for each in sets)
    limit = "" if first.seconds is None else f" and at most {first.seconds:g} s"
    searched = " and ".join(map(metric_title, first.metrics))
    how = _TUNED.format(f"{first.trials} trials{limit}", searched) if first.trials else _UNTUNED
    use = {
        command: text if len(sets) == 1 else f"{each.title}: {text}"
        for each in sets
        for command, text in verdicts(each, commands or {}).items()
    }
    doubts = [Note(text) for each in sets for text in doubts_about(each)]
    about = {"seed": str(first.seed)}
    fold = "fold 0 is for validation"
    about |= {f"split of {each.title}": f"{each.split!r}; {fold}" for each in sets}
    about["run"] = f"{manifest['started']} to {manifest['finished']}, {manifest['threads']} threads"
    block = made(manifest["command"], about, manifest)
    sections = [
        Section("use", "Use this", "", [Entries(use, commands=True), *doubts]),
        *(_set_section(each, f"set{number}") for number, each in enumerate(sets, start=1)),
        Section("made", "How this was made", f"{how} {_RERUN}", [block]),
    ]
    lead = how
    if len(sets) == 1:
        lead = next(iter(use.values()), "No model worked.")
        use |= dict.fromkeys(list(use)[:1], "fits it on all of the data")
    return Page(f"Which model for {names}?", lead, sections, _FOOTER)


def verdicts(found: SetComparison, commands: Commands) -> dict[str, str]:
    """Return a sentence on the best model by each metric, by the command that fits it.

    A command that is the best by several metrics has the sentence of the first.
    """
    said: dict[str, str] = {}
    for metric in found.metrics if found.measured else ():
        best, *others = found.ranked(metric)
        model = f"--model '{best.chosen[metric]}'"
        command = commands.get((found.title, metric), f"boolrank fit {found.title} {model}")
        title, value = metric_title(metric), f"{best.by(metric).means[metric]:.4f}"
        text = f"**Use `{best.name}`**" if not said else f"For {title}, `{best.name}`"
        text += f": {title} {value}"
        if others:
            versus = found.versus_best[metric][others[0].name]
            gap, p = abs(versus.difference), versus.t_holm
            chance = "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
            chance += "" if p < SIGNIFICANT else ", which may be chance"
            text += f", {gap:.4f} better than `{others[0].name}` ({chance})"
        said.setdefault(command, f"{text}.")
    return said


def doubts_about(found: SetComparison) -> list[str]:
    """Return what speaks against the best models, and which models failed."""
    said = []
    for metric in found.metrics if found.measured else ():
        said += cautions({m.name: m.by(metric).means for m in found.ranked(metric)}, metric)
    failed = ", ".join(f"`{each.name}`" for each in found.failed)
    return [*said, f"Failed, with the reason in the table: {failed}."] if failed else said


def _tables(found: SetComparison, name: str, hide: Sequence[str] = ()) -> list[Table]:
    """Return the results by each metric, with short parameters."""
    table = comparison_table([found]).where({"data set": found.title}).mapped("parameters", _short)
    names = [column.name for column in table.columns]
    spread = [each for each in names if describes_lists(each) and each.endswith("deviation")]
    return by_metric(replace(table, name=name or table.name), (*spread, *hide))


def _set_section(found: SetComparison, name: str) -> Section:
    facts = data_facts(found.split.data) | {"test users": f"{found.users:,}"}
    figures = _figures(found, name) if found.measured else []
    return Section(
        name,
        found.title,
        "",
        [*_tables(found, name), Note(_MODELS_NOTE), *figures, Facts(facts)],
    )


def _short(text: str | None) -> str | None:
    """Return parameters with four digits, without the name of the model."""
    inside = text and text.partition("(")[2].removesuffix(")")
    return _LONG.sub(lambda m: f"{float(m[0]):.4g}", inside) if inside else text


def _figures(found: SetComparison, prefix: str) -> list[Block]:
    """Return figures of the trade-offs, and a note with the models that they leave out."""
    first, *more = found.metrics
    winners = {found.ranked(metric)[0].name for metric in found.metrics}
    near = [_near(found, metric) for metric in found.metrics[:2]]
    drawn = [m for m in found.measured if m.name in winners or all(m.name in each for each in near)]
    plots = []
    if more:
        dots = {m.name: _dots(m, first, more[0], m.name in winners) for m in drawn}
        x, y = metric_title(more[0]), metric_title(first)
        plots.append(Plot(f"{prefix}-quality", f"{y} against {x}", scatter_figure(dots, x, y)))
    seconds = {
        m.name: Dots(
            [sum(m.by(first).seconds)], [m.by(first).means[first]], strong=m.name in winners
        )
        for m in drawn
    }
    x, y = "seconds per fold, to fit and rank", metric_title(first)
    plots.append(Plot(f"{prefix}-time", f"{y} by {x}", scatter_figure(seconds, x, y, log=True)))
    far = [f"`{each.name}`" for each in found.measured if each not in drawn]
    note = f" Left out, as too far below the others: {', '.join(far)}." if far else ""
    return [Figures(plots), Note(_FIGURES_NOTE + note)]


def _near(found: SetComparison, metric: str) -> set[str]:
    """Return the names of models, without those that are far below the others."""
    ranked = found.ranked(metric)
    values = np.array([model.by(metric).means[metric] for model in ranked])
    gaps = np.abs(values - values[0])
    limit = _OUTSIDE * max(float(np.median(gaps)), 1e-9)
    return {model.name for model, gap in zip(ranked, gaps, strict=True) if gap <= limit}


def _dots(model: ModelResult, first: str, second: str, strong: bool) -> Dots:
    """Return a point for the parameters chosen by each of two metrics."""
    means = [model.by(chosen).means for chosen in (first, second)]
    points = dict.fromkeys((each[second], each[first]) for each in means)
    return Dots([x for x, _ in points], [y for _, y in points], strong)
