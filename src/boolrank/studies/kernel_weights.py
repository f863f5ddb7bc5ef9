"""Learn the weights of a sum of kernels from data, in place of a sweep over arities.

The scores of a sum are nearly the weighted sum of the scores of its terms, and exactly that if all
items of a profile have equal weights. So each kernel scores the validation users once, on shared
overlaps, and weights are found on these scores without further fits. The sum is then fitted once.
On validation it is never worse than the best of its terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions, check_interactions
from ..data.protocols import usual_order
from ..data.splits import Fold
from ..engines.threads import threads
from ..errors import InputError, ParameterError
from ..evaluation.metrics import AnyMetric, measure, parse_metric
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
# A term that moves scores by less than this share of the largest is left out.
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
    data : a fold, or interactions to take the `validation_fold` of
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
    parsed = list(dict.fromkeys(map(parse_kernel, kernels)))
    if not parsed:
        raise ParameterError("a sum needs kernels", hint="name one at least", parameter="kernels")
    if not isinstance(data, Fold):
        check_interactions(data, "learn_kernel takes")
        data = validation_fold(data, usual_order(data), seed)
    if not len(data.relevant.indices):
        raise InputError("no validation user has held-out items", hint="give another fold")
    users = [*data.users][: max(1, _SCORES // (len(parsed) * max(1, len(data.train.items))))]
    relevant, known = (each.part(0, len(users)) for each in (data.relevant, data.known))

    def scores_of(kernel: Kernel) -> Floats:
        """(u, m) Return the scores of a kernel, with mean 0 for each user."""
        ranker = KernelRanker(kernel, **params).fit(data.train, overlaps)
        scores = np.nan_to_num(ranker.score(users), nan=0.0)  # of users without history
        return np.asarray(scores - scores.mean(axis=1, keepdims=True))

    def gains(scores: Floats) -> Floats:
        """Return the metric of each user that has one, negated if lower is better."""
        ranked = Rankings.from_scores(scores, relevant, known, wanted.k or 0)
        found = np.atleast_1d(measure(replace(ranked, train=data.train), [wanted])[str(wanted)])
        return np.asarray(sign * found[~np.isnan(found)])

    with threads(n_threads):
        overlaps = Overlaps.of(data.train, None, params.get("user_exponent", 0.0))
        scores = np.stack([scores_of(kernel) for kernel in parsed])
        spread = np.maximum(scores.std(axis=(1, 2)), 1e-300)
        scores /= spread[:, None, None]
        if metric == "margin":
            # Weights in proportion to the mean scores of relevant items have the largest mean
            # margin of all of the same length.
            values = scores[:, relevant.numbers, relevant.indices].mean(axis=1)
            weights = np.maximum(values, 0.0) if (values > 0).any() else np.ones(len(parsed))
            kernel, terms = _sum(parsed, weights / weights.sum(), spread)
            name, value = "margin", np.nan
        else:
            wanted = parse_metric(metric)
            name, sign = str(wanted), 1 if wanted.higher_is_better else -1
            singles = [gains(each) for each in scores]
            values = np.array([each.mean() for each in singles])
            kernel, terms = _sum(parsed, _climb(gains, scores, singles), spread)
            value = gains(scores_of(kernel)).mean()
            if value < values.max():  # the scores of the sum are not quite the sum of scores
                kernel, terms = _sum(parsed, np.eye(len(parsed))[np.argmax(values)], spread)
            value, values = sign * max(value, values.max()), sign * values
    texts = [str(kernel) for kernel in parsed]
    shares, alone = (dict(zip(texts, each.tolist(), strict=True)) for each in (terms, values))
    return KernelWeights(kernel, shares, name, alone, float(value))


def _sum(kernels: list[Kernel], weights: Floats, spread: Floats) -> tuple[Kernel, Floats]:
    """Return the sum of normalised kernels whose scores have these weights, and its own."""
    weights = np.where(weights >= _LEAST * weights.max(), weights, 0.0) / spread
    weights = np.array([float(f"{weight:.3g}") for weight in weights / weights.sum()])
    terms = [float(w) * k.normalized() for w, k in zip(weights, kernels, strict=True) if w]
    alone = kernels[int(np.argmax(weights))]
    return reduce(add, terms) if len(terms) > 1 else alone, weights


def _climb(gain: Callable[[Floats], Floats], scores: Floats, singles: list[Floats]) -> Floats:
    """Return weights on the simplex, from the best kernel by steps.

    A step is taken if it gains more than its standard error over users: the best of many sums is
    best by luck.
    """
    at = int(np.argmax([each.mean() for each in singles]))
    weights, mixed, best = np.eye(len(singles))[at], scores[at], singles[at]
    for step in _STEPS:
        moved = True
        while moved:
            moved = False
            for kernel, values in enumerate(scores):
                tried = (1 - step) * mixed + step * values
                more = (found := gain(tried)) - best
                if more.mean() > max(_BETTER, more.std() / np.sqrt(len(more))):
                    mixed, best, moved = tried, found, True
                    weights = (1 - step) * weights
                    weights[kernel] += step
    return np.asarray(weights)
