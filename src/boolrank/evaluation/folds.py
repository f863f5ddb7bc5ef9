"""Fit a model, rank for the test users, and measure: in blocks, so that memory stays bounded."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..data.splits import Fold, Split
from ..errors import InputError, ParameterTypeError
from .metrics import Measure, measure, parse_metrics
from .rankings import Rankings
from .result import Evaluation, FoldResult

__all__ = ["DEFAULT_METRICS", "Model", "evaluate", "evaluate_fold", "rank_fold"]

DEFAULT_METRICS = ("auc", "map@10", "ndcg@10")

# Scores of a block of users at a time: 64 MB of them.
_BLOCK = 1 << 23


class Model(Protocol):
    """What is asked of a model; with ``score_profiles(lists)`` too, unseen users can be tested."""

    def fit(self, interactions: Interactions) -> Any: ...

    def score(self, users: Any = None) -> NDArray[np.float64]: ...


def evaluate(
    model: Model,
    split: Split | Fold,
    metrics: Iterable[str | Measure] | str = DEFAULT_METRICS,
    n_threads: int | None = None,
) -> Evaluation:
    """Fit a model on each fold of a split, and measure how it ranks for the test users.

    Parameters
    ----------
    model : anything with ``fit`` and ``score``; it is copied, and stays as it is
    split : all folds of a `Split`, or a single `Fold`
    metrics : names such as ``"auc"`` or ``"ndcg@10"``, see `METRICS`
    n_threads : how many threads ranking and measuring use; all by default. A model has its own

    >>> from boolrank.data.protocols import leave_one_out
    >>> from boolrank.models.kernel_ranker import KernelRanker
    >>> touched = ["abc", "bca", "cab", "def", "efd", "fde"]  # two tastes
    >>> users = [user for user in range(6) for _ in range(3)]
    >>> data = Interactions.from_pairs(users, list("".join(touched)), np.arange(18))
    >>> found = evaluate(KernelRanker("linear"), leave_one_out(data), ["auc", "mrr"])
    >>> found.means
    {'auc': 1.0, 'mrr': 1.0}
    """
    measures = parse_metrics(metrics)
    if not isinstance(split, Split | Fold):
        raise ParameterTypeError(
            f"evaluate takes a Split or a Fold, not {type(split).__name__}; make one with "
            "make_split(interactions)"
        )
    folds = [split] if isinstance(split, Fold) else split
    results = tuple(evaluate_fold(model, fold, measures, n_threads) for fold in folds)
    digest = split.hash if isinstance(split, Split) else ""
    return Evaluation(model_text(model), repr(split), digest, results)


def evaluate_fold(
    model: Model,
    fold: Fold,
    metrics: Iterable[str | Measure] | str = DEFAULT_METRICS,
    n_threads: int | None = None,
    **fit_options: Any,
) -> FoldResult:
    """The same on one fold; further options go to the model's ``fit``.

    So models can share what is costly and the same for all of them, for one fold.

    >>> from boolrank import KernelRanker, Overlaps, hold_out, synthetic
    >>> fold = hold_out(synthetic(60, 30, 700))[0]
    >>> found = evaluate_fold(KernelRanker("linear"), fold, overlaps=Overlaps.of(fold.train))
    >>> list(found.means), len(found.users)
    (['auc', 'map@10', 'ndcg@10'], 60)
    """
    measures = parse_metrics(metrics)
    start = time.perf_counter()
    fitted = _fresh(model)
    fitted.fit(fold.train, **fit_options)
    between = time.perf_counter()
    n = max((each.k or 0 for each in measures), default=0)
    rankings = rank_fold(fitted, fold, n, n_threads)
    end = time.perf_counter()
    values = {
        name: np.atleast_1d(found) for name, found in measure(rankings, measures, n_threads).items()
    }
    return FoldResult(
        list(fold.users),
        values,
        between - start,
        end - between,
        fold.unseen_items,
        fold.cold_users,
    )


def rank_fold(model: Model, fold: Fold, n: int = 10, n_threads: int | None = None) -> Rankings:
    """How a fitted model ranks the candidates of each test user, with the n best items of each.

    Users whom a model gives NaN for every item, for want of a history, get the popular items, as
    they do when it recommends.

    >>> from boolrank import KernelRanker, hold_out, synthetic
    >>> fold = hold_out(synthetic(60, 30, 700))[0]
    >>> rank_fold(KernelRanker("linear").fit(fold.train), fold, n=5).top.shape
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
                f"users and {len(popularity)} items; a row for each user and a column for each "
                "item of its training data are needed"
            )
        empty = np.isnan(scores[:, 0])
        empty[empty] = np.isnan(scores[empty]).all(axis=1)
        if empty.any():
            scores = np.where(empty[:, None], popularity, scores)
        relevant, known = fold.relevant.part(start, stop), fold.known.part(start, stop)
        parts.append(Rankings.from_scores(scores, relevant, known, n, n_threads))
    return replace(Rankings.joined(parts), popularity=popularity, n_users=len(fold.train.users))


def model_text(model: Any) -> str:
    """A model and its parameters as text, without what it has learned or how many threads it has.

    >>> from boolrank.models.kernel_ranker import KernelRanker
    >>> model_text(KernelRanker("linear", n_threads=2))
    "KernelRanker(kernel='linear', reg=0.1, negative_weight=1.0, storage='auto')"
    """
    if not hasattr(model, "get_params"):
        return repr(model)
    given = {name: value for name, value in model.get_params().items() if name != "n_threads"}
    return f"{type(model).__name__}({', '.join(f'{k}={v!r}' for k, v in given.items())})"


def _fresh(model: Any) -> Any:
    """An equal model that has seen no data."""
    if hasattr(model, "get_params"):
        return type(model)(**model.get_params())
    return copy.deepcopy(model)


def _scores(model: Any, fold: Fold, start: int, stop: int) -> NDArray[np.float64]:
    if not fold.folded_in:
        return np.asarray(model.score([fold.users[u] for u in range(start, stop)]))
    if not hasattr(model, "score_profiles"):
        raise ParameterTypeError(
            f"{type(model).__name__} has no score_profiles(lists), so it cannot be asked about "
            "users who were not in training; choose a split whose test users are"
        )
    items = fold.train.items
    lists = [items.names(fold.known.row(u)).tolist() for u in range(start, stop)]
    return np.asarray(model.score_profiles(lists))
