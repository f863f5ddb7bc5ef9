"""EASE and LRec: closed forms of the numbers of users that items share, by one inverse.

With G these numbers and P = (G + reg·I)⁻¹, EASE, the linear item-item autoencoder, has

    B[i, j] = -P[i, j] / P[j, j],   B[j, j] = 0,     score_j = Σ B[i, j] over the items i of a user,

the least-squares prediction of each item from all the others. LRec is one regularised linear
classifier for each user, on the item vectors of all users. With the squared loss, that of user u
with the row y of the interactions X is argmin_w ‖Xᵀw - y‖² + reg·‖w‖², and its scores Xᵀw are y·B
with

    B = G·P = I - reg·P,

so that all users together are the same inverse. Unlike in EASE, an item speaks for itself: B has a
diagonal, which matters for seen items alone.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from .gram import Counted
from .inverse import ItemWeights, check_room, invert
from .item_groups import Alike
from .parameters import number
from .profiles import Profiles
from .recommender import Floats, Recommender

__all__ = ["Ease", "LRec"]


@dataclass(repr=False, eq=False)
class _CountsInverse(Recommender):
    """A model that is the inverse of the numbers of shared users, with rows and columns scaled."""

    reg: float = 500.0
    dtype: str = "float64"
    n_threads: int | None = None

    @abstractmethod
    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        """What the columns of the inverse are multiplied by, and the weights' own diagonal."""

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Count the overlaps of items and invert them; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        name, data = type(self).__name__, self._given(interactions)
        reg, alike = number(name, "reg", self.reg), Alike.of(data)
        check_room(name, len(data.items), self.dtype, alike)
        counted = Counted.of_groups(data, alike, overlaps, self.n_threads)
        matrix = counted.triangle(self.dtype, self.n_threads)
        del counted
        diagonal, twins = invert(name, matrix, reg, alike)
        scaling = self._scaling(diagonal)
        self._weights = ItemWeights.of(matrix, alike, twins, *scaling, n_threads=self.n_threads)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        return self._weights.scores(profiles, self.n_threads)


class Ease(_CountsInverse):
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

    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        return -1 / diagonal, np.zeros(len(diagonal))


class LRec(_CountsInverse):
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

    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        reg = float(self.reg)
        return np.full(len(diagonal), -reg), 1 - reg * diagonal
