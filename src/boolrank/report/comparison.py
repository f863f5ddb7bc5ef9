"""The page of a comparison: who is best and by how much, the figures, the trade-offs, the cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..studies.comparison import OURS
from .blocks import Block, Entries, Facts, Figures, Note, Sheet
from .comparison_tables import best_table, chosen_table, comparison_tables, models_table
from .figures import Drawn
from .page import Page, Section, check_report, write_page
from .results import SIGNIFICANT, metric_title
from .scatter import Dots, scatter_figure
from .sections import data_facts, machine_entries, made_section
from .tables import Table

if TYPE_CHECKING:
    from ..studies import ModelResult, SetComparison

__all__ = ["check_report", "comparison_page", "findings", "write_comparison"]

# A model that is so many times as far from the best as half of the others is would leave these no
# room in a figure.
_OUTSIDE = 4.0
_LONG = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")


def write_comparison(
    sets: Sequence[SetComparison], out: str | Path, manifest: Mapping[str, Any]
) -> Path:
    """Write the page, and beside it ``tables/`` and ``figures/``; returns the page."""
    page = comparison_page(sets, manifest)
    return write_page(page, comparison_tables(sets), Path(out) / "comparison.html")


def comparison_page(sets: Sequence[SetComparison], manifest: Mapping[str, Any]) -> Page:
    """All that was found; `render_page` makes HTML of it."""
    names = ", ".join(each.title for each in sets)
    said = {each.title: " ".join(findings(each)) for each in sets}
    best: list[Block] = [
        Entries(said),
        Sheet(best_table(sets), marked={"difference": "significant"}),
        Note(_BEST_NOTE.format(ours=", ".join(f"`{name}`" for name in OURS))),
    ]
    return Page(
        f"Side by side: {names}",
        _lead(sets),
        [
            Section("best", "Who is best", _budget(sets[0]), best),
            *(_set_section(each, number) for number, each in enumerate(sets, start=1)),
            made_section(_made(sets, manifest), _RERUN),
        ],
        "Figures are the same for the same data, seed and trials; times and memory are of this "
        "machine, and of what else it did.",
    )


def findings(found: SetComparison) -> list[str]:
    """What there is to say of a data set, in a sentence for each metric, and for failures."""
    sentences = [_finding(found, metric) for metric in found.metrics if found.measured]
    failed = ", ".join(f"`{each.name}`" for each in found.failed)
    return [*sentences, f"Failed, for the reason in the table: {failed}."] if failed else sentences


def _finding(found: SetComparison, metric: str) -> str:
    title, ranked = metric_title(metric), found.ranked(metric)
    best = ranked[0]
    value = f"{best.by(metric).means[metric]:.4f}"
    rival = next((each for each in ranked if each.ours != best.ours), None)
    if rival is None:
        return f"The highest {title} is that of `{best.name}`, {value}."
    versus = found.versus_best[metric][rival.name]
    gap, chance = f"{-versus.difference:.4f}", _chance(versus.t_holm)
    if best.ours:
        return (
            f"The highest {title} is that of `{best.name}`, a boolrank model, {value}: {gap} above "
            f"`{rival.name}`, the best of the others ({chance})."
        )
    return (
        f"**The highest {title} is not a boolrank model’s:** it is that of `{best.name}`, {value}, "
        f"{gap} above `{rival.name}`, the best of boolrank’s ({chance})."
    )


def _chance(p: float) -> str:
    text = "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
    return text if p < SIGNIFICANT else f"{text}: it may be chance"


def _lead(sets: Sequence[SetComparison]) -> str:
    """On how many sets a model of boolrank is best, and where it is not."""
    if not any(model.ours for each in sets for model in each.measured):
        return "No boolrank model is part of this comparison, or none came through."
    parts = []
    for metric in sets[0].metrics:
        tops = [(each.title, each.ranked(metric)[0]) for each in sets if each.measured]
        others = [f"{title} (`{top.name}`)" for title, top in tops if not top.ours]
        won = f"{len(tops) - len(others)} of {len(tops)} data sets"
        text = f"the highest {metric_title(metric)} on {won}"
        parts.append(text + (f", not on {', '.join(others)}" if others else ""))
    return f"A boolrank model has {'; and '.join(parts)}."


def _budget(found: SetComparison) -> str:
    if not found.trials:
        return (
            "**Nothing was tuned:** all models have the parameters that they have by default, so "
            "this says little of what each of them can do."
        )
    limit = "" if found.seconds is None else f" and {found.seconds:g} s at most"
    names = " and ".join(metric_title(metric) for metric in found.metrics)
    return (
        f"Every model had {found.trials} trials{limit}, in one search for {names}, to find its "
        "parameters on a fold of users who were not tested; what was best by each was then "
        "measured on the other folds. Models that are named with parameters were not tuned."
    )


def _set_section(found: SetComparison, number: int) -> Section:
    facts = data_facts(found.split.data) | {"test users": f"{found.users:,}"}
    titles = [metric_title(metric) for metric in found.metrics]
    below = {"model": {"failed": "failed: {}"}, "fit (s)": {"rank (s)": "+\u00a0{} to rank"}}
    for title in titles:
        below |= {
            title: {f"{title}, deviation": "±\u00a0{}"},
            f"{title}, difference": {
                f"{title}, from": "{} to ",
                f"{title}, to": "{}",
                f"{title}, p": "\np\u00a0=\u00a0{}",
            },
        }
    where = {"data set": found.title}
    blocks: list[Block] = [
        Facts(facts),
        Sheet(
            replace(models_table([found]).where(where), name=f"models-{number}"),
            below=below,
            marked={f"{title}, difference": f"{title}, significant" for title in titles},
            best=titles[0],
        ),
        Note(_MODELS_NOTE),
    ]
    if found.measured:
        figures, outside = _figures(found, f"set{number}")
        blocks.append(Figures(figures))
        blocks.append(Note(_FIGURES_NOTE + outside))
        blocks.append(
            Sheet(
                _short(replace(chosen_table([found]).where(where), name=f"chosen-{number}")),
                title="Parameters",
                about="that were best in validation, and what each is worth in the test",
                below={
                    "trials": {"failed trials": "{} failed"},
                    "fit (s)": {"rank (s)": "+\u00a0{} to rank"},
                },
            )
        )
    return Section(f"set{number}", found.title, " ".join(findings(found)), blocks)


def _figures(found: SetComparison, prefix: str) -> tuple[list[Drawn], str]:
    """The trade-offs, and what lies outside them."""
    metrics = found.metrics
    limits = {metric: _limit(found, metric) for metric in metrics}
    drawn, shown = [], []
    if len(metrics) > 1:
        one, two = metrics[:2]
        dots = {each.name: _dots(each, one, two, limits) for each in found.ranked(one)}
        shown.append(dots)
        x_label, y_label = metric_title(one), metric_title(two)
        if _some(dots):  # those that are good by one metric may all be bad by the other
            figure = scatter_figure(_some(dots), x_label=x_label, y_label=y_label)
            drawn.append(Drawn(f"{prefix}-quality", f"{y_label} against {x_label}", figure))
    for metric in metrics:
        title, x_label = metric_title(metric), "seconds to fit and to rank, a fold"
        dots = {each.name: _timed(each, metric, limits) for each in found.ranked(metric)}
        figure = scatter_figure(_some(dots), x_label=x_label, y_label=title, log=True)
        name = f"{prefix}-time-{metric.replace('@', '-')}"
        drawn.append(Drawn(name, f"{title} against {x_label}, logarithmic", figure))
        shown.append(dots)
    far = dict.fromkeys(name for dots in shown for name, each in dots.items() if not each.x)
    if not far:
        return drawn, ""
    names = ", ".join(f"`{name}`" for name in far)
    return drawn, f" Left out of a figure where they are too far below the others: {names}."


def _limit(found: SetComparison, metric: str) -> float:
    """What a point must be worth to share a figure with the others."""
    values = np.array([each.by(metric).means[metric] for each in found.measured])
    gaps = values.max() - values
    return float(values.max() - _OUTSIDE * max(np.median(gaps), 1e-9))


def _dots(model: ModelResult, one: str, two: str, limits: Mapping[str, float]) -> Dots:
    """Where a model stands by two metrics, once for the parameters chosen by each of them."""
    means = [model.by(chosen).means for chosen in (one, two)]
    near = [each for each in means if each[one] >= limits[one] and each[two] >= limits[two]]
    points = dict.fromkeys((each[one], each[two]) for each in near)
    return Dots([x for x, _ in points], [y for _, y in points], model.ours)


def _timed(model: ModelResult, metric: str, limits: Mapping[str, float]) -> Dots:
    value = model.by(metric).means[metric]
    near = value >= limits[metric]
    return Dots([sum(model.seconds(metric))] if near else [], [value] if near else [], model.ours)


def _some(dots: Mapping[str, Dots]) -> dict[str, Dots]:
    return {name: each for name, each in dots.items() if each.x}


def _short(table: Table) -> Table:
    """The table with fewer digits of the parameters; its files have them all."""

    def rounded(value: Any) -> Any:
        text = value if isinstance(value, str) else ""
        return _LONG.sub(lambda m: f"{float(m[0]):.4g}", text) if text else value

    return replace(table, rows=[tuple(map(rounded, row)) for row in table.rows])


def _made(sets: Sequence[SetComparison], manifest: Mapping[str, Any]) -> dict[str, str]:
    command = manifest.get("command")
    entries = {"command": f"`{command}`"} if command else {}
    entries |= {"seed": str(sets[0].seed)}
    entries |= {
        f"split of {each.title}": f"{each.split!r}; fold 0 is for validation" for each in sets
    }
    times = f"{manifest['started']} to {manifest['finished']}, {manifest['threads']} threads"
    return entries | {"run": times} | machine_entries(manifest)


_BEST_NOTE = (
    "Boolrank’s own are {ours}, which are on boolean kernels; all others are what people use "
    f"instead, under the same contract. A difference is marked where p is below {SIGNIFICANT:g}."
)
_MODELS_NOTE = (
    "By each metric, the parameters that were chosen by it: the mean over the test folds ± its "
    "deviation; the difference from the best model with its 95 % interval (bootstrap over users), "
    "and p (paired t test, Holm’s correction for the number of models), marked where p is below "
    f"{SIGNIFICANT:g}. Seconds are medians over the folds, memory is the most that a process "
    "held which did nothing else, Python and the data included; both for the parameters chosen by "
    "the first metric."
)
_FIGURES_NOTE = (
    "Up and to the right is better in the first figure, up and to the left in the others. Boolrank "
    "models are coloured. Two points of one model, joined by a line, are its parameters by one "
    "metric and by the other."
)
_RERUN = (
    "The command below, with the same data, gives these figures again; stopped and started again, "
    "it goes on where it was. `results.json` and `manifest.json` beside this page have all of it."
)
