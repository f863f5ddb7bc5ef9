"""Popularity: the same for everybody, and what every other model has to beat."""

from __future__ import annotations

import numpy as np

from ..interactions import Interactions
from .scoring import Floats, Profiles, ScoringModel

__all__ = ["Popularity"]


class Popularity(ScoringModel):
    """Ranks items by how many users they have, whoever asks; equal ones in the order of their ids.

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = Popularity().fit(data)
    >>> model.recommend([2, 3], n=2).lists()
    [['b'], ['a', 'c']]
    >>> model.score([3])
    array([[2., 2., 1.]])
    """

    def _learn(self, interactions: Interactions) -> None:
        self._sizes = interactions.popularity().astype(np.float64)

    def _scored(self, profiles: Profiles) -> Floats:
        return np.tile(self._sizes, (len(profiles[0]) - 1, 1))
