"""Item-kNN: items similar to a user's, by the cosine or an asymmetric one.

With c_ij the users that items i and j share, and x_i those of item i,

    s_ij = (c_ij / (x_i^alpha · x_j^(1 - alpha)))^locality,     score_j = Σ s_ij

over the items i ≠ j of a user. alpha = 1/2 is the cosine. alpha = 1 is the share of the users of i
who have j, which favours popular items; alpha = 0 is the share of the users of j who have i. A
higher locality gives more weight to the nearest items. Users count as activity^-user_exponent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._memory import free_memory, size
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..errors import MatrixTooLargeError
from .parameters import param, threads_param, user_exponent_param
from .recommender import Recommender
from .search import NEIGHBOURS, Real
from .sparse_scorer import SparseScorer


@dataclass(repr=False, eq=False)
class ItemKNN(Recommender):
    """Item neighbours by the asymmetric cosine (Aiolli, Efficient top-N recommendation for
    very large scale binary rated datasets, RecSys 2013); the defaults are the plain cosine.

    Parameters
    ----------
    alpha : 0 to 1, share of the normalisation by the user's item rather than the scored one
    locality : power of the similarities; at 100 only the nearest item counts
    neighbours : most similar items kept per item; all by default
    user_exponent : users weigh activity^-user_exponent
    n_threads : number of threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = ItemKNN().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([1]).round(3)
    array([[0.5  , 0.5  , 0.707]])
    """

    uses_overlaps: ClassVar[bool] = True
    scorers: ClassVar = (SparseScorer,)

    alpha: float = param(0.5, low=0, high=1, search=Real(0.0, 1.0))
    locality: float = param(1.0, low=0, high=100, search=Real(0.5, 8.0, log=True))
    neighbours: int | None = param(None, low=1, search=NEIGHBOURS)
    user_exponent: float = user_exponent_param()
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SparseScorer:
        from .._compiled.weights import fill_similarities, keep_nearest

        counted = overlaps or Overlaps.of(data, self.n_threads, self.user_exponent)
        indptr, columns, counts = counted.rows()
        lengths = np.minimum(np.diff(indptr), self.neighbours or len(data.items))
        kept = np.concatenate(([0], np.cumsum(lengths)))
        needed, available = 8 * len(columns) + 12 * int(kept[-1]), free_memory()
        if needed > available:
            raise MatrixTooLargeError(
                f"the similarities of {len(columns):,} pairs of items take {size(needed)}, and "
                f"{size(available)} are free",
                hint="leave out the rarest items or the most active users",
            )
        sizes = np.maximum(counted.sizes, 1.0)
        values = np.empty(len(columns))
        factors = sizes**-self.alpha, sizes ** (self.alpha - 1), float(self.locality)
        fill_similarities(values, *factors, indptr, columns, counts)
        if kept[-1] == len(columns):
            return SparseScorer(indptr, columns, values)
        short, near = np.empty(kept[-1], np.int32), np.empty(kept[-1])
        keep_nearest((short, near), indptr, columns, values, kept)
        return SparseScorer(kept, short, near)
