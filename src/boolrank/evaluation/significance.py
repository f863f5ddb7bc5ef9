"""Paired significance tests: both models ranked for the same users, whose differences are tested.

Degenerate cases have the limits as answers: p = 1 without any difference or with a single user, and
p = 0 by the t test if all users have the same difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..checks import real, whole
from ..errors import InputError, ParameterError
from ..table import Table
from .metrics import mean
from .result import Evaluation

Floats = NDArray[np.float64]

# Numbers that the bootstrap draws at a time.
_BATCH = 1 << 22


@dataclass(frozen=True)
class Comparison:
    """A model compared with a baseline, on the users that both have a value of.

    Attributes
    ----------
    interval : bootstrap confidence interval of the difference of means
    t_p, wilcoxon_p : two-sided p-values
    t_holm, wilcoxon_holm : the same with Holm's correction for the number of models

    >>> Comparison("a", "b", "auc", 9, 0.7, 0.5, 0.2, (0.1, 0.3), *[0.04] * 4).interval
    (0.1, 0.3)
    """

    model: str
    baseline: str
    metric: str
    users: int
    mean: float
    baseline_mean: float
    difference: float
    interval: tuple[float, float]
    t_p: float
    wilcoxon_p: float
    t_holm: float
    wilcoxon_holm: float


class Comparisons(list[Comparison]):
    """Several models compared with one baseline; notebooks show a table."""

    def _repr_html_(self) -> str:
        heads = ["model", "mean", "difference", "low", "high", "users", "p (t)", "p (Wilcoxon)"]
        rows = [
            [c.model, c.mean, c.difference, *c.interval, c.users, c.t_holm, c.wilcoxon_holm]
            for c in self
        ]
        first = self[0]
        caption = f"Compared with {first.baseline}, {first.metric} {first.baseline_mean:.4f}"
        note = "low and high: interval of the difference; p-values with Holm's correction"
        return Table.of(caption, heads, rows, note=note).to_html()


def bootstrap_interval(
    a: ArrayLike, b: ArrayLike, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of the mean of a - b, over users drawn with replacement."""
    from scipy.stats import bootstrap

    if not 0 < real("", "confidence", confidence) < 1:
        raise ParameterError(f"confidence must be between 0 and 1, not {confidence!r}")
    whole("", "resamples", resamples, low=1)
    differences = _differences(a, b)
    if _all_equal(differences):
        return float(differences[0]), float(differences[0])
    found = bootstrap(
        (differences,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, _BATCH // len(differences)),
        confidence_level=confidence,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)


def paired_t(a: ArrayLike, b: ArrayLike) -> float:
    """Return the two-sided p-value of Student's paired t test."""
    from scipy.stats import ttest_rel

    differences = _differences(a, b)
    if len(differences) < 2:
        return 1.0
    if _all_equal(differences):
        return 1.0 if differences[0] == 0 else 0.0
    return float(ttest_rel(differences, np.zeros(len(differences))).pvalue)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; equal pairs are left out."""
    from scipy.stats import wilcoxon as signed_ranks

    differences = _differences(a, b)
    differences = differences[differences != 0]
    return float(signed_ranks(differences).pvalue) if len(differences) else 1.0


def holm(p_values: Sequence[float]) -> Floats:
    """Return p-values with Holm's correction for their number; NaN stays and is not counted."""
    p = np.asarray(p_values, np.float64)
    if (p < 0).any() or (p > 1).any():
        raise ParameterError(f"p-values must be from 0 to 1, not {p.tolist()}")
    out = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    out[order] = np.minimum(steps, 1.0)
    return out


def compare(
    evaluations: Mapping[str, Evaluation],
    metric: str,
    baseline: str | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparisons:
    """Compare each model with a baseline, by default the best model, with Holm's correction.

    Parameters
    ----------
    evaluations : by name, all on the same split
    metric : a metric of users
    confidence, resamples, seed : of the bootstrap

    >>> from boolrank import KernelRanker, evaluate, hold_out, synthetic
    >>> split = hold_out(synthetic(60, 30, 700))
    >>> found = {k: evaluate(KernelRanker(k), split, "auc") for k in ("linear", "disjunctive(4)")}
    >>> [(row.model, row.baseline, row.users) for row in compare(found, "auc", "linear")]
    [('disjunctive(4)', 'linear', 49)]
    """
    if len(evaluations) < 2:
        raise ParameterError("one model cannot be compared", hint="give two or more")
    (first, reference), *others = evaluations.items()
    for name, other in others:
        users, expected = ([fold.users for fold in each.folds] for each in (other, reference))
        if other.split_hash != reference.split_hash or users != expected:
            raise InputError(
                f"{name} and {first} were evaluated on different splits",
                hint="evaluate both on the same one",
            )
    values = {name: each.per_user(metric) for name, each in evaluations.items()}
    if baseline is None:
        gains = {name: reference.gain(metric, mean(own)) for name, own in values.items()}
        baseline = max(gains, key=lambda name: gains[name])
    elif baseline not in values:
        raise ParameterError(
            f"there is no model {baseline!r}", hint=f"there are {', '.join(values)}"
        )
    theirs = values.pop(baseline)
    pairs = {}
    for name, ours in values.items():
        both = ~(np.isnan(ours) | np.isnan(theirs))
        if not both.any():
            raise InputError(f"no user has a value of {metric} for both {name} and {baseline}")
        pairs[name] = ours[both], theirs[both]
    by_t, by_ranks = ([test(*pair) for pair in pairs.values()] for test in (paired_t, wilcoxon))
    p_values = zip(by_t, by_ranks, holm(by_t).tolist(), holm(by_ranks).tolist(), strict=True)
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
            *p,
        )
        for (name, (a, b)), p in zip(pairs.items(), p_values, strict=True)
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
        raise InputError("paired values must be finite", hint="leave out users without a value")
    return differences


def _all_equal(differences: Floats) -> bool:
    """Return True if all differences are equal, up to the rounding of the values."""
    return bool(np.ptp(differences) <= 1e-12 * np.abs(differences).max())
