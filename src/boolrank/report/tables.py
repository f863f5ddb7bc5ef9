"""Tables of results: metrics of models, differences from the best, parameters and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..evaluation.metrics import parse_metric
from ..evaluation.significance import compare
from ..table import Column, Table

if TYPE_CHECKING:
    from ..evaluation.result import Evaluation
    from ..studies import ModelResult, SetComparison

__all__ = [
    "SIGNIFICANT",
    "best_table",
    "chosen_table",
    "differences_table",
    "figures_table",
    "metric_title",
    "models_table",
    "times_table",
]

# Differences with a smaller p are called significant.
SIGNIFICANT = 0.05
# More models than these are compared by the first metric only, to keep the table short.
_FEW = 4
_RESAMPLES = 2_000  # of the bootstrap

_TITLES = {"auc": "AUC", "map": "mAP", "ndcg": "nDCG", "mrr": "MRR"}
_COST = (
    Column("fit (s)", ".3f"),
    Column("rank (s)", ".3f", under="fit (s)", template="+\u00a0{} to rank"),
    Column("memory (MB)", ",.0f"),
)


def metric_title(metric: str) -> str:
    """Return the name of a metric as papers write it.

    >>> metric_title("ndcg@10"), metric_title("recall@5")
    ('nDCG@10', 'recall@5')
    """
    name, at, cut = metric.partition("@")
    return _TITLES.get(name, name) + at + cut


def figures_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """Return the means over folds with their standard deviations, a row per model."""
    metrics = next(iter(evaluations.values())).metrics
    columns = [Column("model")]
    for title in map(metric_title, metrics):
        columns += [Column(title, ".4f"), _deviation(title)]
    rows = [
        (name, *(part[m] for m in metrics for part in (each.means, each.deviations)))
        for name, each in evaluations.items()
    ]
    table = Table("Means over folds, ± standard deviation", columns, rows, "figures")
    return table.emphasise_max(metric_title(metrics[0]))


def differences_table(evaluations: Mapping[str, Evaluation], seed: int = 0) -> Table:
    """Return how far each model is from the best one by each metric.

    Intervals are 95 % bootstrap intervals over users; p is corrected for the number of models.
    """
    metrics = next(iter(evaluations.values())).metrics
    compared = [metric for metric in metrics if parse_metric(metric).metric.per_user]
    rows = [
        (
            metric_title(metric),
            each.model,
            each.baseline,
            each.difference,
            *each.interval,
            each.t_holm,
            each.wilcoxon_holm,
            _significant(each.t_holm),
        )
        for metric in (compared if len(evaluations) <= _FEW else compared[:1])
        if len(evaluations) > 1
        for each in compare(evaluations, metric, resamples=_RESAMPLES, seed=seed)
    ]
    columns = [
        Column("metric"),
        Column("model"),
        Column("best", under="model", template="versus {}"),
        Column("difference", "+.4f"),
        Column("from", "+.4f", under="difference", template="{} to "),
        Column("to", "+.4f", under="difference"),
        Column("p (t)", ".1g"),
        Column("p (Wilcoxon)", ".1g", under="p (t)", template="ranks\u00a0{}"),
        Column("significant", marks="difference"),
    ]
    return Table("Differences from the best model", columns, rows, "differences")


def times_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """Return the seconds of each model, summed over the folds."""
    rows = [(name, each.fit_seconds, each.rank_seconds) for name, each in evaluations.items()]
    columns = {"model": "", "fit (s)": ".3f", "rank (s)": ".3f"}
    return Table.of("Time for all folds", columns, rows, name="times")


def models_table(sets: Sequence[SetComparison]) -> Table:
    """Return the results of a comparison, a row per data set and model.

    Each metric is of the parameters that were chosen by it; times and memory are of those that
    were chosen by the first metric.
    """
    metrics = sets[0].metrics
    columns = [Column("data set"), Column("model")]
    for title in map(metric_title, metrics):
        gap = f"{title}, difference"
        columns += [
            Column(title, ".4f"),
            _deviation(title),
            Column(gap, "+.4f"),
            Column(f"{title}, from", "+.4f", under=gap, template="{} to "),
            Column(f"{title}, to", "+.4f", under=gap),
            Column(f"{title}, p", ".2g", under=gap, template="\np\u00a0=\u00a0{}"),
            Column(f"{title}, significant", marks=gap),
        ]
    columns += [*_COST, Column("failed", under="model", template="failed: {}")]
    rows: list[Sequence[Any]] = []
    for each in sets:
        for model in each.ranked(metrics[0]):
            figures = [cell for metric in metrics for cell in _figures(each, model, metric)]
            rows.append((each.title, model.name, *figures, *_cost(model, metrics[0]), None))
        empty = [None] * (len(columns) - 3)
        rows += [(each.title, model.name, *empty, model.error) for model in each.failed]
    return Table(
        "Means over the test folds, and differences from the best", columns, rows, "models"
    )


def chosen_table(sets: Sequence[SetComparison]) -> Table:
    """Return the parameters that validation chose, with their test results."""
    metrics = sets[0].metrics
    columns = [
        *(Column(name) for name in ("data set", "model", "chosen by", "parameters")),
        *(Column(metric_title(metric), ".4f") for metric in metrics),
        *_COST,
        Column("trials", "d"),
        Column("failed trials", "d", under="trials", template="{} failed"),
    ]
    rows: list[Sequence[Any]] = []
    for each in sets:
        for model in each.measured:
            chosen: dict[str, list[str]] = {}
            for metric in metrics:
                chosen.setdefault(str(model.chosen[metric]), []).append(metric)
            for text, by in chosen.items():
                means = [model.evaluations[text].means[metric] for metric in metrics]
                names = ", ".join(map(metric_title, by))
                cost = _cost(model, by[0])
                counts = model.trials, model.failed
                rows.append((each.title, model.name, names, text, *means, *cost, *counts))
    return Table("Parameters chosen in validation, with test results", columns, rows, "chosen")


def best_table(sets: Sequence[SetComparison]) -> Table:
    """Return the best boolrank model versus the best other model, by data set and metric."""
    columns = [
        *(Column(name) for name in ("data set", "metric", "boolrank’s best")),
        Column("its value", ".4f"),
        Column("others’ best"),
        Column("value", ".4f"),
        Column("difference", "+.4f"),
        Column("p", ".2g"),
        Column("significant", marks="difference"),
    ]
    rows: list[Sequence[Any]] = []
    for each in sets:
        for metric in each.metrics:
            ranked = each.ranked(metric)
            row: list[Any] = [each.title, metric_title(metric)]
            sides = [[model for model in ranked if model.ours is ours] for ours in (True, False)]
            for models in sides:
                means = [(model.name, model.by(metric).means[metric]) for model in models]
                row += means[0] if means else (None, None)
            if all(sides):
                ours, theirs = (models[0] for models in sides)
                # One of the two is the best of all, so the other was compared with it.
                found = each.versus_best[metric][theirs.name if ours is ranked[0] else ours.name]
                gap = -found.difference if ours is ranked[0] else found.difference
                row += [gap, found.t_holm, _significant(found.t_holm)]
            else:
                row += [None, None, "no"]
            rows.append(row)
    return Table("The best boolrank model and the best other model", columns, rows, "best")


def _deviation(title: str) -> Column:
    return Column(f"{title}, deviation", ".4f", under=title, template="±\u00a0{}")


def _significant(p: float) -> str:
    return "yes" if p < SIGNIFICANT else "no"


def _figures(found: SetComparison, model: ModelResult, metric: str) -> list[Any]:
    measured = model.by(metric)
    figures = [measured.means[metric], measured.deviations[metric]]
    versus = found.versus_best[metric].get(model.name)
    if versus is None:
        return [*figures, None, None, None, None, "no"]
    return [
        *figures,
        versus.difference,
        *versus.interval,
        versus.t_holm,
        _significant(versus.t_holm),
    ]


def _cost(model: ModelResult, metric: str) -> list[float | None]:
    peak = model.peak_memory(metric)
    return [*model.seconds(metric), None if peak is None else peak / 1e6]
