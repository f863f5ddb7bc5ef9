"""The page of a comparison: the model to use, results, trade-offs and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..storage.output import write_text
from ..studies import SetComparison
from ..table import Table, counted
from .cautions import cautions
from .figures import Dots, Plot, scatter_figure
from .page import Block, Entries, Figures, Note, Page, Section, data_size, made, write_page
from .tables import COSTS, DEVIATION, SIGNIFICANT, by_metric, comparison_table, metric_title

# By data set and metric, the command that fits the best model.
Commands = Mapping[tuple[str, str], str]

# Models in a figure, and those that are best by a metric: bad ones would squeeze the others.
_DRAWN = 8
_TRIALS = ("trials", "failed trials")
_NOT_IN_PAPERS = (*COSTS, *_TRIALS, "p (t)", "p (Wilcoxon)")
_LONG = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")

_TUNED = (
    "Every model had {} to find its parameters, in one search for {}, on a fold of users who are "
    "not in the test. The best parameters by each metric were then measured on the other folds. "
    "Models given with parameters were not tuned."
)
_UNTUNED = "**No model was tuned:** defaults say little about what a model can do."
_MODELS_NOTE = (
    "Means over folds ± standard deviation, of the parameters that were best in validation. "
    "Differences from the best model have a 95 % bootstrap interval over users; p is from a paired "
    "t test, and below it from Wilcoxon’s signed-rank test, with Holm’s correction; differences "
    f"with p (t test) below {SIGNIFICANT:g} are marked. Times are medians over folds. Memory is "
    "the peak of a process that did nothing else, Python and the data included."
)
_FIGURE_NOTE = (
    f"The {_DRAWN} best models, and the best by any metric, coloured. Two joined points are one "
    "model with the parameters chosen by either metric."
)
_RERUN = (
    "The command continues a run that was stopped. All values are in `results.json`, "
    "`manifest.json` and `tables/` beside this page."
)
_FOOTER = "Times and memory depend on the machine and its load, metrics do not."


def write_comparison(
    sets: Sequence[SetComparison], out: str | Path, manifest: Mapping[str, Any], commands: Commands
) -> Path:
    """Write the page and, beside it, ``tables/`` and ``figures/``; return the path of the page."""
    page, results = comparison_page(sets, manifest, commands), comparison_table(sets)
    papers = []
    for found in sets:
        for metric, table in zip(found.metrics, _tables(found, "", _NOT_IN_PAPERS), strict=True):
            title = f"{metric_title(metric)} on {found.title}; * differs from the best model"
            papers.append(replace(table, title=title))
    path = write_page(page, [results], Path(out) / "comparison.html")
    write_text(path.parent / "tables" / "results.tex", "\n".join(t.to_latex() for t in papers))
    return path


def comparison_page(
    sets: Sequence[SetComparison], manifest: Mapping[str, Any], commands: Commands
) -> Page:
    """Return the page; `render_page` turns it into HTML."""
    first, names = sets[0], ", ".join(each.title for each in sets)
    limit = "" if first.seconds is None else f" and at most {first.seconds:g} s"
    searched = " and ".join(map(metric_title, first.metrics))
    trials = counted(first.trials, "trial")
    how = _TUNED.format(trials + limit, searched) if first.trials else _UNTUNED
    of = {each.title: f"{each.title}: " if len(sets) > 1 else "" for each in sets}
    use = {
        command: of[each.title] + text
        for each in sets
        for command, text in verdicts(each, commands).items()
    }
    doubts = [Note(of[each.title] + text) for each in sets for text in doubts_about(each)]
    about = {"seed": str(first.seed)}
    fold = "fold 0 is for validation"
    about |= {f"split of {each.title}": f"{each.split!r}; {fold}" for each in sets}
    threads = counted(manifest["threads"], "thread")
    about["run"] = f"{manifest['started']} to {manifest['finished']}, {threads}"
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
        title, value = metric_title(metric), f"{best.by(metric).means[metric]:.4f}"
        text = f"**Use `{best.name}`**" if not said else f"For {title}, `{best.name}`"
        text += f": {title} {value}"
        if others:
            versus = found.versus_best[metric][others[0].name]
            gap, p = abs(versus.difference), versus.t_holm
            chance = "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
            chance += "" if p < SIGNIFICANT else ", which may be chance"
            text += f", {gap:.4f} better than `{others[0].name}` ({chance})"
        said.setdefault(commands[found.title, metric], f"{text}.")
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
    spread = [c.name for c in table.columns if c.name.endswith(DEVIATION)]  # of other metrics
    return by_metric(replace(table, name=name or table.name), (*spread, *hide))


def _set_section(found: SetComparison, name: str) -> Section:
    figure = _figure(found, name) if found.measured else []
    hide = () if any(each.failed for each in found.measured) else _TRIALS  # the text has the number
    blocks = [*_tables(found, name, hide), Note(_MODELS_NOTE), *figure]
    size = f"{data_size(found.split.data)}; {found.users:,} test users."
    return Section(name, found.title, size, blocks)


def _short(text: str | None) -> str | None:
    """Return parameters with four digits, without the name of the model."""
    inside = text and text.partition("(")[2].removesuffix(")")
    return _LONG.sub(lambda m: f"{float(m[0]):.4g}", inside) if inside else text


def _figure(found: SetComparison, prefix: str) -> list[Block]:
    """Return a figure of the best models by two metrics, if there are two."""
    if len(found.metrics) < 2:
        return []
    first, second = found.metrics[:2]
    winners = {found.ranked(metric)[0].name for metric in found.metrics}
    drawn = [m for at, m in enumerate(found.ranked(first)) if at < _DRAWN or m.name in winners]
    dots = {}
    for model in drawn:  # a point for the parameters chosen by each metric
        means = [model.by(chosen).means for chosen in (first, second)]
        points = dict.fromkeys((each[second], each[first]) for each in means)
        x_values, y_values = zip(*points, strict=True)
        dots[model.name] = Dots(x_values, y_values, model.name in winners)
    x, y = metric_title(second), metric_title(first)
    plot = Plot(f"{prefix}-quality", f"{y} against {x}", scatter_figure(dots, x, y))
    return [Figures([plot]), Note(_FIGURE_NOTE)]
