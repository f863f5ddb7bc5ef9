"""Metrics as data: one table of names, formulas and conventions; and how they are read from text.

In the formulas a user has R relevant items among the candidates; r_1 < r_2 < … are the places of
these in the user's ranking, from 1 on; h = |{j : r_j ≤ k}| counts the hits in the first k.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.vocabulary import near_name
from ..engines.threads import threads
from ..errors import InputError, ParameterError
from .rankings import Rankings

__all__ = ["METRICS", "Measure", "Metric", "measure", "parse_metric"]

Floats = NDArray[np.float64]
_UNDEFINED = "NaN, and not in the mean"


@dataclass(frozen=True)
class Metric:
    """A row of the table of metrics.

    Attributes
    ----------
    name : as in ``"ndcg@10"``, without the cut
    formula : what it is, as text
    cut : ``"needed"`` (``precision@10``), ``"optional"`` (``mrr``, ``mrr@10``) or ``"none"``
    per_user : whether each user has a value; else the model as a whole has one
    empty : what a user without relevant items gets
    value : the function of rankings and cut that computes it

    >>> METRICS["recall"].formula, METRICS["recall"].cut
    ('h / R', 'needed')
    """

    name: str
    formula: str
    cut: str
    per_user: bool
    empty: str
    value: Callable[[Rankings, int], Any]


@dataclass(frozen=True)
class Measure:
    """A metric with its cut, such as ``ndcg@10``; a cut of None is the whole ranking.

    >>> str(Measure(METRICS["mrr"], None)), str(Measure(METRICS["mrr"], 5))
    ('mrr', 'mrr@5')
    """

    metric: Metric
    k: int | None

    def __str__(self) -> str:
        return self.metric.name + ("" if self.k is None else f"@{self.k}")


def parse_metric(text: str) -> Measure:
    """A metric and its cut from text.

    >>> str(parse_metric("nDCG@10"))
    'ndcg@10'
    >>> parse_metric("ncdg@10")
    Traceback (most recent call last):
    boolrank.errors.ParameterError: there is no metric 'ncdg'; did you mean 'ndcg'?
    """
    match = re.fullmatch(r"\s*([^@\s]+?)\s*(?:@\s*([1-9]\d{0,8})\s*)?", str(text))
    if match is None:
        raise ParameterError(f"a metric is written as 'auc' or 'ndcg@10', not {text!r}")
    name = match[1].lower().replace("-", "_")
    if name not in METRICS:
        raise ParameterError(f"there is no metric {match[1]!r}; {near_name(name, METRICS)}")
    metric, k = METRICS[name], None if match[2] is None else int(match[2])
    if k is None and metric.cut == "needed":
        raise ParameterError(f"{name} needs to know how many items: write {name}@10, for one")
    if k is not None and metric.cut == "none":
        raise ParameterError(f"{name} is of the whole ranking: write {name} without @{k}")
    return Measure(metric, k)


def users_metrics(metrics: Iterable[str | Measure] | str) -> list[Measure]:
    """Metrics that users have values of, by which models can be chosen and compared.

    >>> users_metrics("gini@10")
    Traceback (most recent call last):
    boolrank.errors.ParameterError: models are chosen and compared user by user, and users have no \
gini@10; take another metric
    """
    measures = parse_metrics(metrics)
    for each in measures:
        if not each.metric.per_user:
            raise ParameterError(
                "models are chosen and compared user by user, and users have no "
                f"{each}; take another metric"
            )
    return measures


def parse_metrics(metrics: Iterable[str | Measure] | str) -> list[Measure]:
    """Several of them, each once; text may have them separated by commas."""
    given = metrics.split(",") if isinstance(metrics, str) else metrics
    parsed = [m if isinstance(m, Measure) else parse_metric(m) for m in given]
    if not parsed:
        raise ParameterError("there are no metrics; give some, such as ['auc', 'ndcg@10']")
    return list(dict.fromkeys(parsed))


def measure(
    rankings: Rankings, metrics: Iterable[str | Measure] | str, n_threads: int | None = None
) -> dict[str, Floats | float]:
    """Values of metrics by name: an array with one for each user, or one number of the model.

    >>> from boolrank.data.rows import Rows
    >>> relevant = Rows(np.array([0, 2, 2]), np.array([1, 3], np.int32))
    >>> rankings = Rankings.from_lists([[3, 0, 2], [0, 1, 2]], relevant)
    >>> measure(rankings, ["precision@2", "mrr", "recall@2"])
    {'precision@2': array([0.5, nan]), 'mrr': array([ 1., nan]), 'recall@2': array([0.5, nan])}
    """
    out: dict[str, Floats | float] = {}
    cuts: dict[int, Floats] = {}
    with threads(n_threads):
        for each in parse_metrics(metrics):
            k = rankings.depth if each.k is None else each.k
            if isinstance(each.metric.value, _Column):
                if k not in cuts:
                    cuts[k] = _cut_metrics(rankings, k)
                # A copy: a row of a matrix would keep the whole of it in memory.
                out[str(each)] = cuts[k][each.metric.value.row].copy()
            else:
                out[str(each)] = each.metric.value(rankings, k)
    return out


def mean(values: Floats) -> float:
    """The mean of those that are defined; NaN if none is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


@dataclass(frozen=True)
class _Column:
    """One of the metrics that a single pass over the ranks computes together."""

    row: int

    def __call__(self, rankings: Rankings, k: int) -> Floats:
        return np.asarray(_cut_metrics(rankings, k)[self.row])


def _cut_metrics(rankings: Rankings, k: int) -> Floats:
    from .._compiled.metrics import cut_metrics

    # Places that a relevant item can have at best or at all: k may be anything.
    most = int(np.diff(rankings.indptr).max(initial=rankings.depth))
    discount = 1 / np.log2(np.arange(2, min(k, most) + 2))
    ideal = np.concatenate(([0.0], np.cumsum(discount)))
    return np.asarray(cut_metrics(rankings.indptr, rankings.ranks, k, discount, ideal))


# With names, which lambdas have not: scikit-learn sends metrics to other processes.
def _auc(rankings: Rankings, _: int) -> Floats:
    return _known(rankings.strict, "auc")


def _auc_ties(rankings: Rankings, _: int) -> Floats:
    return _known(rankings.half, "auc_ties")


def _known(values: Floats | None, name: str) -> Floats:
    if values is None:
        raise InputError(
            f"{name} needs all scores, and lists have the best items only; use "
            "Rankings.from_scores, or another metric"
        )
    return values


def _counts(rankings: Rankings, k: int) -> NDArray[np.int64]:
    """How often each item is among the first k of a user."""
    top = _top(rankings, k)
    return np.bincount(top[top >= 0], minlength=len(_popularity(rankings)))


def _coverage(rankings: Rankings, k: int) -> float:
    counts = _counts(rankings, k)
    return float(np.count_nonzero(counts) / len(counts))


def _gini(rankings: Rankings, k: int) -> float:
    counts = np.sort(_counts(rankings, k))
    size, total = len(counts), int(counts.sum())
    if not total:
        return float("nan")
    weights = 2 * np.arange(1, size + 1) - size - 1
    return float(int((weights * counts).sum()) / (size * total))


def _novelty(rankings: Rankings, k: int) -> Floats:
    top = _top(rankings, k)
    popularity = _popularity(rankings)
    # An item of a list that nobody trained on would be infinitely novel; as novel as one user's.
    information = np.log2(rankings.n_users) - np.log2(np.maximum(popularity, 1))
    some = top >= 0
    sums = np.where(some, information[top], 0.0).sum(axis=1)
    counts = some.sum(axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _top(rankings: Rankings, k: int) -> NDArray[np.int32]:
    if rankings.top.shape[1] < min(k, rankings.depth):
        raise InputError(
            f"the rankings have the best {rankings.top.shape[1]} items and {k} are asked for; "
            f"make them with n={k}"
        )
    return rankings.top[:, :k]


def _popularity(rankings: Rankings) -> NDArray[np.int64]:
    if rankings.popularity is None:
        raise InputError(
            "coverage, gini and novelty need the popularity of items in training; give the "
            "rankings popularity and n_users (dataclasses.replace)"
        )
    return rankings.popularity


METRICS = {
    row.name: row
    for row in (
        Metric(
            "auc",
            "share of pairs (relevant i, other candidate j) with score_i > score_j",
            "none",
            True,
            _UNDEFINED,
            _auc,
        ),
        Metric(
            "auc_ties",
            "the same, with score_i = score_j counted half",
            "none",
            True,
            _UNDEFINED,
            _auc_ties,
        ),
        Metric("map", "Σ_{j≤h} (j / r_j) / R", "optional", True, _UNDEFINED, _Column(5)),
        Metric(
            "capped_map", "Σ_{j≤h} (j / r_j) / min(k, R)", "needed", True, _UNDEFINED, _Column(6)
        ),
        Metric(
            "ndcg",
            "Σ_{j≤h} 1/log₂(r_j + 1) / Σ_{j≤min(k,R)} 1/log₂(j + 1)",
            "optional",
            True,
            _UNDEFINED,
            _Column(7),
        ),
        Metric("precision", "h / k", "needed", True, _UNDEFINED, _Column(0)),
        Metric("recall", "h / R", "needed", True, _UNDEFINED, _Column(1)),
        Metric("capped_recall", "h / min(k, R)", "needed", True, _UNDEFINED, _Column(2)),
        Metric("hit_rate", "1 if h > 0, else 0", "needed", True, _UNDEFINED, _Column(3)),
        Metric("mrr", "1 / r_1 if r_1 ≤ k, else 0", "optional", True, _UNDEFINED, _Column(4)),
        Metric(
            "coverage",
            "share of items that are among the first k of at least one user",
            "needed",
            False,
            "counts: needs no relevant items",
            _coverage,
        ),
        Metric(
            "gini",
            "Σ_i (2i − m − 1)·c_i / (m·Σ c_i), c_1 ≤ … ≤ c_m: how often each of m items is among "
            "the first k of a user",
            "needed",
            False,
            "counts: needs no relevant items",
            _gini,
        ),
        Metric(
            "novelty",
            "mean over the first k of log₂(training users / training users of the item)",
            "needed",
            True,
            "counts: needs no relevant items",
            _novelty,
        ),
    )
}
