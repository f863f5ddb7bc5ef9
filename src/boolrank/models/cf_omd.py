"""CF-OMD: a mixture of a user's items as far as can be from a mixture of all others.

With φ the feature space of the kernel, over the simplex on the user's items and the one on the
others,

    minimise ‖Σ α_i·φ(i) - Σ β_j·φ(j)‖² + reg·‖α‖² + negative_reg·‖β‖²,
    score = K·(α - β),

which is a quadratic program with a weight for every item. Accelerated gradient steps, started anew
where they turn back, solve it for many users at once: a step is one product of matrices. It stops
at a duality gap, and the square root of that bounds how far off a score is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..engines.threads import threads
from ..errors import ConvergenceWarning
from ..kernels import Kernel
from .gram import Counted, mirror
from .inverse import check_room
from .parameters import Fitted, checked_overlaps, number
from .profiles import Profiles
from .recommender import Floats, Recommender

__all__ = ["CfOmd"]

# Duality gap, relative to 1 + reg, at which a user's problem is solved; where the others' weights
# cost much, rounding leaves more of it, relative to that.
_GAP, _ROUNDING = 1e-10, 2.0**-44
# A gap so many times as large is worth a warning.
_LOOSE = 100
_MOST_STEPS = 5_000
# Of negative_reg: by then it is ECF-OMD to six digits, and with more rounding would show.
_MOST = 1e8
# Weights that are held at a time: 8 MB, four times over.
_BLOCK = 1 << 20
_SMALL = 1 << 16
# Scores are rounded to about 2^-36 of their terms: the products of BLAS differ by less.
_GRID = 2.0**16


@dataclass(repr=False, eq=False)
class CfOmd(Recommender):
    """CF-OMD (Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback,
    RecSys 2014).

    Parameters
    ----------
    reg : how evenly a user's items share the weight; 0 or more
    negative_reg : how evenly all others do; the larger, the nearer to their mean
    kernel : a kernel, or text such as ``"linear"``; it is used in its normalised form
    n_threads : how many threads compiled loops use; BLAS has a setting of its own

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = CfOmd().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    """

    reg: float = 0.1
    negative_reg: float = 1000.0
    kernel: Kernel | str = "linear"
    n_threads: int | None = None

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Compute the kernel matrix of items; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        data = self._given(interactions)
        reg = number("CfOmd", "reg", self.reg)
        regs = reg, number("CfOmd", "negative_reg", self.negative_reg, most=_MOST)
        asked = Fitted.of(self.kernel, reg, 0.0, "dense")
        check_room("CfOmd", len(data.items), "float64")
        counted = Counted.of_all(checked_overlaps(data, overlaps, self.n_threads))
        values = counted.values(asked.kernel, "float64", self.n_threads)
        self._kernel = mirror(values, self.n_threads)
        self._largest, self._regs = _largest_eigenvalue(self._kernel), np.array(regs)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        from .._compiled.weights import settled

        out = np.empty((len(profiles.start) - 1, len(self._kernel)))
        for first, part in profiles.blocks(max(1, _BLOCK // len(self._kernel))):
            signs = np.full((len(part.start) - 1, len(self._kernel)), -1.0)
            signs[np.repeat(np.arange(len(signs)), part.lengths), part.own] = 1.0
            weights, scores = self._solved(signs)
            terms = weights @ self._kernel
            out[first : first + len(signs)] = settled(scores, terms, _GRID)
        return out

    def _solved(self, signs: Floats) -> tuple[Floats, Floats]:
        """(u, m) weights of all items for profiles, whose items have the sign 1, and the scores."""
        from .._compiled.negatives import look, step

        positive = signs > 0
        numbers = positive.sum(axis=1, keepdims=True)
        others = np.maximum(signs.shape[1] - numbers, 1)
        weights = np.where(positive, 1 / numbers, 1 / others)
        scores = (signs * weights) @ self._kernel
        metric = self._metric(positive)
        done_weights, done_scores = np.empty_like(weights), np.empty_like(scores)
        left, gaps, ages = np.arange(len(signs)), np.empty(len(signs)), np.ones(len(signs))
        before, scores_before = weights.copy(), scores.copy()
        exact = _GAP * (1 + self._regs[0]) + _ROUNDING * self._regs[1] / others[:, 0]
        for steps in range(_MOST_STEPS + 1):
            with threads(self._threads(weights)):
                look(gaps, weights, scores, signs, self._regs)
            done = (gaps <= exact[left]) | (steps == _MOST_STEPS)
            if done.any():
                done_weights[left[done]], done_scores[left[done]] = weights[done], scores[done]
                _warn_of_gaps(gaps[done], _LOOSE * exact[left[done]])
                arrays = left, gaps, ages, weights, before, scores, scores_before, signs, metric
                left, gaps, ages, weights, before, scores, scores_before, signs, metric = (
                    each[~done] for each in arrays
                )
            if not len(left):
                break
            with threads(self._threads(weights)):
                step(weights, before, scores, scores_before, signs, self._regs, metric, ages)
            scores = (signs * weights) @ self._kernel
        return done_weights, done_scores

    def _threads(self, weights: Floats) -> int | None:
        """So many threads; one for what takes less than calling others."""
        return 1 if weights.size < _SMALL else self.n_threads

    def _metric(self, positive: NDArray[np.bool_]) -> Floats:
        """(u, 2) bounds of the curvature for a profile's own items, and for the others.

        For any t > 0, K is at most (1 + t)·K_own and (1 + 1/t)·K_others side by side. Few items
        have small eigenvalues, so their steps may be longer; t balances how long both take.
        """
        own, largest = positive.astype(np.float64), np.ones(len(positive))
        for _ in range(3):
            product = own @ self._kernel
            np.multiply(product, positive, out=product)
            largest = np.divide(product, own, where=positive, out=own.copy()).max(axis=1)
            own = product / product.max(axis=1, keepdims=True)
        regs = np.maximum(self._regs, 1e-3)
        t = np.sqrt(self._largest * regs[0] / (largest * regs[1]))
        both = [(1 + t) * largest, (1 + 1 / t) * self._largest]
        return np.asarray(np.column_stack(both) + self._regs)


def _largest_eigenvalue(kernel: Floats) -> float:
    """An upper bound of the largest eigenvalue of a matrix without negative values.

    max (Kx)_i / x_i is one for each x > 0, and comes down as x comes near to the eigenvector.
    """
    x = np.ones(len(kernel))
    bound = np.inf
    for _ in range(20):
        product = kernel @ x
        bound = min(bound, float((product / x).max()))
        x = np.maximum(product / product.max(), 1e-12)
    return bound


def _warn_of_gaps(gaps: Floats, loose: Floats) -> None:
    """Warn of problems that were not solved as exactly as they should be."""
    count = int((gaps > loose).sum())
    if count:
        warnings.warn(
            f"the weights of {count} profiles are right to a duality gap of {gaps.max():.1e} only; "
            "a larger reg makes them well-defined",
            ConvergenceWarning,
            stacklevel=4,
        )
