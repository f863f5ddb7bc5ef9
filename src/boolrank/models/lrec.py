"""LRec: one regularised linear classifier for each user, on the item vectors of all users.

With the squared loss, the classifier of user u with the row y of the interactions X is
argmin_w ‖Xᵀw - y‖² + reg·‖w‖², and its scores Xᵀw are y·B with

    B = XᵀX·(XᵀX + reg·I)⁻¹ = I - reg·(XᵀX + reg·I)⁻¹,

so that all users together are one inverse of the numbers of users that items share, as in EASE.
Unlike there, an item speaks for itself: B has a diagonal, which matters for seen items alone.
"""

from __future__ import annotations

import numpy as np

from ..recommender import Floats
from .inverse import CountsInverse

__all__ = ["LRec"]


class LRec(CountsInverse):
    """LRec with the squared loss (Sedhain et al., On the effectiveness of linear models for
    one-class collaborative filtering, AAAI 2016).

    Parameters
    ----------
    reg : how much weights cost; above 0 unless items are independent
    dtype : ``"float64"`` or ``"float32"``, which takes half the memory and time
    n_threads : how many threads compiled loops use; BLAS has a setting of its own

    >>> from boolrank import Interactions
    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = LRec(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.154,  0.615, -0.077]])
    """

    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        reg = float(self.reg)
        return np.full(len(diagonal), -reg), 1 - reg * diagonal
