"""Significance: is the difference of two models more than the luck of which users were asked?

All tests are paired: both models ranked for the same users, and it is the users' differences that
are looked at. Where these leave nothing to test, the answers are the limits: no difference at all
has p = 1, a single user proves nothing, p = 1, and one difference for everybody has p = 0 by t.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ParameterError
from ..table import Table
from .metrics import mean
from .result import Evaluation

__all__ = [
    "Comparison",
    "Comparisons",
    "Interval",
    "bootstrap_interval",
    "compare",
    "holm",
    "paired_t",
    "wilcoxon",
]

Floats = NDArray[np.float64]

# Numbers that the bootstrap draws at a time.
_BATCH = 1 << 22


class Interval(NamedTuple):
    """A confidence interval.

    >>> Interval(0.1, 0.3).high
    0.3
    """

    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A model beside another, on the users of both.

    Attributes
    ----------
    model, baseline : their names
    metric : what they are compared by
    users : how many have a value of both
    mean, baseline_mean : over these users
    difference : mean - baseline_mean
    interval : in which the difference lies, by bootstrap
    t_p, wilcoxon_p : chance of so large a difference where there is none, by both tests
    t_holm, wilcoxon_holm : the same, corrected for the number of models that are compared

    Rows of what `compare` gives:

    >>> row = Comparison("a", "b", "auc", 9, 0.7, 0.5, 0.2, Interval(0.1, 0.3), *[0.04] * 4)
    >>> row.interval.low > 0 and row.t_holm < 0.05
    True
    """

    model: str
    baseline: str
    metric: str
    users: int
    mean: float
    baseline_mean: float
    difference: float
    interval: Interval
    t_p: float
    wilcoxon_p: float
    t_holm: float
    wilcoxon_holm: float

    def _repr_html_(self) -> str:
        return Comparisons([self])._repr_html_()


class Comparisons(list[Comparison]):
    """Several models beside the same one: a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return Table.of("no comparisons", [], []).to_html()
        first = self[0]
        heads = ["model", first.metric, "difference", "low", "high", "users"]
        rows = [
            [c.model, c.mean, c.difference, *c.interval, c.users, c.t_holm, c.wilcoxon_holm]
            for c in self
        ]
        caption = f"Beside {first.baseline}, {first.metric} {first.baseline_mean:.4f}"
        note = "low and high: of the difference, by bootstrap; p-values with Holm's correction"
        columns = [*heads, "p by t", "p by Wilcoxon"]
        return Table.of(caption, columns, rows, note=note).to_html()


def bootstrap_interval(
    a: ArrayLike, b: ArrayLike, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Percentile interval of the mean of a - b, over users drawn with replacement.

    >>> bootstrap_interval([0.5, 0.7, 0.9], [0.4, 0.6, 0.8], seed=1)
    Interval(low=0.09999999999999998, high=0.09999999999999998)
    """
    from scipy.stats import bootstrap

    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must be between 0 and 1, not {confidence!r}")
    if resamples < 1:
        raise ParameterError(f"resamples must be 1 or more, not {resamples!r}")
    differences = _differences(a, b)
    if _same(differences):
        return Interval(float(differences[0]), float(differences[0]))
    found = bootstrap(
        (differences,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, _BATCH // len(differences)),
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(float(found.low), float(found.high))


def paired_t(a: ArrayLike, b: ArrayLike) -> float:
    """Chance by Student's t test of paired values, two-sided.

    >>> round(paired_t([3.0, 4.0, 6.0], [1.0, 3.0, 3.0]), 4)
    0.0742
    """
    from scipy.stats import ttest_rel

    differences = _differences(a, b)
    if len(differences) < 2 or _same(differences):
        return _limit(differences)
    return float(ttest_rel(differences, np.zeros(len(differences))).pvalue)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> float:
    """Chance by Wilcoxon's signed-rank test of paired values, two-sided; equal ones are left out.

    >>> wilcoxon([1.0, 2.0, 3.0, 4.5], [0.9, 1.8, 2.7, 4.0])
    0.125
    """
    from scipy.stats import wilcoxon as signed_ranks

    differences = _differences(a, b)
    differences = differences[differences != 0]
    return float(signed_ranks(differences).pvalue) if len(differences) else 1.0


def holm(p_values: Sequence[float]) -> Floats:
    """Holm's correction: p-values as they are if all of them are looked at. NaN stays, uncounted.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, np.float64)
    if (p < 0).any() or (p > 1).any():
        raise ParameterError(f"p-values are from 0 to 1, and these are not: {p.tolist()}")
    out = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    out[order] = np.minimum(steps, 1.0)
    return out


def compare(
    evaluations: Mapping[str, Evaluation] | Sequence[Evaluation],
    metric: str,
    baseline: str | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Each model beside the best one, or beside a baseline, with Holm's correction over all.

    Parameters
    ----------
    evaluations : by name, or in a sequence and named by their models; all on the same split
    metric : a metric that users have values of
    baseline : the name of the one to compare with; the one with the highest mean where not given
    confidence, resamples, seed : of the bootstrap

    >>> from boolrank import KernelRanker, hold_out, synthetic
    >>> from boolrank.evaluation import evaluate
    >>> split = hold_out(synthetic(60, 30, 700))
    >>> found = {k: evaluate(KernelRanker(k), split, "auc") for k in ("linear", "disjunctive(4)")}
    >>> [(row.model, row.baseline, row.users) for row in compare(found, "auc", "linear")]
    [('disjunctive(4)', 'linear', 49)]
    """
    if not isinstance(evaluations, Mapping):
        named = {each.model: each for each in evaluations}
        if len(named) != len(evaluations):
            raise ParameterError("two of the models have the same name; give a dict with names")
    else:
        named = dict(evaluations)
    if len(named) < 2:
        raise ParameterError(f"{len(named)} model has nothing to be compared with; give two")
    _check_same_users(named)
    values = {name: each.per_user(metric) for name, each in named.items()}
    if baseline is None:
        baseline = max(named, key=lambda name: np.nan_to_num(mean(values[name]), nan=-np.inf))
    elif baseline not in named:
        raise ParameterError(f"there is no model {baseline!r}; there are {', '.join(named)}")
    pairs = {}
    for name in named:
        both = ~(np.isnan(values[name]) | np.isnan(values[baseline]))
        if not both.any():
            raise InputError(f"no user has a value of {metric} of both {name} and {baseline}")
        if name != baseline:
            pairs[name] = values[name][both], values[baseline][both]
    by_t, by_ranks = ([test(*pair) for pair in pairs.values()] for test in (paired_t, wilcoxon))
    chances = zip(by_t, by_ranks, holm(by_t).tolist(), holm(by_ranks).tolist(), strict=True)
    return Comparisons(
        Comparison(
            name,
            baseline,
            metric,
            len(a),
            float(a.mean()),
            float(b.mean()),
            float((a - b).mean()),
            bootstrap_interval(a, b, confidence, resamples, seed),
            *found,
        )
        for (name, (a, b)), found in zip(pairs.items(), chances, strict=True)
    )


def _check_same_users(named: Mapping[str, Evaluation]) -> None:
    """Users of several evaluations can be paired if all had the same folds."""
    (first, reference), *others = named.items()
    for name, other in others:
        if (
            other.split_hash != reference.split_hash
            or len(other.folds) != len(reference.folds)
            or any(f.users != g.users for f, g in zip(other.folds, reference.folds, strict=True))
        ):
            raise InputError(
                f"{name} and {first} were measured on different splits, so their users cannot be "
                "paired; evaluate both on the same one"
            )


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise InputError(
            f"paired values are two sequences of the same length, not of shapes {x.shape} and "
            f"{y.shape}"
        )
    differences = x - y
    if not np.isfinite(differences).all():
        raise InputError("paired values must be finite; leave out users without a value first")
    return differences


def _same(differences: Floats) -> bool:
    """Whether all differences are equal, up to the rounding of what they are differences of."""
    spread = float(np.ptp(differences))
    return spread <= 1e-12 * float(np.abs(differences).max()) or spread == 0.0


def _limit(differences: Floats) -> float:
    return 1.0 if len(differences) < 2 or differences[0] == 0 else 0.0
