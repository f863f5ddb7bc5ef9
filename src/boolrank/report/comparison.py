"""The page of a comparison: the best models, results, trade-offs and costs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..studies.comparison import OURS
from .figures import Dots, Plot, scatter_figure
from .page import Block, Entries, Facts, Figures, Note, Page, Section, write_page
from .sections import SIGNIFICANCE, data_facts, made_section
from .tables import SIGNIFICANT, by_metric, comparison_table, metric_title

if TYPE_CHECKING:
    from ..studies import ModelResult, SetComparison

# A figure leaves out models that are this many times as far from the best as the median model:
# they would squeeze the others into a corner.
_OUTSIDE = 4.0
_LONG = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")

_LEAD = (
    "Every model had {} to find its parameters, in one search for {}, on a fold of users who are "
    "not in the test. The best parameters by each metric were then measured on the other folds. "
    "Models given with parameters were not tuned."
)
_UNTUNED = (
    "**No model was tuned:** all have their default parameters, so the results say little about "
    "what each of them can do."
)
_BEST_NOTE = (
    f"Boolrank’s models are those on boolean kernels: {', '.join(f'`{name}`' for name in OURS)}."
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
    page = comparison_page(sets, manifest)
    return write_page(page, [comparison_table(sets)], Path(out) / "comparison.html")


def comparison_page(sets: Sequence[SetComparison], manifest: Mapping[str, Any]) -> Page:
    """Return the page; `render_page` turns it into HTML."""
    first, names = sets[0], ", ".join(each.title for each in sets)
    limit = "" if first.seconds is None else f" and at most {first.seconds:g} s"
    searched = " and ".join(map(metric_title, first.metrics))
    lead = _LEAD.format(f"{first.trials} trials{limit}", searched) if first.trials else _UNTUNED
    best = Entries({each.title: " ".join(findings(each)) for each in sets})
    made = {"seed": str(first.seed)}
    made |= {f"split of {each.title}": f"{each.split!r}; fold 0 is for validation" for each in sets}
    made["run"] = f"{manifest['started']} to {manifest['finished']}, {manifest['threads']} threads"
    sections = [
        Section("best", "Best models", "", [best, Note(_BEST_NOTE)]),
        *(_set_section(each, f"set{number}") for number, each in enumerate(sets, start=1)),
        made_section(manifest["command"], made, manifest, _RERUN),
    ]
    return Page(f"Comparison of models on {names}", lead, sections, _FOOTER)


def findings(found: SetComparison) -> list[str]:
    """Return a sentence on the best model for each metric, and one on models that failed."""
    sentences = [_finding(found, metric) for metric in found.metrics if found.measured]
    failed = ", ".join(f"`{each.name}`" for each in found.failed)
    return [*sentences, f"Failed, with the reason in the table: {failed}."] if failed else sentences


def _finding(found: SetComparison, metric: str) -> str:
    """Return how the best model compares with the best one from elsewhere."""
    best, *others = found.ranked(metric)
    title, value = metric_title(metric), f"{best.by(metric).means[metric]:.4f}"
    rival = next((each for each in others if each.ours != best.ours), None)
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


def _set_section(found: SetComparison, name: str) -> Section:
    facts = data_facts(found.split.data) | {"test users": f"{found.users:,}"}
    table = comparison_table([found]).where({"data set": found.title})
    tables = by_metric(replace(table.mapped("parameters", _short), name=name))
    figures = _figures(found, name) if found.measured else []
    blocks = [Facts(facts), *tables, Note(_MODELS_NOTE), *figures]
    return Section(name, found.title, "", blocks)


def _short(text: str | None) -> str | None:
    """Return parameters with four digits, without the name of the model."""
    inside = text and text.partition("(")[2].removesuffix(")")
    return _LONG.sub(lambda m: f"{float(m[0]):.4g}", inside) if inside else text


def _figures(found: SetComparison, prefix: str) -> list[Block]:
    """Return figures of the trade-offs, and a note with the models that they leave out."""
    near = {metric: _near(found, metric) for metric in found.metrics}
    drawn: list[tuple[str, str, str, dict[str, Dots]]] = []
    if len(found.metrics) > 1:
        one, two = found.metrics[:2]
        both = {name: model for name, model in near[one].items() if name in near[two]}
        dots = {name: _dots(model, one, two) for name, model in both.items()}
        drawn.append(("quality", metric_title(one), metric_title(two), dots))
    for metric, models in near.items():
        dots = {
            name: Dots(
                [sum(model.by(metric).seconds)], [model.by(metric).means[metric]], model.ours
            )
            for name, model in models.items()
        }
        x_label = "seconds per fold, to fit and rank"
        drawn.append((f"time-{metric.replace('@', '-')}", x_label, metric_title(metric), dots))
    plots = [
        Plot(f"{prefix}-{name}", f"{y} against {x}", scatter_figure(dots, x, y, log="time" in name))
        for name, x, y, dots in drawn
        if dots  # all models that are good by one metric may be bad by the other
    ]
    names = [each.name for each in found.measured]
    far = [f"`{name}`" for name in names if any(name not in models for models in near.values())]
    note = f" Left out of figures, as too far below the others: {', '.join(far)}." if far else ""
    return [Figures(plots), Note(_FIGURES_NOTE + note)]


def _near(found: SetComparison, metric: str) -> dict[str, ModelResult]:
    """Return the models by name, without those that are far below the others."""
    ranked = found.ranked(metric)
    values = np.array([model.by(metric).means[metric] for model in ranked])
    gaps = np.abs(values - values[0])
    limit = _OUTSIDE * max(float(np.median(gaps)), 1e-9)
    return {model.name: model for model, gap in zip(ranked, gaps, strict=True) if gap <= limit}


def _dots(model: ModelResult, one: str, two: str) -> Dots:
    """Return a point for the parameters chosen by each of two metrics."""
    means = [model.by(chosen).means for chosen in (one, two)]
    points = dict.fromkeys((each[one], each[two]) for each in means)
    return Dots([x for x, _ in points], [y for _, y in points], model.ours)
