"""Families of kernels over the arity: curves, and two ways to choose the arity.

`best_arity` validates: the arity is doubled until the metric has not improved three times in a row,
then the range between the neighbours of the best is narrowed by golden sections of the logarithm.
`arity_from_spectrum` fits no model: it takes the highest arity whose spectral ratio is still a
given share of the ratio of arity 1: up to there, the kernel still distinguishes most items.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import log2
from typing import Any, cast

from ..data.interactions import Interactions
from ..data.splits import Fold
from ..errors import ParameterError
from ..evaluation.metrics import AnyMetric, parse_metrics
from ..evaluation.result import Evaluation
from ..kernels import KERNELS, parse_kernel
from ..kernels.expressiveness import PairSpectrum
from ..models.search import Arity
from ..models.spec import ModelSpec
from .cache import Task
from .executor import Executor
from .tune import Progress

_RANGE = re.compile(r"\s*(\d+)\s*(?::\s*(\d+)\s*(?::\s*(\d+)\s*)?)?")
_MOST = 10**5
# Number of doublings without a better value after which no higher arity is tried.
_PATIENCE = 3
# Ratio of the ends of the last section: the curve is flat within it.
_NEAR = 1.15
_GOLDEN_SECTION = (3 - 5**0.5) / 2


def parse_arities(text: str) -> tuple[int, ...]:
    """Return the arities of ``"1,2,5"``, ``"1:150"`` (both ends) or ``"1:150:10"``, ascending.

    >>> parse_arities("1:4,10:30:10")
    (1, 2, 3, 4, 10, 20, 30)
    """
    found: set[int] = set()
    for part in str(text).split(","):
        match = _RANGE.fullmatch(part)
        first, last, step = match.groups() if match else ("0", "0", "0")
        first, last, step = int(first), int(last or first), int(step or 1)
        if not 1 <= first <= last <= _MOST or step < 1:
            raise ParameterError(
                f"arities are written as '1,2,5', '1:150' or '1:150:10', not {text!r}",
                hint=f"they must ascend, from 1 to at most {_MOST:,}",
                parameter="arities",
            )
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def family(kernel: str, arities: Iterable[int]) -> tuple[str, ...]:
    """Return the kernel of each arity, as text; ``{}`` stands for the arity if it is not alone.

    >>> family("disjunctive", (1, 2)), family("threshold(2, {})", [5])
    (('disjunctive(1)', 'disjunctive(2)'), ('threshold(2, 5)',))
    """
    if "{}" not in kernel:
        first = {k: [f.name for f in fields(cast("Any", v))][:1] for k, v in KERNELS.items()}
        known = [name for name, takes in first.items() if takes in (["arity"], ["degree"])]
        name = kernel.strip()
        if name.endswith(")") or (name in KERNELS and name not in known):
            raise ParameterError(
                f"{name} does not take an arity alone",
                hint=f"use {' or '.join(known)}, or write {{}} in place of the arity, as in "
                "'threshold(2, {})'",
            )
        kernel += "({})"
    return tuple(kernel.replace("{}", str(arity)) for arity in arities)


@dataclass(frozen=True)
class Curve:
    """A family of kernels over the arity.

    Attributes
    ----------
    ratios : normalised spectral ratios; 0 = all items equal, 1 = no two items related
    means, deviations : of AUC over folds; empty if nothing was measured
    """

    family: str
    arities: tuple[int, ...]
    ratios: tuple[float, ...]
    means: tuple[float, ...] = ()
    deviations: tuple[float, ...] = ()


def spectral_curve(
    data: Interactions | PairSpectrum,
    kernels: str,
    arities: Sequence[int],
    evaluations: Mapping[str, Evaluation] | None = None,
) -> Curve:
    """Return how expressive a family is on the items of data, and the AUC of its kernels.

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3, 3], list("abbcca"))
    >>> [round(ratio, 3) for ratio in spectral_curve(data, "disjunctive", [1, 2]).ratios]
    [0.566, 0.0]
    """
    pairs = data if isinstance(data, PairSpectrum) else PairSpectrum.of(data.T.matrix())
    texts = family(kernels, arities)
    ratios = tuple(pairs.ratio(parse_kernel(text).normalized()) for text in texts)
    found = [evaluations[text] for text in texts] if evaluations else []
    means = tuple(each.means["auc"] for each in found)
    deviations = tuple(each.deviations["auc"] for each in found)
    return Curve(kernels, tuple(arities), ratios, means, deviations)


@dataclass(frozen=True)
class ArityChoice:
    """A kernel with the chosen arity, and the values of a measure at all arities tried."""

    kernel: str
    arity: int
    measure: str
    measured: dict[int, float]


def best_arity(
    fold: Fold,
    kernels: str = "disjunctive",
    metric: AnyMetric = "auc",
    least: int = 1,
    most: int | None = None,
    n_threads: int | None = None,
    progress: Progress = lambda _done, _total, _what: None,
    **params: Any,
) -> ArityChoice:
    """Return the arity at which a `KernelRanker` is best on validation data.

    Parameters
    ----------
    kernels : a family, such as ``"disjunctive"`` or ``"threshold(2, {})"``
    metric : a metric of users
    least, most : range of the arity, by default up to the inverse of the density
    params : other parameters of the ranker, such as ``reg``
    """
    (parsed,) = parse_metrics([metric], of_users=True)
    highest = Arity(least).most(fold.train) if most is None else most
    if not 1 <= least <= highest:
        raise ParameterError(
            f"arities go from 1 to the number of users; there are none from {least} to {highest}"
        )
    measured: dict[int, float] = {}
    expected = round(log2(highest / least)) + 8  # the doublings, and some sections
    sign = 1 if parsed.higher_is_better else -1
    with Executor(n_threads=n_threads) as executor:

        def value(arity: int) -> float:
            if arity not in measured:
                (kernel,) = family(kernels, [arity])
                spec = ModelSpec("kernel-ranker", params | {"kernel": kernel})
                measured[arity] = executor.run(Task(fold, spec, (parsed,))).means[str(parsed)]
                done = len(measured)
                progress(done, max(done, expected), f"{kernel} {measured[arity]:.4f}")
            return sign * measured[arity]

        best = _narrow(value, *_double(value, least, highest))
    return _choice(kernels, best, str(parsed), measured)


def arity_from_spectrum(
    data: Interactions, kernels: str = "disjunctive", share: float = 0.8
) -> ArityChoice:
    """Return the highest arity whose spectral ratio is at least a share of that of arity 1.

    The ratio must fall with the arity, as that of the disjunctive kernels does.
    """
    if not 0 < share < 1:
        raise ParameterError(f"share must be between 0 and 1, not {share!r}", parameter="share")
    pairs, measured = PairSpectrum.of(data.T.matrix()), dict[int, float]()

    def ratio(arity: int) -> float:
        if arity not in measured:
            (measured[arity],) = spectral_curve(pairs, kernels, [arity]).ratios
        return measured[arity]

    if pairs.n < 2 or ratio(2) > ratio(1):
        raise ParameterError(
            f"the spectral ratio of {kernels} does not fall with the arity on these data",
            hint="use best_arity, which measures",
        )
    arities = range(1, pairs.n + 1)
    found = bisect_left(arities, True, key=lambda arity: ratio(arity) < share * ratio(1))
    return _choice(kernels, found, "spectral ratio", measured)


def _choice(kernels: str, arity: int, measure: str, measured: dict[int, float]) -> ArityChoice:
    return ArityChoice(family(kernels, [arity])[0], arity, measure, dict(sorted(measured.items())))


def _double(value: Callable[[int], float], least: int, most: int) -> tuple[int, int, int]:
    """Return the best of the doublings, between its neighbours."""
    tried = [least]
    best = 0
    while tried[-1] < most and len(tried) - 1 - best < _PATIENCE:
        tried.append(min(2 * tried[-1], most))
        if value(tried[-1]) > value(tried[best]):
            best = len(tried) - 1
    value(tried[best])
    return tried[max(best - 1, 0)], tried[best], tried[min(best + 1, len(tried) - 1)]


def _narrow(value: Callable[[int], float], low: int, best: int, high: int) -> int:
    """Return the best arity between the ends, by golden sections of the larger side."""
    while high > _NEAR * low and max(best - low, high - best) > 1:
        up = best - low <= 1 or (high - best > 1 and high / best >= best / low)
        new = round(best * ((high if up else low) / best) ** _GOLDEN_SECTION)
        new = min(max(new, best + 1), high - 1) if up else max(min(new, best - 1), low + 1)
        if value(new) > value(best):
            low, best, high = (best, new, high) if up else (low, new, best)
        else:
            low, high = (low, new) if up else (new, high)
    return best
