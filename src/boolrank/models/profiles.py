"""Profiles, the items of several people, and what follows for them from a kernel matrix.

Each function is pure: arrays of the model and the profiles in, arrays out, the same for any number
of threads. Whether people were there at training makes no difference here.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, size
from ..data.interactions import Interactions
from ..data.vocabulary import Vocabulary
from ..engines.threads import threads
from ..errors import ConvergenceWarning, MatrixTooLargeError
from .parameters import Fitted

if TYPE_CHECKING:
    from .._compiled.matrix import Arrays

__all__ = ["TOLERANCE", "Profiles", "ranking_of", "scores_of", "weights_of"]

# Duality gap, relative to the largest value of an item with itself and reg, usually 1 + reg, at
# which a user's problem is solved. Weights are then right to
# about 1e-12, so that both storages give the same scores; a gap of 1e-9 would save a quarter.
TOLERANCE = 1e-13
# Nearly singular problems may stop short of that. A gap above this is worth a warning.
_LOOSE = 1e-9
# Profiles up to this length need less memory than is worth asking for.
_LONG = 4096

Floats = NDArray[np.float64]


class Profiles(NamedTuple):
    """Item numbers of u people, one after the other, in order within each.

    Attributes
    ----------
    start : (u + 1,) where each begins
    own : the numbers
    """

    start: NDArray[np.int64]
    own: NDArray[np.int32]

    @staticmethod
    def of_users(data: Interactions, rows: NDArray[np.int64]) -> Profiles:
        """The items of users, who are given by their row numbers."""
        indptr, indices = data.indptr, data.indices
        if len(rows) == len(indptr) - 1 and np.array_equal(rows, np.arange(len(rows))):
            return Profiles(indptr, indices)
        start = np.concatenate(([0], np.cumsum(indptr[rows + 1] - indptr[rows])))
        parts = [indices[indptr[row] : indptr[row + 1]] for row in rows]
        return Profiles(start, np.concatenate(parts) if parts else np.empty(0, np.int32))

    @staticmethod
    def of_lists(items: Vocabulary, lists: Sequence[Iterable[Hashable]]) -> Profiles:
        """Profiles from lists of ids, each item counted once.

        >>> items, _ = Vocabulary.of(["a", "b", "c"])
        >>> Profiles.of_lists(items, [["c", "a", "c"], []])
        Profiles(start=array([0, 2, 2]), own=array([0, 2], dtype=int32))
        """
        numbers = [np.unique(items.numbers(ids)) for ids in lists]
        start = np.cumsum([0, *(len(part) for part in numbers)])
        return Profiles(start, np.concatenate([*numbers, np.empty(0, int)]).astype(np.int32))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(u,) how many items each has."""
        return np.diff(self.start)

    def with_items(self) -> Profiles:
        """Those that are not empty."""
        lengths = self.lengths
        if lengths.all():
            return self
        return Profiles(np.concatenate(([0], np.cumsum(lengths[lengths > 0]))), self.own)

    def blocks(self, size: int) -> Iterator[tuple[int, Profiles]]:
        """So many profiles after others, each time with the number of the first."""
        for first in range(0, len(self.start) - 1, size):
            start = self.start[first : first + size + 1]
            yield first, Profiles(start - start[0], self.own[start[0] : start[-1]])

    def parts(self, count: int) -> int:
        """Into how many parts to deal them out: one for each thread, with scratch of its own."""
        return max(1, min(len(self.start) - 1, count))

    def by_longest_row(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """(u,) an order by the most popular item, whose row of the matrix is the longest.

        So the next profile finds it in the cache.
        """
        some = np.flatnonzero(self.lengths > 0)
        key = sizes[self.own] * len(sizes) + self.own
        longest = np.zeros(len(self.start) - 1, np.int64)
        if len(some):
            longest[some] = np.maximum.reduceat(key, self.start[some])
        return np.argsort(longest, kind="stable")


def weights_of(
    arrays: Arrays,
    reg: float,
    profiles: Profiles,
    n_threads: int | None = None,
    *,
    against_others: bool = False,
) -> Floats:
    """The weight of each item of each profile, one after the other as the items are.

    They are against the mean of all items, or of the others, those that a profile does not have.
    """
    from .._compiled.profiles import weights

    with threads(n_threads) as count:
        _check_room(int(profiles.lengths.max(initial=0)), count)
        alpha, gaps = weights(
            arrays, *profiles, reg, against_others, TOLERANCE, profiles.parts(count)
        )
    loose = int((gaps > _LOOSE).sum())
    if loose:
        warnings.warn(
            f"the weights of {loose} profiles are right "
            f"to a duality gap of {gaps.max():.1e} only; a larger reg makes them well-defined",
            ConvergenceWarning,
            stacklevel=6,
        )
    return np.asarray(alpha)


def scores_of(
    arrays: Arrays, fitted: Fitted, profiles: Profiles, n_threads: int | None = None
) -> Floats:
    """(u, m) scores of all items for each profile."""
    from .._compiled.profiles import score

    out = np.empty((len(profiles.start) - 1, len(arrays.pull)))
    alpha = weights_of(arrays, fitted.reg, profiles, n_threads)
    with threads(n_threads):
        score(out, arrays, fitted.negative_weight, *profiles, alpha)
    return out


def ranking_of(
    arrays: Arrays,
    fitted: Fitted,
    profiles: Profiles,
    sizes: NDArray[np.int64],
    candidates: NDArray[np.bool_],
    exclude_own: bool,
    n: int,
    n_threads: int | None = None,
) -> tuple[NDArray[np.int32], Floats]:
    """(u, n) the best candidates of each profile, and their scores; -1 and NaN where too few.

    ``sizes`` are the numbers of users of items.
    """
    from .._compiled.profiles import rank

    alpha = weights_of(arrays, fitted.reg, profiles, n_threads)
    order = profiles.by_longest_row(sizes)
    with threads(n_threads) as count:
        asked = candidates, exclude_own, n, order, profiles.parts(count)
        chosen, scores = rank(arrays, fitted.negative_weight, *profiles, alpha, *asked)
    return chosen, scores


def _check_room(longest: int, count: int) -> None:
    """Raise where the problem of a very long profile would not fit into memory."""
    needed = 16 * longest**2 * count
    if longest > _LONG and needed > free_memory():
        raise MatrixTooLargeError(
            f"the weights of a profile of {longest:,} items would take {size(needed)} on {count} "
            f"threads, and there are {size(free_memory())}; use fewer threads, or leave out or "
            "shorten the longest profiles: who has touched that much is seldom a person"
        )
