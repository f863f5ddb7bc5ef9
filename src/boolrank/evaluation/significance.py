"""Paired significance tests: both models ranked for the same users, whose differences are tested.

Degenerate cases have the limits as answers: p = 1 without any difference or with a single user, and
p = 0 by the t test if all users have the same difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    """A model compared with a baseline, on the users with a value for both.

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

    def table(self) -> Table:
        """Return a row per model: mean, difference with its interval, and p-values."""
        heads = ["model", "mean", "difference", "low", "high", "users", "p (t)", "p (Wilcoxon)"]
        rows = [
            [c.model, c.mean, c.difference, *c.interval, c.users, c.t_holm, c.wilcoxon_holm]
            for c in self
        ]
        first = self[0]
        caption = f"Compared with {first.baseline}, {first.metric} {first.baseline_mean:.4f}"
        note = "low and high: interval of the difference; p-values with Holm's correction"
        return Table.of(caption, heads, rows, note=note)

    def to_latex(self) -> str:
        """Return the table in LaTeX."""
        return self.table().to_latex()

    def _repr_html_(self) -> str:
        return self.table().to_html()


def bootstrap_interval(
    differences: Floats, confidence: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile interval of the mean, over users drawn with replacement."""
    from scipy.stats import bootstrap

    if not 0 < real("", "confidence", confidence) < 1:
        raise ParameterError(f"confidence must be between 0 and 1, not {confidence!r}")
    whole("", "resamples", resamples, low=1)
    whole("", "seed", seed, low=0)
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


def paired_t(differences: Floats) -> float:
    """Return the two-sided p-value of Student's paired t test."""
    from scipy.stats import ttest_rel

    if len(differences) < 2:
        return 1.0
    if _all_equal(differences):
        return 1.0 if differences[0] == 0 else 0.0
    return float(ttest_rel(differences, np.zeros(len(differences))).pvalue)


def wilcoxon(differences: Floats) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; equal pairs are left out."""
    from scipy.stats import wilcoxon as signed_ranks

    some = differences[differences != 0]
    return float(signed_ranks(some).pvalue) if len(some) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for their number."""
    p = np.array(p_values)
    order = np.argsort(p, kind="stable")
    p[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return [float(each) for each in np.minimum(p, 1.0)]


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
            raise InputError(
                f"no user has a value of {metric} for both {name} and {baseline}",
                hint="use more data, or another metric",
            )
        pairs[name] = ours[both], theirs[both], ours[both] - theirs[both]
        if not np.isfinite(pairs[name][2]).all():
            raise InputError(f"{metric} must be finite", hint="NaN is for users without a value")
    by_t, by_ranks = ([test(d) for *_, d in pairs.values()] for test in (paired_t, wilcoxon))
    p_values = zip(by_t, by_ranks, holm(by_t), holm(by_ranks), strict=True)
    return Comparisons(
        Comparison(
            name,
            baseline,
            metric,
            len(a),
            float(a.mean()),
            float(b.mean()),
            float(d.mean()),
            bootstrap_interval(d, confidence, resamples, seed),
            *p,
        )
        for (name, (a, b, d)), p in zip(pairs.items(), p_values, strict=True)
    )


def _all_equal(differences: Floats) -> bool:
    """Return True if all differences are equal, up to the rounding of the values."""
    return bool(np.ptp(differences) <= 1e-12 * np.abs(differences).max())
