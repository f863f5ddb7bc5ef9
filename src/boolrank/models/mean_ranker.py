"""MeanRanker: CF-KOMD where an item is the mean of its users, and a user the mean of their items.

On sparse data most items share no user with a profile, and kernels of overlaps cannot tell these
apart. Here a round goes through the users: in the feature space of the kernel, less the mean of all
items, a user is the sum of their items, of length 1; an item becomes the sum of its users, less the
mean of all of these, of length 1. With X the interactions and K the matrix of items, that is
A·K·Aᵀ, where A = Xᵀ·H·N·X, N has the inverse lengths and H subtracts the mean. The result is a
kernel again: two items are similar if people with similar items like them. Active users count no
more than others.

An exponential, exp(sharpness·(K - 1)), lets near items count for more than many far ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..kernels import Kernel
from ..matrix import DenseMatrix
from .gram import Gram, mirror
from .inverse import check_room
from .kernel_ranker import MOST_REG
from .parameters import param, recency_param, threads_param
from .recommender import Recommender
from .scorer import Floats
from .search import PLAIN, Real, Whole
from .simplex_scorer import SimplexScorer

# A squared length below this part of its terms is rounding, not a direction.
_NOTHING = 1e-12


@dataclass(repr=False, eq=False)
class MeanRanker(Recommender):
    """The kernel ranker on items that are means of their users.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"linear"``; its normalised form is used
    rounds : how often items become means of users who are means of items
    sharpness : how much more near items count than far ones; 0 keeps the kernel
    reg : spreads the weight more evenly over a user's items
    negative_weight : how much the mean of all items counts against an item

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3, 4], ["a", "b", "b", "c", "c", "d"])
    >>> model = MeanRanker(negative_weight=0.0).fit(data)
    >>> model.recommend([3], n=3).lists()
    [['b', 'a', 'd']]
    """

    uses_overlaps: ClassVar[bool] = True
    scorers: ClassVar = (SimplexScorer,)

    kernel: Kernel | str = param("linear", search=PLAIN)
    rounds: int = param(1, low=1, high=10, search=Whole(1, 2))
    sharpness: float = param(3.0, low=0, high=100, search=Real(0.0, 10.0))
    reg: float = param(3.0, low=0, high=MOST_REG, search=Real(1e-2, 1e2, log=True))
    negative_weight: float = param(1.0, low=0, high=MOST_REG, search=Real(0.0, 2.0))
    recency: float | str = recency_param()
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SimplexScorer:
        items = len(data.items)
        check_room("MeanRanker", 16 * items**2, items, items)  # a round takes a second matrix
        gram = Gram.of_all(overlaps or Overlaps.of(data))
        kernel = mirror(gram.values(self.kernel_for(len(data.users)), "float64"))
        del gram
        for _ in range(self.rounds):
            kernel = _through_users(kernel, data)
        if self.sharpness:
            kernel -= 1
            kernel *= self.sharpness
            np.exp(kernel, out=kernel)
        matrix = DenseMatrix.with_unit_diagonal(kernel)
        return SimplexScorer(matrix, self.reg, self.negative_weight, data.popularity())


def _through_users(kernel: Floats, data: Interactions) -> Floats:
    """Replace an (m, m) kernel of items by that of items as means of users."""
    from .._compiled.means import carried, squared_lengths
    from .._compiled.rows import transposed

    mean = kernel.mean(axis=0)
    kernel -= mean
    kernel -= mean[:, None]
    kernel += mean.mean()
    item_start, users, _ = transposed(data.indptr, data.indices, len(data.items))
    lengths, half = np.empty(len(data.users)), np.empty_like(kernel)
    squared_lengths(lengths, kernel, data.indptr, data.indices)
    scale = _inverse_roots(lengths, data.indptr)
    rows = data.indptr, data.indices, scale, item_start, users
    carried(half, kernel, *rows)
    carried(kernel, half, *rows)
    root = _inverse_roots(np.diag(kernel), item_start)
    kernel *= root
    kernel *= root[:, None]
    np.fill_diagonal(kernel, root > 0)
    return kernel


def _inverse_roots(squares: Floats, start: NDArray[np.int64]) -> Floats:
    """Return 1 / √ of squared lengths of sums of vectors; 0 for those without a direction."""
    real = squares > _NOTHING * np.diff(start) ** 2
    return np.where(real, 1 / np.sqrt(np.where(real, squares, 1.0)), 0.0)
