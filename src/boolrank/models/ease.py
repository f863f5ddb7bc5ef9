"""EASE, KernelEase and LRec: closed forms by one inverse of a matrix of items.

With G the numbers of users that items share, or a normalised kernel of them, and
P = (G + reg·I)⁻¹, EASE, the linear item-item autoencoder, has

    B[i, j] = -P[i, j] / P[j, j],   B[j, j] = 0,     score_j = Σ B[i, j] over the items i of a user,

the least-squares prediction of each item from all others, in the feature space of the kernel. EASE
regularises a popular item less; KernelEase has items of length 1 and regularises them alike. A
large reg leaves B = G/reg, item-kNN by the kernel.

LRec is one regularised linear classifier per user, on the item vectors of all users. With the
squared loss, user u with row y of the interactions X has argmin_w ‖Xᵀw - y‖² + reg·‖w‖², and the
scores Xᵀw are y·B with

    B = G·P = I - reg·P.

Unlike EASE, an item contributes to its own score, which matters for seen items only.

All can weigh users by activity, G = Xᵀ·diag(activity^-user_exponent)·X or the kernel on these
masses, and items by their numbers of users x:

    score_j = x_j^-output_exponent · Σ x_i^-input_exponent·B[i, j].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._memory import free_memory
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..kernels.values import cosines
from ..matrix.item_values import ItemValues
from .block_inverse import inverse_bytes
from .gram import Gram
from .inverse import GroupScorer, ItemGroups, check_room, invert
from .kernel_ranker import MOST_REG
from .parameters import (
    activity_cap_param,
    param,
    recency_param,
    threads_param,
    user_exponent_param,
)
from .recommender import Recommender
from .scorer import Floats, Scorer
from .search import PLAIN, Large, Only, Real
from .sparse_inverse import SparseMatrix, check_sparse_room, weight_bytes
from .sparse_scorer import SparseScorer

_DENSITY = 0.002


def _dtype_param() -> Any:
    # Single precision halves the time of a trial; its rounding is noise in a metric.
    return param("float64", choices=("float64", "float32"), search=Only("float32"))


def _exponent_param(low: float, high: float) -> Any:
    return param(0.0, low=-10, high=10, search=Real(low, high))


def _storage_param() -> Any:
    return param("auto", choices=("auto", "dense", "sparse"), search=Large(Only("sparse"), "auto"))


def _density_param() -> Any:
    return param(_DENSITY, low=0, high=1, search=Large(Real(1e-4, 1e-2, log=True), _DENSITY))


class _Inverse(Recommender):
    """A scaled inverse of a matrix of items, dense or sparse."""

    uses_overlaps: ClassVar[bool] = True
    scorers: ClassVar[tuple[type[Scorer], ...]] = (GroupScorer, SparseScorer)

    kernel: Kernel | str | None = None
    reg: float
    dtype: str
    user_exponent: float
    input_exponent: float
    output_exponent: float
    storage: str = "dense"
    density: float = 1.0

    def _scaling(self, diagonal: Floats, columns: Floats) -> tuple[Floats, Floats]:
        """Return the factors of the inverse's columns, and the diagonal of the weights."""
        return -columns / diagonal, np.zeros(len(diagonal))

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> Scorer:
        name, items = type(self).__name__, len(data.items)
        kernel = None if self.kernel is None else self.kernel_for(len(data.users))
        if self.user_exponent:  # weights depend on all items of a user
            overlaps = overlaps or Overlaps.of(data, user_exponent=self.user_exponent)
        groups = ItemGroups.of(data) if kernel is None else _groups(kernel, data, overlaps)
        users = data.popularity()
        sizes = np.maximum(users, 1.0)
        rows, columns = sizes**-self.input_exponent, sizes**-self.output_exponent
        # Normalised, rare items have the largest weights. They matter as much as those of EASE.
        keys = np.ones(items) if kernel is None else np.sqrt(sizes)
        each, counting = np.dtype(self.dtype).itemsize, 4 if overlaps is None else 0
        distinct = len(groups.sizes)
        needed = max((each + counting) * distinct**2, inverse_bytes(distinct, self.dtype))
        dense = self.storage == "dense" or (self.storage == "auto" and needed <= free_memory())
        length = self._row_length(items)
        if dense or _is_exact(length, items):
            check_room(name, needed, items, distinct, self.dtype)
            if overlaps is None:
                gram = Gram.of_all(Overlaps.of(groups.representatives(data)))
            else:
                gram = Gram(overlaps, groups.first)
            filled = gram.values(kernel, self.dtype) if kernel else gram.triangle(self.dtype)
            del gram  # an inverse needs its room
            diagonal, twins = invert(name, filled, self.reg, groups)
            into, out = rows[groups.first], columns[groups.first]
            scale, own = self._scaling(diagonal, out)
            found = GroupScorer.of(filled, groups, twins, scale, own * into * out, into)
            return found if dense else found.sparse(length, keys / columns, users)
        overlaps = overlaps or Overlaps.of(data)
        check_sparse_room(name, overlaps, length)
        matrix = SparseMatrix.of(kernel, overlaps)
        return matrix.weights(name, self.reg, length, rows, columns, keys, users)

    def _row_length(self, items: int) -> int:
        """Return the most weights of a row in sparse storage."""
        return max(1, round(self.density * items))


@dataclass(repr=False, eq=False)
class Ease(_Inverse):
    """EASE (Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019).

    Parameters
    ----------
    reg : added to the diagonal of the matrix of shared users; above 0 unless items are independent
    dtype : ``"float64"``, or ``"float32"`` for half the memory and time
    storage : ``"dense"``, ``"sparse"`` weights, or ``"auto"``: sparse if dense ones do not fit
    density : share of weights that sparse storage keeps

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = Ease(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.333,  0.   , -0.125]])
    """

    reg: float = param(500.0, low=0, high=MOST_REG, search=Real(1.0, 1e6, log=True))
    dtype: str = _dtype_param()
    user_exponent: float = user_exponent_param()
    # From KernelEase with the linear kernel, whose weights lack the factor √(x_j/x_i), to EASE.
    input_exponent: float = _exponent_param(-0.5, 0.0)
    output_exponent: float = _exponent_param(0.0, 0.5)
    recency: float | str = recency_param()
    n_threads: int | None = threads_param()
    storage: str = _storage_param()
    density: float = _density_param()
    activity_cap: int | None = activity_cap_param()


@dataclass(repr=False, eq=False)
class KernelEase(_Inverse):
    """EASE (Steck, 2019) on any boolean kernel.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"disjunctive(2)"``; its normalised form is used. With one
        user the default is ``"disjunctive(1)"``, with a warning
    reg : added to the diagonal of the kernel matrix, which is 1
    dtype, storage, density : as in `Ease`

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = KernelEase("linear", reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.25 ,  0.   , -0.094]])
    """

    scales: ClassVar[bool] = True

    kernel: Kernel | str = param("disjunctive(2)", search=PLAIN)
    reg: float = param(10.0, low=0, high=MOST_REG, search=Real(1.0, 1e3, log=True))
    # From 0 to EASE, whose matrix is the linear kernel times roots of the sizes on both sides.
    input_exponent: float = _exponent_param(0.0, 0.5)
    output_exponent: float = _exponent_param(-0.5, 0.0)
    dtype: str = _dtype_param()
    user_exponent: float = user_exponent_param()
    recency: float | str = recency_param()
    storage: str = _storage_param()
    density: float = _density_param()
    activity_cap: int | None = activity_cap_param()
    n_threads: int | None = threads_param()

    def memory_beside_pairs(self, users: int, items: int) -> int:  # noqa: ARG002
        """Return the bytes of an inverse, or of sparse weights."""
        length = self._row_length(items)
        if self.storage != "sparse" or _is_exact(length, items):
            return 24 * items * items
        return weight_bytes(items, length)

    def needs_pairs(self) -> str:
        """Return why a fit needs all pairs in memory."""
        return "weights follow from all pairs at once, and storage='sparse' takes least"


@dataclass(repr=False, eq=False)
class LRec(_Inverse):
    """LRec with the squared loss (Sedhain et al., On the effectiveness of linear models for
    one-class collaborative filtering, AAAI 2016).

    Parameters
    ----------
    reg : cost of weights; above 0 unless items are independent
    dtype : as in `Ease`

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = LRec(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.154,  0.615, -0.077]])
    """

    scorers: ClassVar = (GroupScorer,)

    reg: float = param(500.0, low=0, high=MOST_REG, search=Real(1.0, 1e6, log=True))
    dtype: str = _dtype_param()
    user_exponent: float = user_exponent_param()
    input_exponent: float = _exponent_param(-0.5, 0.0)
    output_exponent: float = _exponent_param(0.0, 0.5)
    recency: float | str = recency_param()
    n_threads: int | None = threads_param()

    def _scaling(self, diagonal: Floats, columns: Floats) -> tuple[Floats, Floats]:
        return -self.reg * columns, 1 - self.reg * diagonal


def _is_exact(length: int, items: int) -> bool:
    """Return whether to invert the matrix of all items and keep the largest weights."""
    return length**3 >= items**2


def _groups(kernel: Kernel, data: Interactions, overlaps: Overlaps | None) -> ItemGroups:
    """Group items with the same users, except null items: these are 0 to each other."""
    groups = ItemGroups.of(data)
    of_items = data.popularity() if overlaps is None else overlaps.sizes
    own = (np.unique(of_items[groups.first[groups.sizes > 1]]),) * 3
    pairs = (
        Pairs(np.asarray(data.shape[0]), *own)
        if overlaps is None
        else ItemValues(kernel, overlaps).pairs(*own)
    )
    with np.errstate(all="ignore"):
        values = cosines(kernel, pairs)
    null = own[0][values < 0.5]  # it is 1 or 0, up to rounding
    return ItemGroups.of(data, np.isin(of_items, null)) if len(null) else groups
