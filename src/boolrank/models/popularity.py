"""Popularity: the same for everybody, and what every other model has to beat."""

from __future__ import annotations

from typing import Self

import numpy as np

from ..data.interactions import Interactions
from .profiles import Profiles
from .recommender import Floats, Recommender

__all__ = ["Popularity"]


class Popularity(Recommender):
    """Ranks items by how many users they have, whoever asks; equal ones in the order of their ids.

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = Popularity().fit(data)
    >>> model.recommend([2, 3], n=2).lists()
    [['b'], ['a', 'c']]
    >>> model.score([3])
    array([[2., 2., 1.]])
    """

    def fit(self, interactions: Interactions) -> Self:
        """Count the users of each item; gives the model itself."""
        self._interactions = self._given(interactions)
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        sizes = self._interactions.popularity().astype(np.float64)
        return np.tile(sizes, (len(profiles.lengths), 1))
