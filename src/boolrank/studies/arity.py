"""The arity of a family of kernels without trying all: by validation, or from the spectrum alone.

By validation: arities are doubled until the metric has fallen three times in a row, then the place
between the neighbours of the best is narrowed down by golden sections of the logarithm, until its
ends are near each other: a dozen or so of arities, on overlaps that are counted once. The curve has
one broad peak as a rule. Where it has several, this finds the one beside the best doubling.

From the spectrum: the highest arity at which the spectral ratio is still a share of that of arity
1. Up to there the kernel gives up little of what tells items apart; no model is fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions, check_interactions
from ..data.protocols import paper_protocol
from ..data.splits import Fold
from ..errors import InputError, ParameterError
from ..evaluation.folds import evaluate_fold
from ..evaluation.metrics import Measure, user_metrics
from ..kernels import parse_kernel
from ..kernels.expressiveness import PairSpectrum
from ..models.kernel_ranker import KernelRanker
from ..models.spaces import Arity
from .arities import family as kernels_of
from .tune import Progress

__all__ = ["FOLDS", "ArityChoice", "arity_from_spectrum", "best_arity", "validation_fold"]

# Of so many folds of users the first is for tuning, and the others are left for tests.
FOLDS = 6
_CHOSEN_ON = "parameters are chosen on"
# Who has fewer interactions is in no fold, as in the paper.
_LEAST = 5
# Doublings without a better value after which no higher arity is tried.
_PATIENCE = 3
# Ends of the last section: beyond that, the curve is flat.
_NEAR = 1.15
# The golden section, from the best on.
_SECTION = (3 - 5**0.5) / 2


@dataclass(frozen=True)
class ArityChoice:
    """An arity, and what led to it.

    Attributes
    ----------
    family : of kernels, such as ``"disjunctive"``
    arity : the best
    measure : what was measured, such as ``"auc"``, or ``"spectral ratio"``
    measured : its value at each arity that was tried, in their order

    >>> ArityChoice("disjunctive", 4, "auc", {1: 0.5, 4: 0.75}).kernel
    'disjunctive(4)'
    """

    family: str
    arity: int
    measure: str
    measured: dict[int, float]

    @property
    def kernel(self) -> str:
        """The kernel, as text."""
        return kernels_of(self.family, [self.arity])[0]


def validation_fold(data: Interactions, order: str = "time", seed: int = 0) -> Fold:
    """The fold that parameters are tuned on: the first of six by the paper's protocol.

    The users of the other five are for tests; nobody is in two of them.

    >>> from boolrank import synthetic
    >>> validation_fold(synthetic(60, 30, 700))
    Fold: 66 test interactions of 8 users, 634 for training
    """
    check_interactions(data, _CHOSEN_ON)
    able = int((np.diff(data.indptr) >= _LEAST).sum())
    if able < FOLDS:
        raise InputError(
            f"{able} users have {_LEAST} interactions or more, and of {FOLDS} folds each needs one "
            "of them; give data with more users, or more of each"
        )
    return paper_protocol(data, folds=FOLDS, order=order, seed=seed, least=_LEAST)[0]


def best_arity(
    data: Interactions | Fold,
    family: str = "disjunctive",
    metric: str | Measure = "auc",
    least: int = 1,
    most: int | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    **params: Any,
) -> ArityChoice:
    """The arity at which a `KernelRanker` is best on validation data.

    Parameters
    ----------
    data : a fold, or interactions, of which `validation_fold` is taken
    family : kernels, such as ``"disjunctive"`` or ``"threshold(2, {})"``
    metric : the higher, the better
    least, most : arities; the inverse of the density is the most if not given
    n_threads : all by default; the result does not depend on it
    progress : told how many arities were tried, of about how many, and the last
    params : the ranker's others, such as ``reg``

    >>> from boolrank import synthetic
    >>> found = best_arity(synthetic(120, 60, 1500, 3))
    >>> found.measured[found.arity] == max(found.measured.values())
    True
    """
    fold = data if isinstance(data, Fold) else validation_fold(data)
    (measure,) = user_metrics([metric])
    highest = Arity(least).most(fold.train) if most is None else most
    if not 1 <= least <= highest:
        raise ParameterError(
            f"arities go from 1 to the number of users; there are none from {least} to {highest}"
        )
    overlaps = Overlaps.of(fold.train, n_threads)
    measured: dict[int, float] = {}
    about = round(log2(highest / least)) + 8  # the doublings, and some sections

    def value(arity: int) -> float:
        if arity not in measured:
            kernel = kernels_of(family, [arity])[0]
            model = KernelRanker(kernel, n_threads=n_threads, **params)
            found = evaluate_fold(model, fold, [measure], n_threads, overlaps=overlaps)
            measured[arity] = found.means[str(measure)]
            if progress is not None:
                told = f"{kernel} {measured[arity]:.4f}"
                progress(len(measured), max(len(measured), about), told)
        return measured[arity]

    best = _narrowed(value, _doubled(value, least, highest))
    return ArityChoice(family, best, str(measure), dict(sorted(measured.items())))


def arity_from_spectrum(
    data: Interactions | PairSpectrum, family: str = "disjunctive", share: float = 0.8
) -> ArityChoice:
    """The highest arity whose spectral ratio is still a share of that of arity 1.

    Parameters
    ----------
    data : interactions, or the counts of their pairs of items
    family : kernels whose ratio falls with the arity, as that of the disjunctive ones does
    share : between 0 and 1

    >>> from boolrank import synthetic
    >>> arity_from_spectrum(synthetic(600, 300, 6000)).kernel
    'disjunctive(2)'
    """
    if not 0 < share < 1:
        raise ParameterError(f"share must be between 0 and 1, not {share!r}")
    if not isinstance(data, PairSpectrum):
        check_interactions(data, _CHOSEN_ON)
        data = PairSpectrum.of(data.T.matrix())
    pairs, measured = data, dict[int, float]()

    def ratio(arity: int) -> float:
        if arity not in measured:
            kernel = parse_kernel(kernels_of(family, [arity])[0])
            measured[arity] = pairs.ratio(kernel.normalized())
        return measured[arity]

    low, high = 1, 2
    if high > pairs.n or ratio(high) > ratio(low):
        raise ParameterError(
            f"the spectral ratio of {family} does not fall with the arity on these data; "
            "use best_arity, which measures"
        )
    while high < pairs.n and ratio(high) >= share * ratio(1):
        low, high = high, min(2 * high, pairs.n)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ratio(middle) >= share * ratio(1) else (low, middle)
    found = high if ratio(high) >= share * ratio(1) else low
    return ArityChoice(family, found, "spectral ratio", dict(sorted(measured.items())))


def _doubled(value: Callable[[int], float], least: int, most: int) -> tuple[int, int, int]:
    """The best of the doublings, between its neighbours."""
    tried = [least]
    best = 0
    while tried[-1] < most and len(tried) - 1 - best < _PATIENCE:
        tried.append(min(2 * tried[-1], most))
        if value(tried[-1]) > value(tried[best]):
            best = len(tried) - 1
    value(tried[best])
    return tried[max(best - 1, 0)], tried[best], tried[min(best + 1, len(tried) - 1)]


def _narrowed(value: Callable[[int], float], bracket: tuple[int, int, int]) -> int:
    """The best between the ends: golden sections of the larger side, in the logarithm."""
    low, best, high = bracket
    while high > _NEAR * low and max(best - low, high - best) > 1:
        up = best - low <= 1 or (high - best > 1 and high / best >= best / low)
        new = round(best * ((high if up else low) / best) ** _SECTION)
        new = min(max(new, best + 1), high - 1) if up else max(min(new, best - 1), low + 1)
        if value(new) > value(best):
            low, best, high = (best, new, high) if up else (low, new, best)
        else:
            low, high = (low, new) if up else (new, high)
    return best
