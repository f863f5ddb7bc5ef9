"""A comparison as tables: who is best, the figures of every model, and what they were got with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .results import SIGNIFICANT, metric_title
from .tables import Table

if TYPE_CHECKING:
    from ..studies import ModelResult, SetComparison

__all__ = ["best_table", "chosen_table", "comparison_tables", "models_table"]

# What there is to each figure of a model.
PARTS = ("deviation", "difference", "from", "to", "p")


def comparison_tables(sets: Sequence[SetComparison]) -> list[Table]:
    """All of them."""
    return [best_table(sets), models_table(sets), chosen_table(sets)]


def models_table(sets: Sequence[SetComparison]) -> Table:
    """A row for each data set and model: each metric by the parameters that were chosen by it.

    Times and memory are those of the parameters that were chosen by the first metric. A model that
    failed has its reason.
    """
    metrics = sets[0].metrics
    columns = {"data set": "", "model": ""}
    forms = {"deviation": ".4f", "difference": "+.4f", "from": "+.4f", "to": "+.4f", "p": ".2g"}
    for title in map(metric_title, metrics):
        columns |= {title: ".4f"} | {f"{title}, {part}": forms[part] for part in PARTS}
        columns |= {f"{title}, significant": ""}
    columns |= {"fit (s)": ".3f", "rank (s)": ".3f", "memory (MB)": ",.0f", "failed": ""}
    rows: list[tuple[Any, ...]] = []
    for each in sets:
        for model in (*each.ranked(metrics[0]), *each.failed):
            cells = [cell for metric in metrics for cell in _figures(each, model, metric)]
            cost = _cost(model, metrics[0])
            rows.append((each.title, model.name, *cells, *cost, model.error or None))
    caption = (
        "Means over the test folds, and how far models are from the best: the difference, its 95 % "
        "interval and p. Seconds for a fold."
    )
    return Table("models", caption, columns, rows)


def chosen_table(sets: Sequence[SetComparison]) -> Table:
    """A row for each data set, model and metric: the parameters, and what they are worth."""
    metrics = sets[0].metrics
    columns = {"data set": "", "model": "", "chosen by": "", "parameters": ""}
    columns |= {metric_title(metric): ".4f" for metric in metrics}
    columns |= {"fit (s)": ".3f", "rank (s)": ".3f", "memory (MB)": ",.0f"}
    columns |= {"trials": "d", "failed trials": "d"}
    rows: list[tuple[Any, ...]] = []
    for each in sets:
        for model in each.measured:
            by: dict[str, list[str]] = {}
            for metric in metrics:
                by.setdefault(str(model.chosen[metric]), []).append(metric)
            for text, which in by.items():
                means = model.evaluations[text].means
                rows.append(
                    (
                        each.title,
                        model.name,
                        ", ".join(map(metric_title, which)),
                        text,
                        *(means[metric] for metric in metrics),
                        *_cost(model, which[0]),
                        model.trials,
                        model.failed,
                    )
                )
    caption = "The parameters that were best in validation, and what they are worth in the test."
    return Table("chosen", caption, columns, rows)


def best_table(sets: Sequence[SetComparison]) -> Table:
    """A row for each data set and metric: the best of boolrank's models beside that of others."""
    columns = {"data set": "", "metric": "", "boolrank’s best": "", "its value": ".4f"}
    columns |= {"others’ best": "", "value": ".4f", "difference": "+.4f", "p": ".2g"}
    columns |= {"significant": ""}
    rows: list[tuple[Any, ...]] = []
    for each in sets:
        for metric in each.metrics:
            ranked = each.ranked(metric)
            ours = next((model for model in ranked if model.ours), None)
            theirs = next((model for model in ranked if not model.ours), None)
            values = [cell for model in (ours, theirs) for cell in _best(model, metric)]
            row: tuple[Any, ...] = (each.title, metric_title(metric), *values)
            if ours is None or theirs is None:
                rows.append((*row, None, None, "no"))
                continue
            # One of the two is the best of all, so the other was compared with it.
            versus = each.versus_best[metric]
            found = versus[theirs.name if ours is ranked[0] else ours.name]
            difference = found.difference if theirs is ranked[0] else -found.difference
            rows.append((*row, difference, found.t_holm, _yes(found.t_holm < SIGNIFICANT)))
    caption = "The best of boolrank's models beside the best of the others: what it is above it."
    return Table("best", caption, columns, rows)


def _best(model: ModelResult | None, metric: str) -> tuple[str | None, float | None]:
    return (None, None) if model is None else (model.name, model.by(metric).means[metric])


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _figures(found: SetComparison, model: ModelResult, metric: str) -> list[Any]:
    if model.error:
        return [None] * (len(PARTS) + 1) + ["no"]
    measured = model.by(metric)
    figures = [measured.means[metric], measured.deviations[metric]]
    versus = found.versus_best[metric].get(model.name)
    if versus is None:
        return [*figures, None, None, None, None, "no"]
    significant = versus.t_holm < SIGNIFICANT
    return [*figures, versus.difference, *versus.interval, versus.t_holm, _yes(significant)]


def _cost(model: ModelResult, metric: str) -> tuple[float | None, float | None, float | None]:
    if model.error:
        return None, None, None
    peak = model.peak_memory(metric)
    return (*model.seconds(metric), None if peak is None else peak / 1e6)
