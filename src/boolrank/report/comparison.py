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
from .tables import SIGNIFICANT, best_table, by_metric, comparison_table, metric_title

if TYPE_CHECKING:
    from ..studies import ModelResult, SetComparison
    from ..table import Table

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
            made_section(manifest["command"], made | {"run": times}, manifest, _RERUN),
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
    """Name the best models, with the data set if there are several."""
    parts = []
    for metric in sets[0].metrics:
        best = [(each.ranked(metric)[0].name, each.title) for each in sets if each.measured]
        names = [f"`{name}`" + (f" on {title}" if len(sets) > 1 else "") for name, title in best]
        parts.append(f"by {metric_title(metric)}: {', '.join(names) or 'none, as all failed'}")
    return f"Best {'; '.join(parts)}."


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
    name = f"set{number}"
    facts = data_facts(found.split.data) | {"test users": f"{found.users:,}"}
    table = comparison_table([found]).where({"data set": found.title})
    tables = by_metric(_short(replace(table, name=name)))
    figures = _figures(found, name) if found.measured else []
    blocks = [Facts(facts), *tables, Note(_MODELS_NOTE), *figures]
    return Section(name, found.title, "", blocks)


def _short(table: Table) -> Table:
    """Return the table with short parameters: four digits, without the name of the model."""
    at = [column.name for column in table.columns].index("parameters")

    def short(text: str | None) -> str | None:
        inside = text and text.partition("(")[2].removesuffix(")")
        return _LONG.sub(lambda m: f"{float(m[0]):.4g}", inside) if inside else text

    rows = [[short(v) if k == at else v for k, v in enumerate(row)] for row in table.rows]
    return replace(table, rows=rows)


def _figures(found: SetComparison, prefix: str) -> list[Block]:
    """Return figures of the trade-offs, and a note with the models that they leave out."""
    plots = []

    def draw(name: str, x_label: str, y_label: str, dots: Mapping[str, Dots]) -> None:
        if dots:  # all models that are good by one metric may be bad by the other
            log = name != "quality"
            figure = scatter_figure(dots, x_label=x_label, y_label=y_label, log=log)
            plots.append(Plot(f"{prefix}-{name}", f"{y_label} against {x_label}", figure))

    near = {metric: _near(found, metric) for metric in found.metrics}
    if len(found.metrics) > 1:
        one, two = found.metrics[:2]
        dots = {name: _dots(near[one][name], one, two) for name in near[one] if name in near[two]}
        draw("quality", metric_title(one), metric_title(two), dots)
    for metric, models in near.items():
        dots = {
            name: Dots(
                [sum(model.by(metric).seconds)], [model.by(metric).means[metric]], model.ours
            )
            for name, model in models.items()
        }
        name = f"time-{metric.replace('@', '-')}"
        draw(name, "seconds per fold, to fit and rank", metric_title(metric), dots)
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
