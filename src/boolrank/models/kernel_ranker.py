"""KernelRanker: CF-KOMD, the convex per-user ranker on a kernel matrix of items.

For a user with items I, over the simplex on I:

    α = argmin αᵀK_Iα + reg·‖α‖² - 2·αᵀq_I,     score = K[:, I]·α - negative_weight·q,

with q the mean row of K. A user's weights need nothing but the matrix and the user's own items, so
there is nothing to train for each user, and people who were not there at training are served alike.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._memory import size
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..engines.threads import threads
from ..kernels import Kernel
from ..matrix import KernelMatrix, compiled_arrays
from .parameters import Fitted, checked_overlaps, matrix_of, whole
from .profiles import Profiles, ranking_of, scores_of, weights_of
from .recommendations import Recommendations
from .recommender import Floats, Ids, Recommender

__all__ = ["KernelRanker"]


@dataclass(repr=False, eq=False)
class KernelRanker(Recommender):
    """CF-KOMD with any boolean kernel. The defaults are the paper's.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"disjunctive(8)"``; it is used in its normalised form
    reg : how evenly a user's items share the weight; 0 or more
    negative_weight : how much an item's nearness to all others counts against it
    storage : ``"auto"``, ``"dense"`` or ``"compressed"``
    n_threads : how many threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> model = KernelRanker("disjunctive(2)").fit(data)
    >>> model.recommend([3], n=2).lists()
    [['a', 'c']]
    """

    kernel: Kernel | str = "disjunctive(8)"
    reg: float = 0.1
    negative_weight: float = 1.0
    storage: str = "auto"
    n_threads: int | None = None

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Count the overlaps of items and compute their kernel matrix; gives the model itself.

        Several kernels on the same interactions can share their ``overlaps``.
        """
        fitted, data = self._asked(), self._given(interactions)
        self._set(fitted, data, checked_overlaps(data, overlaps, self.n_threads))
        return self

    def _set(self, fitted: Fitted, interactions: Interactions, overlaps: Overlaps) -> None:
        with threads(self.n_threads):
            self._take(fitted, interactions, overlaps, matrix_of(fitted, overlaps))

    def restore(self, interactions: Interactions, overlaps: Overlaps, matrix: KernelMatrix) -> None:
        """Take over what an equal ranker has learned: the three arrays' worth that a model is."""
        self._take(self._asked(), interactions, overlaps, matrix)

    def _asked(self) -> Fitted:
        """The parameters as they stand, if they make sense."""
        return Fitted.of(self.kernel, self.reg, self.negative_weight, self.storage)

    def _take(
        self, fitted: Fitted, interactions: Interactions, overlaps: Overlaps, matrix: KernelMatrix
    ) -> None:
        self._fitted, self._arrays = fitted, compiled_arrays(matrix)
        self._interactions, self._overlaps, self._matrix = interactions, overlaps, matrix

    @property
    def fitted(self) -> Fitted:
        """The parameters that the model was fitted with, whatever has been set since."""
        self._check_fitted()
        return self._fitted

    @property
    def matrix(self) -> KernelMatrix:
        """The (items, items) kernel matrix that the model ranks by."""
        self._check_fitted()
        return self._matrix

    @property
    def overlaps(self) -> Overlaps:
        """The counts that the kernel matrix follows from."""
        self._check_fitted()
        return self._overlaps

    def similar_items(self, items: Ids, n: int = 10) -> Recommendations:
        """The n items nearest to each item, by the kernel.

        Where no double holds the values, logarithms stand for them, as in scores.

        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> KernelRanker("linear").fit(data).similar_items(["a"], n=1).lists()
        [['c']]
        """
        vocabulary = self.interactions.items
        n = whole(n, len(vocabulary))
        rows = vocabulary.numbers(items)
        chosen, values = np.full((len(rows), n), -1), np.full((len(rows), n), np.nan)
        for k, item in enumerate(rows):
            near, shown = self._matrix.nearness(int(item))
            near[item] = -np.inf
            order = np.argsort(-near, kind="stable")[: min(n, len(near) - 1)]
            chosen[k, : len(order)], values[k, : len(order)] = order, shown[order]
        names = [vocabulary[int(r)] for r in rows]
        none = np.zeros(len(rows), bool)
        return Recommendations(names, vocabulary.names(chosen), values, none, near=True)

    def explain(self, user: Hashable, item: Hashable) -> list[tuple[Any, float]]:
        """The user's items and how much each adds to the score of an item, the largest first.

        With Σα = 1 the score is Σ α_i·(K_ij - negative_weight·q_j): the parts add up to it. Where
        no double holds them, the score is a logarithm, and the parts are shares of it; where values
        crowd near 1, what scores leave out is left out of the parts, in proportion to the weights.

        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> [(i, round(part, 3)) for i, part in KernelRanker("linear").fit(data).explain(1, "c")]
        [('a', 0.328), ('b', -0.072)]
        """
        items = self.interactions.items
        target = items.number(item)
        row = np.array([self._interactions.users.number(user)])
        profile = Profiles.of_users(self._interactions, row)
        values, mean = self._matrix.terms(target, profile.own)
        weights = weights_of(self._arrays, self._fitted.reg, profile, self.n_threads)
        parts = weights * (values - self._fitted.negative_weight * mean)
        if self._matrix.scale and parts.any():
            parts *= self._scored(profile)[0, target] / parts.sum()
        if len(self._matrix.distance):
            parts += weights * (self._scored(profile)[0, target] - parts.sum())
        order = np.argsort(-parts, kind="stable")
        return [(items[int(profile.own[k])], float(parts[k])) for k in order]

    def weights(self, users: Ids) -> list[Floats]:
        """The weights of each user's items, which sum to 1, in the order of the items' ids."""
        profiles = Profiles.of_users(self.interactions, self.interactions.users.numbers(users))
        found = weights_of(self._arrays, self._fitted.reg, profiles, self.n_threads)
        return np.split(found, profiles.start[1:-1])

    def update(
        self, added: Interactions | None = None, removed: Interactions | None = None
    ) -> Self:
        """Take in new interactions, and give up old ones: exactly as if fitted on the result.

        Counts change only where users changed; kernel values follow from the counts.

        >>> model = KernelRanker("linear").fit(Interactions.from_pairs([1, 1, 2], ["a", "b", "b"]))
        >>> model.update(added=Interactions.from_pairs([3], ["a"])).recommend([3]).lists()
        [['b']]
        """
        after = self.interactions.updated(added, removed)
        self._set(self._fitted, after, self._overlaps.updated(self._interactions, after))
        return self

    def save(self, path: str | Path) -> None:
        """Write the model into a folder, whole or not at all."""
        from .persistence import save_ranker

        self._check_fitted()
        save_ranker(self, path)

    @classmethod
    def load(
        cls, path: str | Path, verify: bool = True, n_threads: int | None = None
    ) -> KernelRanker:
        """Open a saved model; its arrays are memory-mapped, so processes share them.

        ``verify=False`` trusts the folder: it skips the checksums and the checks that the arrays
        fit together, and then opening takes milliseconds. A folder that was altered can then give
        wrong answers or end the process; use it for one that you have just checked.
        """
        from .persistence import load_ranker

        return load_ranker(cls, path, verify, n_threads)

    def _facts(self) -> list[list[str]]:
        held = size(sum(part.nbytes for part in self._matrix.arrays.values()))
        return [["kernel matrix", f"{self._matrix.storage}, {held}"]]

    def _scored(self, profiles: Profiles) -> Floats:
        return scores_of(self._arrays, self._fitted, profiles, self.n_threads)

    def _ranked(
        self, profiles: Profiles, among: NDArray[np.bool_], exclude_own: bool, n: int
    ) -> tuple[NDArray[np.int32], Floats]:
        model = self._arrays, self._fitted, profiles, self._overlaps.sizes
        return ranking_of(*model, among, exclude_own, n, self.n_threads)
