"""CF-OMD: a mixture of a user's items as far as possible from a mixture of all others.

With φ the feature space of the kernel, over the simplex on the user's items and the one on the
others,

    minimise ‖Σ α_i·φ(i) - Σ β_j·φ(j)‖² + reg·‖α‖² + negative_reg·‖β‖²,
    score = K·(α - β),

a quadratic program with a weight for every item. Accelerated gradient steps, restarted where they
turn back, solve it for many users at once: a step is one matrix product. It stops at a duality gap,
whose square root bounds the error of a score.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.rows import Rows
from ..errors import ConvergenceWarning
from ..kernels import Kernel, parse_kernel
from ..storage.state import array
from ..table import counted
from .gram import Gram, mirror
from .inverse import check_room, count_bytes
from .kernel_ranker import MOST_REG
from .parameters import param, threads_param
from .recommender import Recommender
from .scorer import Floats, Scorer
from .search import PLAIN, Real

# Duality gap, relative to 1 + reg, at which a user's problem is solved; where the others' weights
# cost much, rounding leaves more of it, relative to that cost.
_GAP, _ROUNDING = 1e-10, 2.0**-44
# A gap this many times as large is worth a warning.
_LOOSE = 100
_MOST_STEPS = 5_000
# Bound of negative_reg: there it is ECF-OMD to six digits, and beyond rounding would show.
_MOST_NEGATIVE = 1e8
# Weights held at once: 8 MB, four times over.
_BLOCK = 1 << 20
# Scores are rounded to about 2^-36 of their terms: products of BLAS differ by less.
_GRID = 2.0**16


@dataclass(frozen=True, eq=False)
class MarginScorer(Scorer):
    """The kernel matrix and the costs of both mixtures."""

    kind: ClassVar[str] = "margin"

    kernel: Floats = array("float64", "items", "items", low=-1.5, high=1.5)
    reg: float = 0.0
    negative_reg: float = 0.0

    @property
    def items(self) -> int:
        return len(self.kernel)

    @cached_property
    def largest(self) -> float:
        """An upper bound of the largest eigenvalue of a matrix without negative values.

        max (Kx)_i / x_i is one for each x > 0, and falls as x approaches the eigenvector.
        """
        x = np.ones(len(self.kernel))
        bound = np.inf
        for _ in range(20):
            product = self.kernel @ x
            bound = min(bound, float((product / x).max()))
            x = np.maximum(product / product.max(), 1e-12)
        return bound

    def scores(self, profiles: Rows) -> Floats:
        out = np.empty((profiles.n_rows, self.items))
        size = max(1, _BLOCK // self.items)
        for first in range(0, len(out), size):
            part = profiles.part(first, min(first + size, len(out)))
            weights, scores = self._solve(self._signs(part))
            reach = (weights @ self.kernel) * _GRID
            out[first : first + part.n_rows] = (scores + reach) - reach
        return out

    def parts(self, profile: NDArray[np.int32], item: int) -> Floats:
        return self.parts_each(profile, [item])[0]

    def parts_each(
        self,
        profile: NDArray[np.int32],
        items: Sequence[int],
        weights: Floats | None = None,  # noqa: ARG002 - for other models
    ) -> list[Floats]:
        # The own weights sum to 1, so each carries its share of what the others subtract.
        alone, out = Rows.of_lists([profile]), list[Floats]()
        alpha = self._solve(self._signs(alone))[0][0, profile]
        scores = self.scores(alone)[0]
        for item in items:
            parts: Floats = alpha * self.kernel[profile, item]
            out.append(parts + alpha * (scores[item] - parts.sum()))
        return out

    def similar(self, item: int) -> tuple[Floats, Floats]:
        return self.kernel[item], self.kernel[item]

    def _signs(self, profiles: Rows) -> Floats:
        """(u, m) Return 1 for the items of each profile and -1 for others."""
        signs = np.full((profiles.n_rows, self.items), -1.0)
        signs[profiles.numbers, profiles.indices] = 1.0
        return signs

    def _solve(self, signs: Floats) -> tuple[Floats, Floats]:
        """(u, m) Return weights and scores of all items for profiles."""
        from .._compiled.negatives import look, step

        regs = np.array([self.reg, self.negative_reg])
        positive = signs > 0
        numbers = positive.sum(axis=1, keepdims=True)
        others = np.maximum(signs.shape[1] - numbers, 1)
        weights = np.where(positive, 1 / numbers, 1 / others)
        scores = (signs * weights) @ self.kernel
        metric = self._metric(positive, regs)
        done_weights, done_scores = np.empty_like(weights), np.empty_like(scores)
        left, gaps, ages = np.arange(len(signs)), np.empty(len(signs)), np.ones(len(signs))
        before, scores_before = weights.copy(), scores.copy()
        exact = _GAP * (1 + regs[0]) + _ROUNDING * regs[1] / others[:, 0]
        for steps in range(_MOST_STEPS + 1):
            look(gaps, weights, scores, signs, regs)
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
            step((weights, before, scores_before, ages), scores, signs, regs, metric)
            scores = (signs * weights) @ self.kernel
        return done_weights, done_scores

    def _metric(self, positive: NDArray[np.bool_], regs: Floats) -> Floats:
        """(u, 2) Return bounds of the curvature for a profile's own items and for the others.

        For any t > 0, K is at most (1 + t)·K_own and (1 + 1/t)·K_others side by side. Few items
        have small eigenvalues, so their steps may be longer; t balances both.
        """
        own, largest = positive.astype(np.float64), np.ones(len(positive))
        for _ in range(3):
            product = own @ self.kernel
            np.multiply(product, positive, out=product)
            largest = np.divide(product, own, where=positive, out=own.copy()).max(axis=1)
            own = product / product.max(axis=1, keepdims=True)
        some = np.maximum(regs, 1e-3)
        t = np.sqrt(self.largest * some[0] / (largest * some[1]))
        both = [(1 + t) * largest, (1 + 1 / t) * self.largest]
        return np.asarray(np.column_stack(both) + regs)


@dataclass(repr=False, eq=False)
class CfOmd(Recommender):
    """CF-OMD (Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback,
    RecSys 2014).

    Parameters
    ----------
    reg : spreads the weight more evenly over a user's items
    negative_reg : the same for all others; large values approach their mean
    kernel : a kernel, or text such as ``"linear"``; its normalised form is used
    n_threads : threads of compiled loops; BLAS has its own setting

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = CfOmd().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    """

    uses_overlaps: ClassVar[bool] = True
    scorers: ClassVar = (MarginScorer,)

    reg: float = param(0.1, low=0, high=MOST_REG, search=Real(1e-3, 1e2, log=True))
    negative_reg: float = param(1000.0, low=0, high=_MOST_NEGATIVE, search=Real(1.0, 1e5, log=True))
    kernel: Kernel | str = param("linear", search=PLAIN)
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> MarginScorer:
        check_room("CfOmd", len(data.items), counts=count_bytes(overlaps, 0.0))
        gram = Gram.of_all(overlaps or Overlaps.of(data, self.n_threads))
        kernel = mirror(gram.values(parse_kernel(self.kernel), "float64"))
        return MarginScorer(kernel, self.reg, self.negative_reg)


def _warn_of_gaps(gaps: Floats, loose: Floats) -> None:
    """Warn if problems were solved less accurately than promised."""
    count = int((gaps > loose).sum())
    if count:
        warnings.warn(
            f"the weights of {counted(count, 'profile')} are right to a duality gap of "
            f"{gaps.max():.1e} only; a larger reg makes them well-defined",
            ConvergenceWarning,
            stacklevel=4,
        )
