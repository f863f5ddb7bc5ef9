"""Fit a model, rank for the test users in blocks of bounded memory, and measure.

`masks` and `scorer` give scikit-learn's searches the same folds and metrics, without importing it::

    GridSearchCV(KernelRanker(), grid, scoring=scorer("auc"), cv=masks(split)).fit(split.data)
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..data.protocols import published_folds
from ..data.splits import KNOWN, TEST, TRAIN, Fold, Split
from ..errors import InputError, ParameterError, ParameterTypeError
from .metrics import AnyMetric, Metric, Metrics, mean, measure, parse_metric, parse_metrics
from .rankings import Rankings
from .result import Evaluation, FoldResult

# The last three tell if a model ranks well and recommends the same to everybody.
DEFAULT_METRICS = ("auc", "map@10", "ndcg@10", "coverage@10", "novelty@10", "top10_share@10")

# Number of scores in a block of users: 64 MB.
_BLOCK = 1 << 23

Mask = NDArray[np.bool_]


def evaluate(
    model: Any,
    split: Split | Fold,
    metrics: Metrics = DEFAULT_METRICS,
    n_threads: int | None = None,
) -> Evaluation:
    """Fit a model on each fold of a split, and measure how it ranks for the test users.

    Parameters
    ----------
    model : anything with ``fit(interactions)`` and ``score(users)``, and for unseen users
        ``score_profiles(lists)``; a copy is fitted
    metrics : names such as ``"auc"`` or ``"ndcg@10"``, see `METRICS`, or functions, see `Metric.of`
    n_threads : for ranking and measuring; all by default. The model has its own setting

    >>> from boolrank import Interactions, KernelRanker, leave_one_out
    >>> profiles = ["abc", "bca", "cab", "def", "efd", "fde"]
    >>> users = [user for user in range(6) for _ in range(3)]
    >>> data = Interactions.from_pairs(users, list("".join(profiles)), np.arange(18))
    >>> evaluate(KernelRanker("linear"), leave_one_out(data), ["auc", "mrr"]).means
    {'auc': 1.0, 'mrr': 1.0}
    """
    if not isinstance(split, Split | Fold):
        raise ParameterTypeError(
            f"evaluate takes a Split or a Fold, not {type(split).__name__}",
            hint="make one with make_split(interactions)",
        )
    if isinstance(model, type) or not hasattr(model, "fit"):
        given = model.__name__ if isinstance(model, type) else repr(model)
        raise ParameterTypeError(
            f"evaluate takes a model, not {given}",
            hint="make one, such as KernelRanker() or make_model('ease')",
        )
    folds = [split] if isinstance(split, Fold) else split
    parsed = parse_metrics(metrics)
    results = tuple(evaluate_fold(model, fold, parsed, n_threads) for fold in folds)
    text = repr(model)
    if hasattr(model, "get_params"):
        params = {k: v for k, v in model.get_params().items() if k != "n_threads"}
        text = f"{type(model).__name__}({', '.join(f'{k}={v!r}' for k, v in params.items())})"
    return Evaluation(text, repr(split), split.hash if isinstance(split, Split) else "", results)


def evaluate_fold(
    model: Any,
    fold: Fold,
    metrics: Metrics = DEFAULT_METRICS,
    n_threads: int | None = None,
    **fit_options: Any,
) -> FoldResult:
    """Evaluate a model on one fold; further options, such as ``overlaps``, go to its ``fit``.

    >>> from boolrank import KernelRanker, hold_out, synthetic
    >>> list(evaluate_fold(KernelRanker(), hold_out(synthetic(60, 30, 700))[0]).means)
    ['auc', 'map@10', 'ndcg@10', 'coverage@10', 'novelty@10', 'top10_share@10']
    """
    parsed = parse_metrics(metrics)
    n = max(each.k or 0 for each in parsed)
    rankings, costs = fit_and_rank(model, fold, n, n_threads, **fit_options)
    return measure_fold(rankings, costs, fold, parsed, n_threads)


def fit_and_rank(
    model: Any, fold: Fold, n: int, n_threads: int | None = None, **fit_options: Any
) -> tuple[Rankings, dict[str, Any]]:
    """Fit a copy of a model on a fold, and rank the n best items for its test users, with times."""
    start = time.perf_counter()
    plain = not hasattr(model, "get_params")
    fresh = copy.deepcopy(model) if plain else type(model)(**model.get_params())
    fresh.fit(fold.train, **fit_options)
    fitted = time.perf_counter()
    rankings = rank_fold(fresh, fold, n, n_threads)
    ranked = time.perf_counter()
    return rankings, {"fit_seconds": fitted - start, "rank_seconds": ranked - fitted}


def measure_fold(
    rankings: Rankings,
    costs: Mapping[str, Any],
    fold: Fold,
    metrics: Sequence[Metric],
    n_threads: int | None = None,
) -> FoldResult:
    """Return the metrics of rankings of a fold."""
    found = measure(rankings, metrics, n_threads)
    values = {name: np.asarray(each) for name, each in found.items()}
    lower = tuple(str(each) for each in metrics if not each.higher_is_better)
    left_out = {"unseen_items": fold.unseen_items, "cold_users": fold.cold_users}
    return FoldResult(list(fold.users), values, lower=lower, **costs, **left_out)


def rank_fold(model: Any, fold: Fold, n: int = 10, n_threads: int | None = None) -> Rankings:
    """Rank the candidates of each test user by a fitted model, and keep the n best items.

    Users whose scores are all NaN have no history; they get the popular items, as in `recommend`.

    >>> from boolrank import KernelRanker, hold_out, synthetic
    >>> fold = hold_out(synthetic(60, 30, 700))[0]
    >>> rank_fold(KernelRanker().fit(fold.train), fold, n=5).top.shape
    (60, 5)
    """
    popularity = fold.train.popularity()
    n = min(n, len(popularity))
    size = max(1, _BLOCK // len(popularity))
    parts = []
    for start in range(0, max(1, len(fold.users)), size):
        stop = min(start + size, len(fold.users))
        scores = _scores(model, fold, start, stop)
        if scores.shape != (stop - start, len(popularity)):
            raise InputError(
                f"{type(model).__name__} gives scores of shape {scores.shape} for {stop - start} "
                f"users and {len(popularity)} items",
                hint="return a row for each user and a column for each item of the training data",
            )
        empty = np.isnan(scores[:, 0])
        empty[empty] = np.isnan(scores[empty]).all(axis=1)
        if empty.any():
            scores = np.where(empty[:, None], popularity, scores)
        relevant, known = fold.relevant.part(start, stop), fold.known.part(start, stop)
        parts.append(Rankings.from_scores(scores, relevant, known, n, n_threads))
    return replace(Rankings.joined(parts), train=fold.train)


def _scores(model: Any, fold: Fold, start: int, stop: int) -> NDArray[np.float64]:
    if not fold.folded_in:
        return np.asarray(model.score([fold.users[u] for u in range(start, stop)]))
    items = fold.train.items
    lists = [items.names(fold.known.row(u)).tolist() for u in range(start, stop)]
    return np.asarray(model.score_profiles(lists))


def masks(split: Split) -> list[tuple[Mask, Mask]]:
    """Return the training and test masks of each fold, over the interactions of the split's data.

    >>> from boolrank import leave_one_out
    >>> data = Interactions.from_pairs([1, 1, 2, 2], list("abba"), np.arange(4))
    >>> masks(leave_one_out(data))
    [(array([ True, False, False,  True]), array([False,  True,  True, False]))]
    """
    if (split.roles == KNOWN).any():
        raise ParameterError(
            f"the test users of {split.name} are not in training, and scikit-learn has no role for "
            "their known items",
            hint="use evaluate, or a split such as paper_protocol",
        )
    return [(role == TRAIN, role == TEST) for role in split.roles]


def scorer(metric: AnyMetric = "auc") -> Callable[..., float]:
    """Return a metric as ``scoring`` for scikit-learn's searches, which maximise it.

    The model needs ``score``, and ``interactions`` that it was fitted on.

    >>> from boolrank import KernelRanker
    >>> train = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "b", "c", "c"])
    >>> test = Interactions.from_pairs([1, 3], ["c", "b"])
    >>> scorer("auc")(KernelRanker("linear").fit(train), test)
    1.0
    """
    return partial(_mean_gain, parse_metric(metric))


def _mean_gain(metric: Metric, model: Any, test: Interactions, y: None = None) -> float:  # noqa: ARG001
    """Return the mean over users, negated if lower is better; y is what scikit-learn passes."""
    fold = published_folds((model.interactions, test))[0]
    rankings = rank_fold(model, fold, metric.k or 0)
    value = mean(np.asarray(measure(rankings, [metric])[str(metric)]))
    return value if metric.higher_is_better else -value
