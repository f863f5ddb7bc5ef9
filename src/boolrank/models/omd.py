"""CF-OMD and ECF-OMD: a mixture of a user's items as far as possible from all others.

With φ the feature space of the kernel, over the simplex on the user's items and the one on the
others,

    minimise ‖Σ α_i·φ(i) - Σ β_j·φ(j)‖² + reg·‖α‖² + negative_reg·‖β‖²,
    score = K·(α - β),

a quadratic program with a weight for every item. Given β, the weights α are a problem as small as
CF-KOMD's; gradient steps find β, for several users in one pass over the matrix. They stop at a
duality gap, whose square root bounds the error of a score.

ECF-OMD takes the mean of all others instead, on the linear kernel. The kernel ranker takes the mean
over all items, which is the same for everybody; with |I| of m items the two differ by a part of
|I|/m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..kernels import Kernel, Linear
from ..matrix import ItemMatrix, kernel_matrix
from ..storage.state import array
from .kernel_ranker import MOST_REG
from .parameters import param, threads_param
from .profiles import Profiles
from .recommender import Recommender
from .scorer import Floats, Scorer
from .search import PLAIN, Real
from .simplex_scorer import OthersScorer, check_profiles, warn_of_gaps

# Duality gap, relative to 1 + reg, at which a user's problem is solved; where the others' weights
# cost much, rounding leaves more of it, relative to that cost.
_GAP, _ROUNDING = 1e-10, 2.0**-44
# A gap this many times as large is worth a warning.
_LOOSE = 100
_MOST_STEPS = 5_000
# Bound of negative_reg: there it is ECF-OMD to six digits, and beyond rounding would show.
_MOST_NEGATIVE = 1e8
# Rounds of the power method that bound the largest eigenvalue; more hardly lower the bound.
_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class MarginScorer(Scorer):
    """The kernel matrix and the costs of both mixtures; for the linear kernel, users' items too."""

    kind: ClassVar[str] = "margin"

    matrix: ItemMatrix
    reg: float
    negative_reg: float
    indptr: NDArray[np.int64] | None = array(
        "int64", "users+1", low=0, divides=("indices",), optional=True
    )
    indices: NDArray[np.int32] | None = array("int32", "*", low=0, high="items", optional=True)

    @property
    def items(self) -> int:
        return len(self.matrix.pull)

    @cached_property
    def _factor(self) -> tuple[NDArray[Any], ...] | None:
        """The linear kernel as a product, for compiled loops."""
        from .._compiled.rows import transposed

        if self.indptr is None or self.indices is None:
            return None
        start, users, _ = transposed(self.indptr, self.indices, self.items)
        sizes = np.diff(start)
        scale = np.where(sizes > 0, 1 / np.sqrt(np.maximum(sizes, 1)), 0.0)
        return self.indptr, self.indices, start, users, scale

    @cached_property
    def largest(self) -> float:
        """An upper bound of the largest eigenvalue of a matrix without negative values.

        max (Kx)_i / x_i is one for each x > 0, and falls as x approaches the eigenvector.
        """
        from .._compiled.scores import fill_scores

        x, product, nothing = np.ones(self.items), np.empty(self.items), np.zeros(self.items)
        every, bound = np.arange(self.items, dtype=np.int32), np.inf
        for _ in range(_ROUNDS):
            fill_scores(product, self.matrix.arrays, nothing, 0.0, every, x)
            bound = min(bound, float((product / x).max()))
            x = np.maximum(product / product.max(), 1e-12)
        return bound

    def scores(self, profiles: Profiles) -> Floats:
        return self._solve(profiles)[0]

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        # The own weights sum to 1, so each carries its share of what the others subtract.
        scores, alpha = self._solve(profile)
        out = list[Floats]()
        for item in items:
            parts: Floats = alpha * self.matrix.row(item)[profile.indices]
            out.append(parts + alpha * (scores[0, item] - parts.sum()))
        return out

    def similar(self, item: int) -> tuple[Floats, Floats]:
        return self.matrix.nearness(item)

    def _solve(self, profiles: Profiles) -> tuple[Floats, Floats]:
        """(u, m) Return the scores of all items, and the weights of the profiles' own."""
        from .._compiled.negatives import margin_scores

        check_profiles(profiles)
        scores, alpha = np.empty((profiles.n_rows, self.items)), np.empty(len(profiles.indices))
        gaps = np.empty(profiles.n_rows)
        others = np.maximum(self.items - profiles.lengths, 1)
        exact = _GAP * (1 + self.reg) + _ROUNDING * self.negative_reg / others
        regs = np.array([self.reg, self.negative_reg])
        problem = regs, exact, self.largest, _MOST_STEPS
        margin_scores(
            (scores, alpha, gaps), self.matrix.arrays, self._factor, *profiles.rows, *problem
        )
        warn_of_gaps(gaps, _LOOSE * exact)
        return scores, alpha


@dataclass(repr=False, eq=False)
class CfOmd(Recommender):
    """CF-OMD (Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback,
    RecSys 2014).

    Parameters
    ----------
    reg : spreads the weight more evenly over a user's items
    negative_reg : the same for all others; large values approach their mean
    kernel : a kernel, or text such as ``"linear"``; its normalised form is used

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
        counts = overlaps or Overlaps.of(data)
        kernel = self.kernel_for(len(data.users))
        matrix = kernel_matrix(kernel, counts, plain=True)
        rows = (data.indptr, data.indices) if kernel == Linear() else ()
        return MarginScorer(matrix, self.reg, self.negative_reg, *rows)


@dataclass(repr=False, eq=False)
class EcfOmd(Recommender):
    """ECF-OMD (Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback,
    RecSys 2014; Polato and Aiolli, Kernel based collaborative filtering for very large scale top-N
    item recommendation, ESANN 2016).

    Parameters
    ----------
    reg : spreads the weight more evenly over a user's items

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = EcfOmd().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[-0.354,  0.75 , -0.854]])
    """

    uses_overlaps: ClassVar[bool] = True
    keeps_overlaps: ClassVar[bool] = True
    scorers: ClassVar = (OthersScorer,)

    reg: float = param(0.1, low=0, high=MOST_REG, search=Real(1e-4, 1e2, log=True))
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> OthersScorer:
        return OthersScorer(kernel_matrix(Linear(), overlaps or Overlaps.of(data)), self.reg)
