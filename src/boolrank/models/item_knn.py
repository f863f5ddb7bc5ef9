"""Item-kNN: what a user's items are similar to, by the cosine or an asymmetric one.

With c_ij the users that items i and j share, and x_i those of item i,

    s_ij = (c_ij / (x_i^alpha · x_j^(1 - alpha)))^locality,     score_j = Σ s_ij

over the items i of a user but j itself. alpha = 1/2 is the cosine. alpha = 1 is the share of the
users of i who have j, which favours popular items; alpha = 0 is the share of the users of j who
have i. The higher the locality, the more the nearest items count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, size
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..engines.threads import threads
from ..errors import MatrixTooLargeError, ParameterError
from .parameters import checked_overlaps, number, whole
from .profiles import Profiles
from .recommender import Floats, Recommender

__all__ = ["ItemKNN"]

# By then all but the nearest item counts for nothing.
_MOST_LOCALITY = 100.0

Rows = tuple[NDArray[np.int64], NDArray[np.int32], Floats]


@dataclass(repr=False, eq=False)
class ItemKNN(Recommender):
    """Item-based neighbours by the asymmetric cosine (Aiolli, Efficient top-N recommendation for
    very large scale binary rated datasets, RecSys 2013); the defaults are the plain cosine.

    Parameters
    ----------
    alpha : 0 to 1, how much of the normalisation is by the user's item and not by the scored one
    locality : the power that similarities are raised to
    neighbours : how many most similar items each item speaks for; all where not given
    n_threads : how many threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = ItemKNN().fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    >>> model.score([1]).round(3)
    array([[0.5  , 0.5  , 0.707]])
    """

    alpha: float = 0.5
    locality: float = 1.0
    neighbours: int | None = None
    n_threads: int | None = None

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Count the overlaps of items; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        data = self._given(interactions)
        alpha = number("ItemKNN", "alpha", self.alpha, 0.0, 1.0)
        locality = number("ItemKNN", "locality", self.locality, 0.0, _MOST_LOCALITY)
        most = _most(self.neighbours, len(data.items))
        counted = checked_overlaps(data, overlaps, self.n_threads)
        self._similar = _similarities(counted, alpha, locality, most, self.n_threads)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        from .._compiled.neighbours import add_up_sparse

        out = np.empty((len(profiles.start) - 1, len(self._interactions.items)))
        with threads(self.n_threads):
            add_up_sparse(out, *self._similar, *profiles)
        return out


def _most(neighbours: Any, items: int) -> int:
    if neighbours is None:
        return items
    try:
        most = whole(neighbours, items)
    except ParameterError:
        most = 0
    if most < 1:
        raise ParameterError(
            "neighbours of ItemKNN must be a whole number from 1 on, or None for all, not "
            f"{neighbours!r}"
        )
    return most


def _similarities(
    overlaps: Overlaps, alpha: float, locality: float, most: int, n_threads: int | None
) -> Rows:
    """Similar items of each item and how similar they are, in compressed sparse rows."""
    from .._compiled.neighbours import fill_similarities, keep_nearest

    indptr, columns, counts = overlaps.rows()
    lengths = np.minimum(np.diff(indptr), most)
    kept = np.concatenate(([0], np.cumsum(lengths)))
    needed, available = 8 * len(columns) + 12 * int(kept[-1]), free_memory()
    if needed > available:
        raise MatrixTooLargeError(
            f"the similarities of {len(columns):,} pairs of items would take {size(needed)}, and "
            f"there are {size(available)}; leave out the rarest items or the most active users"
        )
    sizes = np.maximum(overlaps.sizes, 1.0)
    values = np.empty(len(columns))
    with threads(n_threads) as count:
        own = sizes**-alpha, sizes ** (alpha - 1), locality
        fill_similarities(values, *own, indptr, columns, counts, count)
        if kept[-1] == len(columns):
            return indptr, columns, values
        short, near = np.empty(kept[-1], np.int32), np.empty(kept[-1])
        keep_nearest(short, near, indptr, columns, values, kept, count)
    return kept, short, near
