"""Values of metrics as functions of rankings; `metrics` has their formulas.

Named functions, not lambdas: scikit-learn pickles metrics to send them to other processes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from ..errors import InputError
from .rankings import Rankings

Floats = NDArray[np.float64]
_BLOCK = 500  # lists whose diversity is computed at a time
# The metrics of one pass over the ranks, in its order.
_CUT = ("precision", "recall", "capped_recall", "hit_rate", "mrr", "map", "capped_map", "ndcg")


def cut_metrics(rankings: Rankings, k: int) -> dict[str, Floats]:
    """Return all metrics that depend on the ranks up to k alone."""
    from .._compiled.metrics import cut_metrics

    # k may exceed the rank of every relevant item.
    most = int(np.diff(rankings.indptr).max(initial=rankings.depth))
    discount = 1 / np.log2(np.arange(2, min(k, most) + 2))
    ideal = np.concatenate(([0.0], np.cumsum(discount)))
    values = cut_metrics(rankings.indptr, rankings.ranks, k, discount, ideal)
    # Copies: a view would keep the whole matrix in memory.
    return {name: row.copy() for name, row in zip(_CUT, values, strict=True)}


def auc(rankings: Rankings) -> Floats:
    """Return the AUC of each user, ties counted as wrong."""
    return _from_scores(rankings.strict)


def auc_ties(rankings: Rankings) -> Floats:
    """Return the AUC of each user, ties counted half."""
    return _from_scores(rankings.half)


def _from_scores(values: Floats | None) -> Floats:
    if values is None:
        raise InputError(
            "AUC needs all scores, and lists have only the best items",
            hint="use Rankings.from_scores, or another metric",
        )
    return values


def _counts(rankings: Rankings, k: int) -> NDArray[np.int64]:
    """Return how often each item is among the first k of a user."""
    top, train = _top(rankings, k)
    return np.bincount(top[top >= 0], minlength=len(train.items))


def coverage(rankings: Rankings, k: int) -> float:
    """Return the share of items in at least one list."""
    return float(np.mean(_counts(rankings, k) > 0))


def gini(rankings: Rankings, k: int) -> float:
    """Return the Gini coefficient of the exposure of items."""
    counts = np.sort(_counts(rankings, k))
    size, total = len(counts), int(counts.sum())
    weights = 2 * np.arange(1, size + 1) - size - 1
    return int((weights * counts).sum()) / (size * total) if total else float("nan")


def top10_share(rankings: Rankings, k: int) -> float:
    """Return the share of the ten most recommended items."""
    counts = np.sort(_counts(rankings, k))[::-1]
    total = int(counts.sum())
    return int(counts[:10].sum()) / total if total else float("nan")


def novelty(rankings: Rankings, k: int) -> Floats:
    """Return the mean information of the items of each list, in bits."""
    top, train = _top(rankings, k)
    # An item without training users would be infinitely novel; it counts as an item with one.
    information = np.log2(len(train.users)) - np.log2(np.maximum(train.popularity(), 1))
    sums = np.where(top >= 0, information[top], 0.0).sum(axis=1)
    counts = (top >= 0).sum(axis=1)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def diversity(rankings: Rankings, k: int) -> Floats:
    """Return the mean cosine distance between the items of each list."""
    from scipy.sparse import csr_array, diags_array

    top, train = _top(rankings, k)
    popularity = train.popularity()
    listed, counts = top >= 0, (top >= 0).sum(axis=1)
    items = (train.matrix() @ diags_array(np.maximum(popularity, 1) ** -0.5)).T.tocsr()
    # The squared sum of a list's item vectors is the sum of all cosines, including those of items
    # with themselves, which are 1.
    ends = np.concatenate(([0], np.cumsum(counts)))
    lists = csr_array((np.ones(ends[-1]), top[listed], ends), (len(top), len(popularity)))
    same = np.where(listed, popularity[top] > 0, 0).sum(axis=1)
    squares: list[Any] = [
        (lists[start : start + _BLOCK] @ items).power(2).sum(axis=1)
        for start in range(0, len(top), _BLOCK)
    ]
    pairs = counts * (counts - 1)
    cosines = (np.concatenate(squares or [np.empty(0)]) - same) / np.maximum(pairs, 1)
    return np.asarray(np.where(pairs > 0, 1 - cosines, np.nan))


def _top(rankings: Rankings, k: int) -> tuple[NDArray[np.int32], Interactions]:
    """Return the first k items of each user, and the training data."""
    if rankings.top.shape[1] < min(k, rankings.depth):
        raise InputError(
            f"the rankings are made with n={rankings.top.shape[1]}, which is less than {k}",
            hint=f"make them with n={k}",
        )
    if rankings.train is None:
        raise InputError(
            "coverage, diversity, gini, novelty and top10_share need the training data",
            hint="set train of the rankings with dataclasses.replace",
        )
    return rankings.top[:, :k], rankings.train
