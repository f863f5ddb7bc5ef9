"""What models were found to be worth, as tables: figures, differences from the best, and times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..evaluation.metrics import parse_metric
from ..evaluation.significance import compare
from ..kernels.expressiveness import PairSpectrum
from ..studies.arities import Curve, measured_curve
from .tables import Table

if TYPE_CHECKING:
    from ..evaluation.result import Evaluation
    from ..studies.run import Run

__all__ = [
    "SIGNIFICANT",
    "arity_curves",
    "differences_table",
    "figures_table",
    "metric_title",
    "times_table",
]

# A difference is called significant where chance alone would be so large less often than this.
SIGNIFICANT = 0.05
# So many models are compared by all metrics: more rows would say less.
_FEW = 4
_RESAMPLES = 2_000  # of the bootstrap

_TITLES = {"auc": "AUC", "map": "mAP", "ndcg": "nDCG", "mrr": "MRR"}
_FAMILY = re.compile(r"(\w+)\((\d+)\)")


def metric_title(metric: str) -> str:
    """A metric as papers write it.

    >>> metric_title("ndcg@10"), metric_title("recall@5")
    ('nDCG@10', 'recall@5')
    """
    name, at, cut = metric.partition("@")
    return _TITLES.get(name, name) + at + cut


def figures_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """A row for each model: means over the folds, and their standard deviations."""
    metrics = next(iter(evaluations.values())).metrics
    columns = {"model": ""}
    for metric in metrics:
        columns |= {metric_title(metric): ".4f", f"{metric_title(metric)}, deviation": ".4f"}
    rows: list[tuple[Any, ...]] = [
        (name, *(part[m] for m in metrics for part in (each.means, each.deviations)))
        for name, each in evaluations.items()
    ]
    return Table("figures", "Means over folds, and their standard deviations.", columns, rows)


def differences_table(evaluations: Mapping[str, Evaluation], seed: int = 0) -> Table:
    """A row for each metric and model beside the best one by that metric.

    Intervals are of 95 %, by bootstrap over users; p is corrected for the number of models. Many
    models are compared by the first metric only.
    """
    rows: list[tuple[Any, ...]] = []
    metrics = next(iter(evaluations.values())).metrics
    compared = [metric for metric in metrics if parse_metric(metric).metric.per_user]
    for metric in compared[: None if len(evaluations) <= _FEW else 1]:
        if len(evaluations) < 2:
            break
        rows += [
            (
                metric_title(metric),
                each.baseline,
                each.model,
                each.difference,
                *each.interval,
                each.t_holm,
                each.wilcoxon_holm,
                "yes" if each.t_holm < SIGNIFICANT else "no",
            )
            for each in compare(evaluations, metric, resamples=_RESAMPLES, seed=seed)
        ]
    columns = {
        "metric": "",
        "best": "",
        "model": "",
        "difference": "+.4f",
        "from": "+.4f",
        "to": "+.4f",
        "p (t)": ".1g",
        "p (Wilcoxon)": ".1g",
        "significant": "",
    }
    return Table("differences", "Differences from the best model.", columns, rows)


def times_table(evaluations: Mapping[str, Evaluation]) -> Table:
    """Seconds of each model, over all folds."""
    rows = [(name, each.fit_seconds, each.rank_seconds) for name, each in evaluations.items()]
    columns = {"model": "", "fitting (s)": ".3f", "ranking (s)": ".3f"}
    return Table("times", "Time for all folds.", columns, rows)


def arity_curves(run: Run, metric: str = "auc", least: int = 3) -> list[Curve]:
    """The models of a run that differ by their arity alone, as curves of so many points or more."""
    families: dict[str, list[int]] = {}
    for name in run.evaluations:
        match = _FAMILY.fullmatch(name)
        if match is not None:
            families.setdefault(match[1], []).append(int(match[2]))
    chosen = {name: sorted(found) for name, found in families.items() if len(found) >= least}
    if not chosen:
        return []
    pairs = PairSpectrum.of(run.split.data.T.matrix())
    return [
        measured_curve(name, arities, pairs, run.evaluations, metric)
        for name, arities in chosen.items()
    ]
