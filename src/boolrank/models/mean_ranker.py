"""MeanRanker: CF-KOMD where an item is the mean of its users, and a user the mean of their items.

On sparse data most items share no user with a profile, and any kernel of overlaps has the same to
say of all of them. Here a round goes through the users: in the feature space of the kernel, less
the mean of all items, a user is the sum of their items, of length 1; an item becomes the sum of its
users, less the mean of all of these, of length 1. With X the interactions and K the matrix of
items, that is A·K·Aᵀ, where A = Xᵀ·H·N·X, N has the lengths' inverses and H takes off the mean; it
is a kernel again, by which items are alike that are liked by people with alike items. Users that
have touched much count no more than others.

An exponential, exp(sharpness·(K - 1)), makes near items count for more than many far ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..engines.threads import threads
from ..errors import ParameterError
from ..kernels import Kernel
from ..matrix import DenseMatrix, compiled_arrays
from ..matrix.scale import Scale
from .gram import Counted, mirror
from .inverse import check_room
from .parameters import Fitted, checked_overlaps, number
from .profiles import Profiles, scores_of
from .recommender import Floats, Recommender

__all__ = ["MeanRanker"]

_MOST_ROUNDS = 10
# With more, a user's nearest item is all that counts.
_MOST_SHARPNESS = 100.0
# A squared length that is less than this part of its terms is rounding, and no direction.
_NOTHING = 1e-12


@dataclass(repr=False, eq=False)
class MeanRanker(Recommender):
    """The kernel ranker on items that are means of their users.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"linear"``; it is used in its normalised form
    rounds : how often items become means of users who are means of items; 1 to 10
    sharpness : how much more near items count than far ones; 0: as they are
    reg : how evenly a user's items share the weight; 0 or more
    negative_weight : how much the mean of all items counts against an item
    n_threads : how many threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3, 4], ["a", "b", "b", "c", "c", "d"])
    >>> model = MeanRanker(negative_weight=0.0).fit(data)
    >>> model.recommend([3], n=3).lists()
    [['b', 'a', 'd']]
    """

    kernel: Kernel | str = "linear"
    rounds: int = 1
    sharpness: float = 3.0
    reg: float = 3.0
    negative_weight: float = 1.0
    n_threads: int | None = None

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Compute the kernel matrix of items, and of their means; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        data = self._given(interactions)
        reg, against = (
            number("MeanRanker", name, getattr(self, name)) for name in ("reg", "negative_weight")
        )
        if type(self.rounds) is bool or self.rounds not in range(1, _MOST_ROUNDS + 1):
            raise ParameterError(
                f"rounds of MeanRanker must be a whole number from 1 to {_MOST_ROUNDS}, not "
                f"{self.rounds!r}"
            )
        sharpness = number("MeanRanker", "sharpness", self.sharpness, most=_MOST_SHARPNESS)
        asked = Fitted.of(self.kernel, reg, against, "dense")
        check_room("MeanRanker", len(data.items), "float64")
        counted = Counted.of_all(checked_overlaps(data, overlaps, self.n_threads))
        kernel = mirror(counted.values(asked.kernel, "float64", self.n_threads), self.n_threads)
        del counted  # a round has a second matrix, and there is room for two
        for _ in range(int(self.rounds)):
            kernel = _through_users(kernel, data, self.n_threads)
        matrix = _held(kernel, sharpness)
        self._arrays, self._fitted, self._interactions = compiled_arrays(matrix), asked, data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        return scores_of(self._arrays, self._fitted, profiles, self.n_threads)


def _through_users(kernel: Floats, data: Interactions, n_threads: int | None) -> Floats:
    """The (m, m) kernel of items as means of users, in the place of that of items."""
    from .._compiled.means import carried, squared_lengths
    from .._compiled.rows import transposed

    mean = kernel.mean(axis=0)
    kernel -= mean
    kernel -= mean[:, None]
    kernel += mean.mean()
    item_start, users, _ = transposed(data.indptr, data.indices, len(data.items))
    lengths, half = np.empty(len(data.users)), np.empty_like(kernel)
    with threads(n_threads):
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
    """1 / √ of squared lengths of sums of so many vectors; 0 for those of no direction."""
    real = squares > _NOTHING * np.diff(start) ** 2
    return np.where(real, 1 / np.sqrt(np.where(real, squares, 1.0)), 0.0)


def _held(kernel: Floats, sharpness: float) -> DenseMatrix:
    if sharpness:
        kernel -= 1
        kernel *= sharpness
        np.exp(kernel, out=kernel)
    np.fill_diagonal(kernel, 0.0)
    pull = kernel.sum(axis=0) / len(kernel)
    np.fill_diagonal(kernel, 1.0)
    return DenseMatrix(kernel, pull, np.empty(0), Scale())
