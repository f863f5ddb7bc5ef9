"""RP3beta, learned by the library irspack."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from .._extras import needs
from ..counts.counting import check_longest
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from .parameters import param, threads_param
from .recommender import Recommender
from .search import NEIGHBOURS, Real
from .sparse_scorer import SparseScorer


@dataclass(repr=False, eq=False)
class IrspackRP3beta(Recommender):
    """RP3beta (Paudel and others, 2017): a walk of three steps, against popularity.

    irspack's alpha is missing: it changes nothing where all interactions weigh the same. Weights
    are the same with any number of threads.

    Parameters
    ----------
    beta : how much an item's popularity counts against it; 0 is P3
    neighbours : weights kept per item; all by default
    n_threads : number of threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> IrspackRP3beta().fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    scorers: ClassVar = (SparseScorer,)

    beta: float = param(0.6, low=0, search=Real(0.0, 1.0))
    neighbours: int | None = param(None, low=1, search=NEIGHBOURS)
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SparseScorer:  # noqa: ARG002
        check_longest(data, 12)
        # irspack's settings are written for an older pydantic, which warns when they are imported.
        with needs("compare", "RP3beta"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            from irspack.recommenders.rp3 import RP3betaRecommender
        most = None if self.neighbours is None else min(self.neighbours, len(data.items))
        model = RP3betaRecommender(
            csr_matrix(data.matrix()), top_k=most, beta=self.beta, n_threads=self.n_threads
        )
        learned: Any = model.learn().W
        weights = csr_array(learned, dtype=np.float64)
        weights.sort_indices()
        indptr, columns = weights.indptr.astype(np.int64), weights.indices.astype(np.int32)
        return SparseScorer(indptr, columns, weights.data)
