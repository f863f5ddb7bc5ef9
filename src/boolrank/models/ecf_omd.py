"""ECF-OMD: a user's items against the mean of all others, one small convex problem per user.

It is CF-OMD with an infinite cost of uneven weights on the others, on the linear kernel. For a user
with items I, over the simplex on I, with K the cosines of items,

    α = argmin αᵀK_Iα + reg·‖α‖² - 2·αᵀq,     score = K[:, I]·α - q,

where q is the mean row of K over the items that the user does not have. The kernel ranker has the
mean over all items instead, which is the same for everybody; with |I| of m items the two differ by
a part of |I|/m, and the same solver takes both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..engines.threads import threads
from ..matrix import compiled_arrays
from .parameters import Fitted, checked_overlaps, matrix_of, number
from .profiles import Profiles, weights_of
from .recommender import Floats, Recommender

__all__ = ["EcfOmd"]


@dataclass(repr=False, eq=False)
class EcfOmd(Recommender):
    """ECF-OMD (Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback,
    RecSys 2014; Polato and Aiolli, Kernel based collaborative filtering for very large scale top-N
    item recommendation, ESANN 2016).

    Parameters
    ----------
    reg : how evenly a user's items share the weight; 0 or more
    n_threads : how many threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = EcfOmd().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[-0.354,  0.75 , -0.854]])
    """

    reg: float = 0.1
    n_threads: int | None = None

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Count the overlaps of items and compute their cosines; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        data, reg = self._given(interactions), number("EcfOmd", "reg", self.reg)
        asked = Fitted.of("linear", reg, 1.0, "auto")
        with threads(self.n_threads):
            matrix = matrix_of(asked, checked_overlaps(data, overlaps, self.n_threads))
        self._arrays, self._reg, self._interactions = compiled_arrays(matrix), reg, data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        from .._compiled.negatives import mean_scores

        asked = self._arrays, self._reg, profiles, self.n_threads
        alpha = weights_of(*asked, against_others=True)
        out = np.empty((len(profiles.start) - 1, len(self._interactions.items)))
        with threads(self.n_threads):
            mean_scores(out, self._arrays, *profiles, alpha)
        return out
