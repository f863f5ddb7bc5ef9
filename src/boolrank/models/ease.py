"""EASE: the linear item-item autoencoder with a closed form.

With G the numbers of users that items share, and P = (G + reg·I)⁻¹,

    B[i, j] = -P[i, j] / P[j, j],   B[j, j] = 0,      score_j = Σ B[i, j] over the items i of a user

is the least-squares prediction of each item from all the others.
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

__all__ = ["Ease"]


class Ease(Recommender):
    """EASE (Steck, Embarrassingly shallow autoencoders for sparse data, WWW 2019).

    Parameters
    ----------
    reg : added to the diagonal of the matrix of shared users; above 0 unless items are independent
    dtype : ``"float64"`` or ``"float32"``, which takes half the memory and time
    n_threads : how many threads compiled loops use; BLAS has a setting of its own

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = Ease(reg=1.0).fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[ 0.333,  0.   , -0.125]])
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
        data, reg = self._given(interactions), number("Ease", "reg", self.reg)
        check_room("Ease", len(data.items), self.dtype)
        counted = checked_overlaps(data, overlaps, self.n_threads)
        matrix = counts_of(counted, self.dtype, self.n_threads)
        del counted
        diagonal = invert("Ease", matrix, reg)
        nothing = np.zeros(len(diagonal))
        self._weights = ItemWeights.of(matrix, -1 / diagonal, nothing, n_threads=self.n_threads)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        return self._weights.scores(profiles, self.n_threads)
