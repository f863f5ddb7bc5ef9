"""ECF-OMD: a user's items against the mean of all others, on the linear kernel.

The kernel ranker takes the mean over all items, which is the same for everybody; with |I| of m
items the two differ by a part of |I|/m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..kernels import Linear
from ..matrix import kernel_matrix
from .kernel_ranker import MOST_REG
from .parameters import param, threads_param
from .recommender import Recommender
from .search import Real
from .simplex_scorer import OthersScorer


@dataclass(repr=False, eq=False)
class EcfOmd(Recommender):
    """ECF-OMD (Aiolli, Convex AUC optimization for top-N recommendation with implicit feedback,
    RecSys 2014; Polato and Aiolli, Kernel based collaborative filtering for very large scale top-N
    item recommendation, ESANN 2016).

    Parameters
    ----------
    reg : spreads the weight more evenly over a user's items
    n_threads : number of threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = EcfOmd().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([3]).round(3)
    array([[-0.354,  0.75 , -0.854]])
    """

    uses_overlaps: ClassVar[bool] = True
    keeps_overlaps: ClassVar[bool] = True
    scorers: ClassVar = (OthersScorer,)

    reg: float = param(0.1, low=0, high=MOST_REG, search=Real(1e-4, 1e2, log=True))
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> OthersScorer:
        counts = overlaps or Overlaps.of(data, self.n_threads)
        return OthersScorer(kernel_matrix(Linear(), counts), self.reg)
