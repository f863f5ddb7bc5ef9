"""Ranking metrics: a table of names, formulas and conventions; functions can be metrics, too.

In the formulas, R is the number of a user's relevant items among the candidates; r_1 < r_2 < … are
their ranks, counted from 1; h = |{j : r_j ≤ k}| is the number of hits in the first k.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import near_name, whole
from ..engines.threads import threads
from ..errors import InputError, ParameterError, ParameterTypeError
from . import formulas
from .rankings import Rankings

Floats = NDArray[np.float64]
_UNDEFINED = "NaN, and not in the mean"
_COUNTS = "counts: needs no relevant items"


@dataclass(frozen=True)
class Metric:
    """A metric, with or without a cut; without one it measures the whole ranking.

    Attributes
    ----------
    cut : ``"needed"`` (``precision@10``), ``"optional"`` (``mrr``, ``mrr@10``) or ``"none"``
    value : function of rankings, and of the cut if there is one; None if `cut_metrics` has it
    per_user : False if it has one value per model, not per user
    empty : the value of a user without relevant items
    version : version of a function, see `of`
    """

    name: str
    formula: str
    cut: str
    value: Callable[..., Any] | None = None
    per_user: bool = True
    empty: str = _UNDEFINED
    higher_is_better: bool = True
    version: str = ""
    k: int | None = None

    def __str__(self) -> str:
        return self.name + ("" if self.k is None else f"@{self.k}")

    @property
    def of_lists(self) -> bool:
        """Whether it needs the lists only, not the relevant items."""
        return self.empty == _COUNTS

    @staticmethod
    def of(
        function: Callable[..., Any],
        higher_is_better: bool | None = None,
        per_user: bool = True,
        version: str = "",
    ) -> Metric:
        """Return a function as a metric. It is accepted wherever the name of a metric is.

        The function takes `Rankings`, and the cut k if it has a second parameter; only then it can
        read ``rankings.top``, the best k items. It returns a value per user, NaN if undefined, or
        one number if not ``per_user``. ``higher_is_better`` defaults to the function's attribute of
        that name, else True. Results are cached only with a ``version``; change it whenever the
        function changes.

        >>> def filled(rankings, k):
        ...     return (rankings.top[:, :k] >= 0).mean(axis=1)
        >>> from boolrank.data.rows import Rows
        >>> rankings = Rankings.from_lists([[0, 1], [2, -1]], Rows.of_lists([[1], [0]]))
        >>> measure(rankings, [Metric.of(filled).at(2), "mrr"])
        {'filled@2': array([1. , 0.5]), 'mrr': array([0.5, 0. ])}
        """
        name = getattr(function, "__name__", "")
        if not re.fullmatch(r"\w+", name):
            raise ParameterError(f"{function!r} has no name", hint="define it with def")
        known = METRICS.get(name)
        if known and _place(known.value) != _place(function):
            raise ParameterError(f"there is a metric {name!r} already", hint="rename the function")
        if higher_is_better is None:
            higher_is_better = getattr(function, "higher_is_better", True)
        cut = "needed" if len(signature(function).parameters) > 1 else "none"
        formula = " ".join((function.__doc__ or "").split())
        return Metric(name, formula, cut, function, per_user, "", higher_is_better, version)

    def at(self, k: int | None) -> Metric:
        """Return the metric with a cut, such as ``METRICS["ndcg"].at(10)``."""
        if k is None and self.cut == "needed":
            hint = f"write {self.name}@10"
            raise ParameterError(f"{self.name} needs a cut", hint=hint)
        if k is not None and self.cut == "none":
            raise ParameterError(f"{self.name} has no cut", hint=f"write {self.name} without @{k}")
        return replace(self, k=None if k is None else whole(self.name, "k", k, 1))


AnyMetric = str | Metric | Callable[..., Any]
Metrics = Iterable[AnyMetric] | AnyMetric


def _place(function: Any) -> tuple[str, str]:
    """Return where a function is defined; a module that runs again makes another function."""
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


def parse_metric(metric: AnyMetric) -> Metric:
    """Parse a metric: text such as ``"ndcg@10"``, or a function.

    >>> str(parse_metric("nDCG@10"))
    'ndcg@10'
    >>> parse_metric("ncdg@10")
    Traceback (most recent call last):
    boolrank.errors.ParameterError: there is no metric 'ncdg'; did you mean 'ndcg'?
    """
    if isinstance(metric, Metric):
        return metric.at(metric.k)
    if not isinstance(metric, str):
        if not callable(metric):
            raise ParameterTypeError(f"a metric is a name or a function, not {metric!r}")
        known = METRICS.get(getattr(metric, "__name__", ""))
        return (known if known and known.value is metric else Metric.of(metric)).at(None)
    match = re.fullmatch(r"\s*([^@\s]+?)\s*(?:@\s*([1-9]\d{0,8})\s*)?", metric)
    if match is None:
        raise ParameterError(f"a metric is written as 'auc' or 'ndcg@10', not {metric!r}")
    name = match[1].lower().replace("-", "_")
    if name not in METRICS:
        hint = near_name(name, METRICS, extensible=True)
        raise ParameterError(f"there is no metric {match[1]!r}", hint=hint, parameter="metrics")
    return METRICS[name].at(None if match[2] is None else int(match[2]))


def parse_metrics(metrics: Metrics, of_users: bool = False) -> list[Metric]:
    """Parse metrics, without repetitions; text may separate them by commas.

    With ``of_users``, raise for metrics that have no value per user.
    """
    if isinstance(metrics, str):
        metrics = metrics.split(",")
    elif not isinstance(metrics, Iterable):
        metrics = [metrics]
    parsed = {each: str(each) for each in map(parse_metric, metrics)}
    if not parsed:
        raise ParameterError("there are no metrics", hint="give some, such as ['auc', 'ndcg@10']")
    if len(set(parsed.values())) < len(parsed):
        raise ParameterError("two functions have the same name", hint="rename one of them")
    for each in parsed if of_users else ():
        if not each.per_user:
            wrong = f"models are compared user by user, and {each} is not a metric of users"
            raise ParameterError(wrong, hint="use another metric")
    return list(parsed)


def measure(
    rankings: Rankings, metrics: Metrics, n_threads: int | None = None
) -> dict[str, Floats | float]:
    """Return metrics by name: an array with one value per user, or one number per model.

    >>> from boolrank.data.rows import Rows
    >>> rankings = Rankings.from_lists([[3, 0, 2], [0, 1, 2]], Rows.of_lists([[1, 3], []]))
    >>> measure(rankings, ["precision@2", "mrr", "recall@2"])
    {'precision@2': array([0.5, nan]), 'mrr': array([ 1., nan]), 'recall@2': array([0.5, nan])}
    """
    out: dict[str, Floats | float] = {}
    cuts: dict[int, dict[str, Floats]] = {}
    with threads(n_threads):
        for metric in parse_metrics(metrics):
            k = rankings.depth if metric.k is None else metric.k
            if metric.value is None:
                if k not in cuts:
                    cuts[k] = formulas.cut_metrics(rankings, k)
                out[str(metric)] = cuts[k][metric.name]
                continue
            given = (rankings.cut(None),) if metric.cut == "none" else (rankings.cut(k), k)
            values = np.asarray(metric.value(*given), np.float64)
            expected = (len(rankings),) if metric.per_user else ()
            if values.shape != expected:
                raise InputError(
                    f"{metric.name} returns shape {values.shape} instead of {expected}",
                    hint="return a value per user, or use Metric.of(function, per_user=False)",
                )
            out[str(metric)] = values if metric.per_user else float(values)
    return out


def mean(values: Floats) -> float:
    """Return the mean of the defined values, NaN if there is none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def _of_lists(formula: str, value: Callable[..., Any], **options: Any) -> Metric:
    return Metric(value.__name__, formula, "needed", value, empty=_COUNTS, **options)


_TABLE = (
    Metric(
        "auc",
        "share of pairs (relevant i, other candidate j) with score_i > score_j",
        "none",
        formulas.auc,
    ),
    Metric("auc_ties", "the same, with score_i = score_j counted half", "none", formulas.auc_ties),
    Metric("map", "Σ_{j≤h} (j / r_j) / R", "optional"),
    Metric("capped_map", "Σ_{j≤h} (j / r_j) / min(k, R)", "needed"),
    Metric("ndcg", "Σ_{j≤h} 1/log₂(r_j + 1) / Σ_{j≤min(k,R)} 1/log₂(j + 1)", "optional"),
    Metric("precision", "h / k", "needed"),
    Metric("recall", "h / R", "needed"),
    Metric("capped_recall", "h / min(k, R)", "needed"),
    Metric("hit_rate", "1 if h > 0, else 0", "needed"),
    Metric("mrr", "1 / r_1 if r_1 ≤ k, else 0", "optional"),
    _of_lists(
        "share of items that are among the first k of at least one user",
        formulas.coverage,
        per_user=False,
    ),
    _of_lists(
        "Σ_i (2i − m − 1)·c_i / (m·Σ c_i), c_1 ≤ … ≤ c_m: how often each of m items is among "
        "the first k of a user",
        formulas.gini,
        per_user=False,
        higher_is_better=False,
    ),
    _of_lists(
        "mean over the first k of log₂(training users / training users of the item)",
        formulas.novelty,
    ),
    _of_lists(
        "share of all first k places that have one of the ten items recommended most often",
        formulas.top10_share,
        per_user=False,
        higher_is_better=False,
    ),
    _of_lists(
        "mean over pairs of the first k of 1 − cosine of the training users of both items",
        formulas.diversity,
    ),
)
METRICS = {row.name: row for row in _TABLE}
BUILT_IN = frozenset(METRICS)  # users may add others
