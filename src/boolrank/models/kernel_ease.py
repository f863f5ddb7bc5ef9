"""KernelEase: EASE with a normalised boolean kernel in the place of the numbers of shared users.

With K the kernel matrix of items and P = (K + reg·I)⁻¹,

    B[i, j] = -P[i, j] / P[j, j],   B[j, j] = 0,
    score_j = x_j^-output_exponent · Σ x_i^-input_exponent·B[i, j]   over the items i of a user,

where x are the numbers of users of items. In the feature space of the kernel, column j of B is the
least-squares prediction of item j from all the others. EASE regularises a popular item less, for
its size; here all items have length 1, and each is regularised alike. A large reg leaves B = K/reg:
then it is item-kNN by the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..kernels import Kernel
from ..kernels.counts import Pairs
from .gram import Counted
from .inverse import ItemWeights, check_room, invert
from .item_groups import Alike
from .parameters import Fitted, number, variables_are_users
from .profiles import Profiles
from .recommender import Floats, Recommender

__all__ = ["KernelEase"]

# With more, one item's weight is all, or nothing.
_MOST_EXPONENT = 10.0


@dataclass(repr=False, eq=False)
class KernelEase(Recommender):
    """EASE (Steck, 2019) on any boolean kernel.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"disjunctive(2)"``; it is used in its normalised form
    reg : added to the diagonal of the kernel matrix, which is 1; 0 or more
    input_exponent : above 0, popular items of a profile say less; 0: all the same
    output_exponent : above 0, popular items score less; 0: as they are
    dtype : ``"float64"`` or ``"float32"``, which halves the model and the time of the inverse
    n_threads : how many threads compiled loops use; BLAS has a setting of its own

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = KernelEase("linear", reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.25 ,  0.   , -0.094]])
    """

    kernel: Kernel | str = "disjunctive(2)"
    reg: float = 10.0
    input_exponent: float = 0.0
    output_exponent: float = 0.0
    dtype: str = "float64"
    n_threads: int | None = None

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Compute the kernel matrix of items and invert it; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        data, reg = self._given(interactions), number("KernelEase", "reg", self.reg)
        popularity, exponents = data.popularity(), ("input_exponent", "output_exponent")
        damped = [self._damping(name, popularity) for name in exponents]
        kernel = Fitted.of(self.kernel, reg, 0.0, "dense").kernel
        alike = _groups(kernel, data, popularity)
        check_room("KernelEase", len(data.items), self.dtype, alike)
        counted = Counted.of_groups(data, alike, overlaps, self.n_threads)
        matrix = counted.values(kernel, self.dtype, self.n_threads)
        del counted
        diagonal, twins = invert("KernelEase", matrix, reg, alike)
        into, out = (each[alike.first] for each in damped)
        scaling = -out / diagonal, np.zeros(len(diagonal)), into
        self._weights = ItemWeights.of(matrix, alike, twins, *scaling, self.n_threads)
        self._interactions = data
        return self

    def _damping(self, name: str, popularity: NDArray[np.int64]) -> Floats:
        exponent = number("KernelEase", name, getattr(self, name), -_MOST_EXPONENT, _MOST_EXPONENT)
        return np.maximum(popularity, 1.0) ** -exponent

    def _scored(self, profiles: Profiles) -> Floats:
        return self._weights.scores(profiles, self.n_threads)


def _groups(kernel: Kernel, data: Interactions, popularity: NDArray[np.int64]) -> Alike:
    """Items of the same users, but for those of no feature: they have 0 with any other item."""
    alike = Alike.of(data)
    sizes = np.unique(popularity[alike.first[alike.sizes > 1]])
    with variables_are_users(kernel), np.errstate(all="ignore"):
        values = kernel.cosines_of(Pairs(np.asarray(data.shape[0]), sizes, sizes, sizes))
    null = sizes[values < 0.5]  # it is 1 or 0, but for rounding
    return Alike.of(data, np.isin(popularity, null)) if len(null) else alike
