"""A run in a few rows: each model's means and deviations, and how it stands beside the best."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..evaluation.metrics import parse_metric
from ..evaluation.significance import Comparison, compare
from .run import Run

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True)
class Summary:
    """One model of a run.

    Attributes
    ----------
    model : as text
    means, deviations : by metric, over the folds
    versus_best : beside the best model by the first metric; None for that model itself

    >>> Summary("linear", {"auc": 0.9}, {"auc": 0.01}, None).means["auc"]
    0.9
    """

    model: str
    means: dict[str, float]
    deviations: dict[str, float]
    versus_best: Comparison | None


def summarize(run: Run, metric: str | None = None, resamples: int = 2_000) -> list[Summary]:
    """All models of a run, in their order.

    Parameters
    ----------
    metric : what they are compared by; the first that users have values of if not given
    resamples : of the bootstrap

    >>> from boolrank.experiments import Experiment, RankerSpec, run_experiment
    >>> models = RankerSpec("linear"), RankerSpec("disjunctive(4)")
    >>> rows = summarize(run_experiment(Experiment(("synthetic:60x30x600",), models)))
    >>> [(row.model, row.versus_best is None) for row in rows]
    [('linear', False), ('disjunctive(4)', True)]
    """
    found = run.evaluations
    of_users = [m for m in run.experiment.metrics if parse_metric(m).metric.per_user]
    metric = metric or next(iter(of_users), None)
    beside: dict[str, Comparison] = {}
    if metric is not None and len(found) > 1:
        best = max(found, key=lambda name: _low(found[name].means[metric]))
        rows = compare(found, metric, best, resamples=resamples, seed=run.experiment.seed)
        beside = {row.model: row for row in rows}
    return [
        Summary(name, each.means, each.deviations, beside.get(name)) for name, each in found.items()
    ]


def _low(value: float) -> float:
    return -math.inf if math.isnan(value) else value
