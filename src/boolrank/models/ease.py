"""EASE and LRec: closed forms of the numbers of users that items share, by one inverse.

With G these numbers and P = (G + reg·I)⁻¹, EASE, the linear item-item autoencoder, has

    B[i, j] = -P[i, j] / P[j, j],   B[j, j] = 0,     score_j = Σ B[i, j] over the items i of a user,

the least-squares prediction of each item from all others. LRec is one regularised linear classifier
per user, on the item vectors of all users. With the squared loss, user u with row y of the
interactions X has argmin_w ‖Xᵀw - y‖² + reg·‖w‖², and the scores Xᵀw are y·B with

    B = G·P = I - reg·P,

so all users together are the same inverse. Unlike EASE, an item contributes to its own score, which
matters for seen items only.

Both can weigh users by activity, G = Xᵀ·diag(activity^-user_exponent)·X, and items by their numbers
of users x:

    score_j = x_j^-output_exponent · Σ x_i^-input_exponent·B[i, j].
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from .gram import Gram
from .inverse import DTYPES, GroupScorer, check_room, count_bytes, invert
from .item_groups import ItemGroups
from .kernel_ranker import MOST_REG
from .parameters import param, recency_param, threads_param, user_exponent_param
from .recommender import Recommender
from .scorer import Floats, Scorer
from .search import Only, Real
from .sparse_inverse import (
    SparseMatrix,
    check_sparse_room,
    density_param,
    is_exact,
    sparse_rows,
    storage_param,
)
from .sparse_scorer import SparseScorer


@dataclass(repr=False, eq=False)
class _CountsInverse(Recommender):
    """A scaled inverse of the matrix of shared users."""

    uses_overlaps: ClassVar[bool] = True
    scorers: ClassVar[tuple[type[Scorer], ...]] = (GroupScorer,)

    reg: float = param(500.0, low=0, high=MOST_REG, search=Real(1.0, 1e6, log=True))
    # Single precision halves the time of a trial; its rounding is noise in a metric.
    dtype: str = param("float64", choices=DTYPES, search=Only("float32"))
    user_exponent: float = user_exponent_param()
    # From KernelEase with the linear kernel, whose weights lack the factor √(x_j/x_i), to EASE.
    input_exponent: float = param(0.0, low=-10, high=10, search=Real(-0.5, 0.0))
    output_exponent: float = param(0.0, low=-10, high=10, search=Real(0.0, 0.5))
    recency: float | str = recency_param()
    n_threads: int | None = threads_param()

    @abstractmethod
    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        """Return the factors of the inverse's columns, and the diagonal of the weights."""

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> Scorer:
        return self._inverse(data, overlaps, ItemGroups.of(data))

    def _inverse(
        self, data: Interactions, overlaps: Overlaps | None, groups: ItemGroups
    ) -> GroupScorer:
        name = type(self).__name__
        each = count_bytes(overlaps, self.user_exponent)
        check_room(name, len(data.items), self.dtype, groups, counts=each)
        counts = Gram.of_groups(data, groups, overlaps, self.user_exponent)
        matrix = counts.triangle(self.dtype)
        del counts  # an inverse needs their room
        diagonal, twins = invert(name, matrix, self.reg, groups)
        columns, own = self._scaling(diagonal)
        sizes = np.maximum(data.popularity()[groups.first], 1.0)
        rows, scored = sizes**-self.input_exponent, sizes**-self.output_exponent
        return GroupScorer.of(matrix, groups, twins, columns * scored, own * rows * scored, rows)


@dataclass(repr=False, eq=False)
class Ease(_CountsInverse):
    """EASE (Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019).

    Parameters
    ----------
    reg : added to the diagonal of the matrix of shared users; above 0 unless items are independent
    dtype : ``"float64"``, or ``"float32"`` for half the memory and time
    user_exponent : users weigh activity^-user_exponent
    input_exponent : above 0, popular items of a profile count less
    output_exponent : above 0, popular items score less
    recency : half-life of the weights of a user's items, in events, or in days as ``"30d"``
    n_threads : threads of compiled loops; BLAS has its own setting
    storage : ``"dense"``, ``"sparse"`` weights, or ``"auto"``: sparse if dense ones do not fit
    density : share of weights that sparse storage keeps

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = Ease(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.333,  0.   , -0.125]])
    """

    scorers: ClassVar[tuple[type[Scorer], ...]] = (GroupScorer, SparseScorer)

    storage: str = storage_param()
    density: float = density_param()

    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        return -1 / diagonal, np.zeros(len(diagonal))

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> Scorer:
        items, groups = len(data.items), ItemGroups.of(data)
        sizes = np.maximum(data.popularity(), 1.0)
        rows, columns = sizes**-self.input_exponent, sizes**-self.output_exponent
        each = count_bytes(overlaps, self.user_exponent)
        length = sparse_rows(self.storage, self.density, items, self.dtype, groups, each)
        if length is None or is_exact(length, items):
            found = self._inverse(data, overlaps, groups)
            return found if length is None else found.sparse(length, 1 / columns)
        counts = overlaps or Overlaps.of(data, self.n_threads, self.user_exponent)
        check_sparse_room("Ease", counts, length)
        matrix = SparseMatrix.of_counts(counts)
        return matrix.weights("Ease", self.reg, length, rows, columns, np.ones(items))


@dataclass(repr=False, eq=False)
class LRec(_CountsInverse):
    """LRec with the squared loss (Sedhain et al., On the effectiveness of linear models for
    one-class collaborative filtering, AAAI 2016).

    Parameters
    ----------
    reg : cost of weights; above 0 unless items are independent
    dtype : ``"float64"``, or ``"float32"`` for half the memory and time
    user_exponent : users weigh activity^-user_exponent
    input_exponent : above 0, popular items of a profile count less
    output_exponent : above 0, popular items score less
    recency : half-life of the weights of a user's items, in events, or in days as ``"30d"``
    n_threads : threads of compiled loops; BLAS has its own setting

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = LRec(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.154,  0.615, -0.077]])
    """

    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        return np.full(len(diagonal), -self.reg), 1 - self.reg * diagonal
