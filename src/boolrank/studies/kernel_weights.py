"""Learn the weights of a sum of kernels from data, in place of a sweep over arities.

The scores of a sum are nearly the weighted sum of those of its terms, and they are exactly that
where the items of a profile weigh alike. So each kernel scores the validation users once, on shared
overlaps, and weights are found on these scores without another fit. At a single kernel the scores
are exact: a sum is never worse on validation than the best of its terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.protocols import usual_order
from ..data.rows import Rows
from ..data.splits import Fold
from ..engines.threads import threads
from ..errors import ParameterError
from ..evaluation.metrics import AnyMetric, Metric, measure, parse_metric
from ..evaluation.rankings import Rankings
from ..kernels import Kernel, parse_kernel
from ..models import KernelRanker
from .tune import validation_fold

ARITIES = tuple(f"disjunctive({2**k})" for k in range(7))
# Scores that are kept, of all kernels: 256 MB.
_SCORES = 1 << 25
# Shares that a step moves to one kernel; the last is that of the finest sum.
_STEPS = (0.5, 0.2, 0.1, 0.05)
# A step must gain this much.
_BETTER = 1e-4
# A term that moves scores by less than this share is left out.
_LEAST = 0.01

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KernelWeights:
    """A learned sum of kernels.

    Attributes
    ----------
    kernel : the sum; its terms are normalised, and their weights, to three digits, sum to 1
    terms : weights by kernel, also of kernels that the sum leaves out
    metric : what was maximised, or ``"margin"``
    values : the metric of each kernel alone on validation; margins for ``"margin"``
    value : the metric of the sum on validation; NaN for ``"margin"``
    """

    kernel: Kernel
    terms: dict[str, float]
    metric: str
    values: dict[str, float]
    value: float


def learn_kernel(
    data: Interactions | Fold,
    kernels: Iterable[Kernel | str] = ARITIES,
    metric: AnyMetric = "auc",
    seed: int = 0,
    n_threads: int | None = None,
    **params: Any,
) -> KernelWeights:
    """Return a sum of kernels for `KernelRanker`, with weights learned on validation users.

    Parameters
    ----------
    data : interactions, of which `validation_fold` holds out a part; or a fold
    kernels : over users; by default disjunctions of 1, 2, 4, ... 64 users
    metric : maximised over the simplex of weights by steps towards single kernels; or ``"margin"``
        for weights in proportion to the mean margin, in closed form
    seed : of the validation users
    params : of the ranker, such as ``reg``

    >>> from boolrank import synthetic
    >>> learned = learn_kernel(synthetic(300, 80, 4_000), ["linear", "disjunctive(8)"])
    >>> learned.value >= max(learned.values.values())
    True
    """
    parsed = list(dict.fromkeys(parse_kernel(each) for each in kernels))
    if not parsed:
        raise ParameterError("a sum needs kernels", hint="name one at least", parameter="kernels")
    if isinstance(data, Interactions):
        data = validation_fold(data, usual_order(data), seed)
    with threads(n_threads):
        scores = _Scores.of(parsed, data, params)
        if metric == "margin":
            name, value, (weights, values) = "margin", np.nan, scores.margins()
        else:
            wanted = parse_metric(metric)
            name, sign = str(wanted), 1 if wanted.higher_is_better else -1
            weights, gains, value = _climb(lambda each: sign * scores.users(wanted, each), scores)
            values, value = sign * gains, sign * value
    weights = np.where(weights >= _LEAST, weights, 0.0) / scores.spread
    weights = np.array([float(f"{weight:.3g}") for weight in weights / weights.sum()])
    texts = [str(kernel) for kernel in parsed]
    terms = [float(w) * k.normalized() for w, k in zip(weights, parsed, strict=True) if w]
    return KernelWeights(
        reduce(add, terms) if len(terms) > 1 else parsed[int(np.argmax(weights))],
        dict(zip(texts, weights.tolist(), strict=True)),
        name,
        dict(zip(texts, values.tolist(), strict=True)),
        float(value),
    )


class _Scores(NamedTuple):
    """What each kernel scores for some validation users, with mean 0 per user and spread 1."""

    values: Floats  # (kernels, users, items)
    spread: Floats  # (kernels,) before
    fold: Fold
    known: Rows
    relevant: Rows

    @staticmethod
    def of(kernels: list[Kernel], fold: Fold, params: Mapping[str, Any]) -> _Scores:
        items = len(fold.train.items)
        count = min(len(fold.users), max(1, _SCORES // (len(kernels) * max(1, items))))
        users = [fold.users[u] for u in range(count)]
        overlaps = Overlaps.of(fold.train, user_exponent=params.get("user_exponent", 0.0))
        values = np.empty((len(kernels), count, items))
        for place, kernel in enumerate(kernels):
            scored = KernelRanker(kernel, **params).fit(fold.train, overlaps).score(users)
            scored = np.nan_to_num(scored, nan=0.0)  # of users without history
            values[place] = scored - scored.mean(axis=1, keepdims=True)
        spread = np.maximum(values.std(axis=(1, 2)), 1e-300)
        values /= spread[:, None, None]
        return _Scores(
            values, spread, fold, fold.known.part(0, count), fold.relevant.part(0, count)
        )

    def users(self, metric: Metric, mixed: Floats) -> Floats:
        """(u,) Return the metric of each user that has one, for (users, items) scores."""
        ranked = Rankings.from_scores(mixed, self.relevant, self.known, metric.k or 0)
        found = np.atleast_1d(measure(ranked.trained_on(self.fold.train), [metric])[str(metric)])
        return np.asarray(found[~np.isnan(found)])

    def margins(self) -> tuple[Floats, Floats]:
        """Return weights in proportion to margins, and these: mean scores of relevant items.

        No other weights of the same length have a larger mean margin.
        """
        margins = self.values[:, self.relevant.numbers, self.relevant.indices].mean(axis=1)
        weights = np.maximum(margins, 0.0) if (margins > 0).any() else np.ones(len(margins))
        return weights / weights.sum(), margins


def _climb(gain: Callable[[Floats], Floats], scores: _Scores) -> tuple[Floats, Floats, float]:
    """Return weights on the simplex, the gains of single kernels, and that of the weights.

    From the best kernel, a step is taken if it gains more than its standard error over users: the
    best of many sums is best by luck.
    """
    singles = [gain(values) for values in scores.values]
    gains = np.array([each.mean() for each in singles])
    at = int(np.argmax(gains))
    weights, mixed, best = np.eye(len(gains))[at], scores.values[at], singles[at]
    for step in _STEPS:
        moved = True
        while moved:
            moved = False
            for kernel, values in enumerate(scores.values):
                tried = (1 - step) * mixed + step * values
                more = (found := gain(tried)) - best
                if more.mean() > max(_BETTER, more.std() / np.sqrt(len(more))):
                    mixed, best, moved = tried, found, True
                    weights = (1 - step) * weights
                    weights[kernel] += step
    return weights, gains, float(best.mean())
