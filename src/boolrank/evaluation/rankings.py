"""Rankings: all that metrics need to know of how a model ranks, and of what was to be found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.rows import Rows
from ..engines.threads import threads
from ..errors import InputError

__all__ = ["Rankings"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rankings:
    """Places of relevant items in the rankings of users, and the items on top of these.

    Attributes
    ----------
    indptr : (u + 1,) where the ranks of each user begin
    ranks : places of the relevant items from 0 on, in order; past every list for those not in it
    top : (u, n) the best items by number, -1 where there are fewer
    depth : how long a ranking is at most: the number of items, or the length of the lists
    strict, half : (u,) pairs of a relevant and another candidate in the right order, as a share of
        all pairs, ties as wrong and as half right; None for lists, NaN where there is no pair
    popularity : (m,) how many training users each item has
    n_users : how many users are in training
    """

    indptr: NDArray[np.int64]
    ranks: NDArray[np.int32]
    top: NDArray[np.int32]
    depth: int
    strict: Floats | None = None
    half: Floats | None = None
    popularity: NDArray[np.int64] | None = None
    n_users: int = 0

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @staticmethod
    def from_scores(
        scores: ArrayLike,
        relevant: Rows,
        known: Rows | None = None,
        n: int = 10,
        n_threads: int | None = None,
    ) -> Rankings:
        """Rankings by a (u, m) matrix of scores, the highest first, equal ones by item number.

        Candidates are all items but those a user is known by.

        >>> relevant = Rows(np.array([0, 2]), np.array([1, 3], np.int32))
        >>> known = Rows(np.array([0, 1]), np.array([0], np.int32))
        >>> found = Rankings.from_scores([[0.9, 0.2, 0.5, 0.7]], relevant, known, n=2)
        >>> found.ranks, found.top, found.strict
        (array([0, 2], dtype=int32), array([[3, 2]], dtype=int32), array([0.5]))
        """
        from .._compiled.metrics import rank_scores

        matrix = np.ascontiguousarray(scores, dtype=np.float64)
        users = len(relevant.indptr) - 1
        if known is None:
            known = Rows(np.zeros(users + 1, np.int64), np.empty(0, np.int32))
        if matrix.ndim != 2 or len(matrix) != users or len(known.indptr) != users + 1:
            raise InputError(
                f"scores of shape {matrix.shape} and known items of {len(known.indptr) - 1} users "
                f"do not go with relevant items of {users} users; a row for each user is needed"
            )
        _check_rows(relevant, matrix.shape[1])
        _check_rows(known, matrix.shape[1])
        if np.isnan(matrix).any():
            row = int(np.flatnonzero(np.isnan(matrix).any(axis=1))[0])
            raise InputError(
                f"the scores in row {row} have NaN, which has no place in a ranking; give popular "
                "items to users without history, and -inf to items that a model does not know"
            )
        with threads(n_threads) as count:
            ranks, strict, half, top, clashes = rank_scores(
                matrix, *known, *relevant, int(n), max(1, min(users, count))
            )
        if clashes.any():
            raise InputError(
                f"user {int(np.flatnonzero(clashes)[0])} has an item that is both known and "
                "relevant; what is known is no candidate, so leave it out of one of them"
            )
        return Rankings(relevant.indptr, ranks, top, matrix.shape[1], strict, half)

    @staticmethod
    def from_lists(lists: ArrayLike, relevant: Rows, n_threads: int | None = None) -> Rankings:
        """Rankings by a (u, n) array of item numbers, best first, negative where there are fewer.

        >>> relevant = Rows(np.array([0, 2]), np.array([1, 3], np.int32))
        >>> Rankings.from_lists([[3, 0, 2, -1]], relevant).ranks
        array([         0, 2147483647], dtype=int32)
        """
        from .._compiled.metrics import rank_lists

        top = np.ascontiguousarray(lists, dtype=np.int32)
        if top.ndim != 2 or len(top) != len(relevant.indptr) - 1:
            raise InputError(
                f"lists of shape {top.shape} do not go with relevant items of "
                f"{len(relevant.indptr) - 1} users; a row for each user is needed"
            )
        _check_rows(relevant, None)
        with threads(n_threads):
            ranks, repeats = rank_lists(top, *relevant)
        if repeats.any():
            raise InputError(
                f"row {int(np.flatnonzero(repeats)[0])} of the lists has an item twice; a ranking "
                "has each item once"
            )
        return Rankings(relevant.indptr, ranks, top, top.shape[1])

    @staticmethod
    def joined(parts: Sequence[Rankings]) -> Rankings:
        """Those of several blocks of users as one."""
        ends = np.cumsum([0, *(len(part.ranks) for part in parts)])
        starts = [part.indptr[:-1] + end for part, end in zip(parts, ends, strict=False)]

        def column(name: str) -> Any:
            arrays = [getattr(part, name) for part in parts]
            return None if any(array is None for array in arrays) else np.concatenate(arrays)

        return replace(
            parts[0],
            indptr=np.concatenate([*starts, ends[-1:]]),
            **{name: column(name) for name in ("ranks", "top", "strict", "half")},
        )


def _check_rows(rows: Rows, items: int | None) -> None:
    """Compiled loops read and write where these numbers point, so they must be right."""
    indptr, indices = rows
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise InputError("the rows of items do not end where the items do; see Rows")
    within = np.ones(len(indices), bool)
    within[indptr[:-1][np.diff(indptr) > 0]] = False
    if (np.diff(indices, prepend=-1) <= 0)[within].any():
        raise InputError("the items of each row must be in order and distinct; sort them first")
    if len(indices) and (indices.min() < 0 or (items is not None and indices.max() >= items)):
        raise InputError(f"items are numbers from 0 on, below {items}")
