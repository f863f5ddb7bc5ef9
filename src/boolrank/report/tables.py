"""Tables of results: metrics of models, differences from the best, parameters and costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..evaluation.metrics import METRICS, parse_metric
from ..evaluation.result import Evaluation
from ..evaluation.significance import Comparison, compare
from ..studies import SetComparison
from ..table import Column, Table

# Differences with a smaller p are called significant.
SIGNIFICANT = 0.05
_RESAMPLES = 2_000  # of the bootstrap
COST_COLUMNS = (
    Column("fit (s)", ".3f"),
    Column("rank (s)", ".3f", under="fit (s)", template="+\u00a0{} to rank"),
    Column("memory (MB)", ",.0f"),
)
COSTS = tuple(column.name for column in COST_COLUMNS)
DEVIATION = ", deviation"

_TITLES = {"auc": "AUC", "map": "mAP", "ndcg": "nDCG", "mrr": "MRR"}


def metric_title(metric: str) -> str:
    """Return the name of a metric as papers write it.

    >>> metric_title("ndcg@10"), metric_title("recall@5")
    ('nDCG@10', 'recall@5')
    """
    name, at, cut = metric.partition("@")
    return _TITLES.get(name, name) + at + cut


def comparison_table(sets: Sequence[SetComparison]) -> Table:
    """Return the results of a comparison, a row per data set, metric and model, best first."""
    rows: list[Sequence[Any]] = []
    measured = [model.by(each.metrics[0]).metrics for each in sets for model in each.measured]
    metrics = measured[0] if measured else sets[0].metrics
    columns = [
        Column("data set", style="group"),
        *_columns(metrics),
        Column("trials", "d"),
        Column("failed trials", "d", under="trials", template="{} failed"),
        Column("error", under="model", template="failed: {}"),
    ]
    for each in sets:
        for metric in each.metrics:
            for model in each.ranked(metric):
                versus = each.versus_best[metric].get(model.name)
                row = _row(metric, model.name, model.by(metric), versus, metrics)
                text = str(model.chosen[metric])
                row[2] = None if text == model.name else text
                counts = (model.trials, model.failed) if each.trials else (None, None)
                rows.append((each.title, *row, *counts, None))
            title, empty = metric_title(metric), [None] * (len(columns) - 4)
            rows += [(each.title, title, model.name, *empty, model.error) for model in each.failed]
    return Table("Results with the parameters chosen by each metric", columns, rows, "results")


def evaluation_table(evaluations: Mapping[str, Evaluation], seed: int = 0) -> Table:
    """Return the results of models, compared by the first metric."""
    first = next(iter(evaluations.values()))
    metric, *_ = first.user_metrics or first.metrics
    others = [each for each in first.metrics if each != metric]
    versus: dict[str, Comparison] = {}
    if first.user_metrics and len(evaluations) > 1:
        found = compare(evaluations, metric, resamples=_RESAMPLES, seed=seed)
        versus = {each.model: each for each in found}
    rows = [_row(metric, k, each, versus.get(k), others) for k, each in evaluations.items()]
    return Table("Results", _columns(others), rows, "results")


def split_variety(table: Table) -> list[Table]:
    """Return the columns on accuracy, and those on the variety of lists with their formulas."""
    names = [column.name for column in table.columns]
    cuts = {name: name.partition("@")[0] for name in names}
    lists = [name for name in names if cuts[name] in METRICS and METRICS[cuts[name]].of_lists]
    if not lists:
        return [table]
    titles = [name for name in lists if not name.endswith(DEVIATION)]
    note = "\n".join(f"{each}: {parse_metric(each).formula}" for each in titles)
    others = [name for name in names if name not in ("model", *lists)]
    variety = replace(table.without(others), title="Variety of the lists", note=note)
    return [table.without(lists), variety]


def by_metric(table: Table, hide: Collection[str] = ()) -> list[Table]:
    """Return the results by each metric, the best model emphasised, without empty columns."""
    found = []
    for metric in dict.fromkeys(each["metric"] for each in table.records()):
        part = table.where({"metric": metric})
        records = part.records()
        empty = [name for name in records[0] if all(each[name] is None for each in records)]
        part = part.without([metric, f"{metric}{DEVIATION}", *hide, *empty])
        best = [k for k, each in enumerate(records) if each["p (t)"] is each.get("error") is None]
        compared = len(best) < len(records) or len(records) == 1
        columns = [replace(c, heading=metric) if c.name == "mean" else c for c in part.columns]
        title, name = f"{metric}, and differences from the best model", f"{table.name}-{metric}"
        strong = frozenset(best if compared else [])
        found.append(replace(part, title=title, columns=columns, name=name.lower(), strong=strong))
    return found


def _columns(metrics: Iterable[str]) -> list[Column]:
    columns = [
        Column("metric"),
        Column("model", style="name", wrap="fold"),
        Column("parameters", under="model"),
        Column("mean", ".4f"),
        Column("deviation", ".4f", under="mean", template="±\u00a0{}"),
        Column("difference", "+.4f"),
        Column("from", "+.4f", under="difference", template="{} to "),
        Column("to", "+.4f", under="difference"),
        Column("p (t)", ".2g", heading="p"),
        Column("p (Wilcoxon)", ".2g", under="p (t)", template="ranks\u00a0{}"),
        Column("significant", marks="difference"),
    ]
    for title in map(metric_title, metrics):
        below = Column(f"{title}{DEVIATION}", ".4f", under=title, template="±\u00a0{}")
        columns += [Column(title, ".4f"), below]
    hidden = [Column("folds", shown=False), Column("split hash", shown=False)]
    return [*columns, *COST_COLUMNS, *hidden]


def costs(found: Evaluation) -> tuple[float, float, float | None]:
    """Return the values of `COSTS`."""
    peak = found.peak_memory
    return (*found.seconds, None if peak is None else peak / 1e6)


def _row(
    metric: str, name: str, found: Evaluation, versus: Comparison | None, metrics: Iterable[str]
) -> list[Any]:
    row: list[Any] = [metric_title(metric), name, None]
    row += [found.means[metric], found.deviations[metric]]
    if versus is None:
        row += [None] * 6
    else:
        row += [versus.difference, *versus.interval, versus.t_holm, versus.wilcoxon_holm]
        row.append(versus.t_holm < SIGNIFICANT)
    for each in metrics:
        row += [found.means[each], found.deviations[each]]
    return [*row, *costs(found), len(found.folds), found.split_hash]
