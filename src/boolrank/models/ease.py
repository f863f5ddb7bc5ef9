"""EASE: the linear item-item autoencoder with a closed form.

With G the numbers of users that items share, and P = (G + reg·I)⁻¹,

    B[i, j] = -P[i, j] / P[j, j],   B[j, j] = 0,      score_j = Σ B[i, j] over the items i of a user

is the least-squares prediction of each item from all the others.
"""

from __future__ import annotations

import numpy as np

from ..recommender import Floats
from .inverse import CountsInverse

__all__ = ["Ease"]


class Ease(CountsInverse):
    """EASE (Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019).

    Parameters
    ----------
    reg : added to the diagonal of the matrix of shared users; above 0 unless items are independent
    dtype : ``"float64"`` or ``"float32"``, which takes half the memory and time
    n_threads : how many threads compiled loops use; BLAS has a setting of its own

    >>> from boolrank import Interactions
    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = Ease(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.333,  0.   , -0.125]])
    """

    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        return -1 / diagonal, np.zeros(len(diagonal))
