"""KernelEase: EASE with a normalised boolean kernel in place of the numbers of shared users.

With K the kernel matrix of items and P = (K + reg·I)⁻¹,

    B[i, j] = -P[i, j] / P[j, j],   B[j, j] = 0,
    score_j = x_j^-output_exponent · Σ x_i^-input_exponent·B[i, j]   over the items i of a user,

where x are the numbers of users of items. Column j of B is the least-squares prediction of item j
from all others in the feature space of the kernel. EASE regularises a popular item less; here all
items have length 1 and are regularised alike. A large reg leaves B = K/reg, item-kNN by the kernel.
With a user exponent, K is the kernel on the masses of users who weigh activity^-user_exponent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..kernels import Kernel, parse_kernel
from ..kernels.counts import Pairs
from ..kernels.values import cosines
from .gram import Gram
from .inverse import DTYPES, GroupScorer, check_room, count_bytes, invert
from .item_groups import ItemGroups
from .kernel_ranker import MOST_REG
from .parameters import (
    activity_cap_param,
    param,
    recency_param,
    threads_param,
    user_exponent_param,
)
from .recommender import Recommender
from .scorer import Scorer
from .search import PLAIN, Only, Real
from .sparse_inverse import (
    SparseMatrix,
    check_sparse_room,
    density_param,
    is_exact,
    sparse_rows,
    storage_param,
    weight_bytes,
)
from .sparse_scorer import SparseScorer


@dataclass(repr=False, eq=False)
class KernelEase(Recommender):
    """EASE (Steck, 2019) on any boolean kernel.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"disjunctive(2)"``; its normalised form is used
    reg : added to the diagonal of the kernel matrix, which is 1
    input_exponent : above 0, popular items of a profile count less
    output_exponent : above 0, popular items score less
    dtype : ``"float64"``, or ``"float32"`` for half the memory and time
    user_exponent : users weigh activity^-user_exponent
    recency : half-life of the weights of a user's items, in events, or in days as ``"30d"``
    storage : ``"dense"``, ``"sparse"`` weights, or ``"auto"``: sparse if dense ones do not fit
    density : share of weights that sparse storage keeps
    activity_cap : users with more items than this are not counted, an approximation that saves
        most steps; they are ranked by all their items
    n_threads : threads of compiled loops; BLAS has its own setting

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = KernelEase("linear", reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.25 ,  0.   , -0.094]])
    """

    uses_overlaps: ClassVar[bool] = True
    scales: ClassVar[bool] = True
    scorers: ClassVar = (GroupScorer, SparseScorer)

    kernel: Kernel | str = param("disjunctive(2)", search=PLAIN)
    reg: float = param(10.0, low=0, high=MOST_REG, search=Real(1.0, 1e3, log=True))
    # From 0 to EASE, whose matrix is the linear kernel times roots of the sizes on both sides.
    input_exponent: float = param(0.0, low=-10, high=10, search=Real(0.0, 0.5))
    output_exponent: float = param(0.0, low=-10, high=10, search=Real(-0.5, 0.0))
    dtype: str = param("float64", choices=DTYPES, search=Only("float32"))
    user_exponent: float = user_exponent_param()
    recency: float | str = recency_param()
    storage: str = storage_param()
    density: float = density_param()
    activity_cap: int | None = activity_cap_param()
    n_threads: int | None = threads_param()

    def memory_beside_pairs(self, users: int, items: int) -> int:  # noqa: ARG002
        """Return the bytes of an inverse, or of sparse weights."""
        length = max(1, round(self.density * items))
        if self.storage != "sparse" or is_exact(length, items):
            return 24 * items * items
        return weight_bytes(items, length)

    def needs_pairs(self) -> str:
        """Return why a fit needs all pairs in memory."""
        return "weights follow from all pairs at once, and storage='sparse' takes least"

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> Scorer:
        items, kernel = len(data.items), parse_kernel(self.kernel)
        if self.user_exponent:
            overlaps = overlaps or Overlaps.of(data, self.n_threads, self.user_exponent)
        groups = _groups(kernel, data, overlaps)
        sizes = np.maximum(data.popularity(), 1.0)
        rows, columns = sizes**-self.input_exponent, sizes**-self.output_exponent
        # Normalised, rare items have the largest weights. They matter as much as those of EASE.
        keys = np.sqrt(sizes)
        each = count_bytes(overlaps, self.user_exponent)
        length = sparse_rows(self.storage, self.density, items, self.dtype, groups, each)
        if length is None or is_exact(length, items):
            found = self._inverse(kernel, data, overlaps, groups)
            return found if length is None else found.sparse(length, keys / columns)
        overlaps = overlaps or Overlaps.of(data, self.n_threads)
        check_sparse_room("KernelEase", overlaps, length)
        matrix = SparseMatrix.of_kernel(kernel, overlaps)
        return matrix.weights("KernelEase", self.reg, length, rows, columns, keys)

    def _inverse(
        self, kernel: Kernel, data: Interactions, overlaps: Overlaps | None, groups: ItemGroups
    ) -> GroupScorer:
        each = count_bytes(overlaps, self.user_exponent)
        check_room("KernelEase", len(data.items), self.dtype, groups, counts=each)
        matrix = Gram.of_groups(data, groups, overlaps).values(kernel, self.dtype)
        diagonal, twins = invert("KernelEase", matrix, self.reg, groups)
        sizes = np.maximum(data.popularity()[groups.first], 1.0)
        columns = -(sizes**-self.output_exponent) / diagonal
        own, rows = np.zeros(len(diagonal)), sizes**-self.input_exponent
        return GroupScorer.of(matrix, groups, twins, columns, own, rows)


def _groups(kernel: Kernel, data: Interactions, overlaps: Overlaps | None) -> ItemGroups:
    """Group items with the same users, except null items: these are 0 to each other."""
    groups = ItemGroups.of(data)
    of_items = data.popularity() if overlaps is None else overlaps.sizes
    own = (np.unique(of_items[groups.first[groups.sizes > 1]]),) * 3
    n, sizes = np.asarray(data.shape[0]), own[0]
    with np.errstate(all="ignore"):
        values = cosines(
            kernel, Pairs(n, *own) if overlaps is None else Pairs.of_items(overlaps, *own)
        )
    null = sizes[values < 0.5]  # it is 1 or 0, up to rounding
    return ItemGroups.of(data, np.isin(of_items, null)) if len(null) else groups
