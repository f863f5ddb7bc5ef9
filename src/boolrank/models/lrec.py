"""LRec: one regularised linear classifier for each user, on the item vectors of all users.

With the squared loss, the classifier of user u with the row y of the interactions X is
argmin_w ‖Xᵀw - y‖² + reg·‖w‖², and its scores Xᵀw are y·B with

    B = XᵀX·(XᵀX + reg·I)⁻¹ = I - reg·(XᵀX + reg·I)⁻¹,

so that all users together are one inverse of the numbers of users that items share, as in EASE.
Unlike there, an item speaks for itself: B has a diagonal, which matters for seen items alone.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from ..interactions import Interactions
from ..overlaps import Overlaps
from ..parameters import checked_overlaps, number
from ..profiles import Profiles
from ..recommender import Floats, Recommender
from .inverse import ItemWeights, check_room, counts_of, invert

__all__ = ["LRec"]


class LRec(Recommender):
    """LRec with the squared loss (Sedhain et al., On the effectiveness of linear models for
    one-class collaborative filtering, AAAI 2016).

    Parameters
    ----------
    reg : how much weights cost; above 0 unless items are independent
    dtype : ``"float64"`` or ``"float32"``, which takes half the memory and time
    n_threads : how many threads compiled loops use; BLAS has a setting of its own

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = LRec(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.154,  0.615, -0.077]])
    """

    def __init__(
        self, reg: float = 500.0, dtype: str = "float64", n_threads: int | None = None
    ) -> None:
        self.reg = reg
        self.dtype = dtype
        self.n_threads = n_threads

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Count the overlaps of items and invert them; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        data, reg = self._given(interactions), number("LRec", "reg", self.reg)
        check_room("LRec", len(data.items), self.dtype)
        counted = checked_overlaps(data, overlaps, self.n_threads)
        matrix = counts_of(counted, self.dtype, self.n_threads)
        del counted
        own = 1 - reg * invert("LRec", matrix, reg)
        columns = np.full(len(own), -reg)
        self._weights = ItemWeights.of(matrix, columns, own, n_threads=self.n_threads)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        return self._weights.scores(profiles, self.n_threads)
