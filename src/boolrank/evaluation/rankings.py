"""Rankings: the input of metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.interactions import Interactions
from ..data.rows import Rows
from ..engines.threads import threads
from ..errors import InputError, ParameterTypeError

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rankings:
    """Ranks of the relevant items of each user, and the items on top.

    Attributes
    ----------
    indptr : (u + 1,) where the ranks of each user start
    ranks : ranks of the relevant items from 0, ascending; the largest int if not in the list
    top : (u, n) numbers of the best items, -1 if there are fewer
    depth : largest length of a ranking: the number of items, or the length of the lists
    strict, half : (u,) share of pairs of a relevant and another candidate that are in the right
        order, with ties wrong and half right; None for lists, NaN if there is no pair
    train : the training data, for metrics of popularity and similarity
    """

    indptr: NDArray[np.int64]
    ranks: NDArray[np.int32]
    top: NDArray[np.int32]
    depth: int
    strict: Floats | None = None
    half: Floats | None = None
    train: Interactions | None = None

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
        """Rank all items but the known ones by a (u, m) matrix of scores, ties by item number.

        >>> relevant, known = Rows.of_lists([[1, 3]]), Rows.of_lists([[0]])
        >>> found = Rankings.from_scores([[0.9, 0.2, 0.5, 0.7]], relevant, known, n=2)
        >>> found.ranks, found.top, found.strict
        (array([0, 2], dtype=int32), array([[3, 2]], dtype=int32), array([0.5]))
        """
        from .._compiled.metrics import rank_scores

        matrix = np.ascontiguousarray(scores, dtype=np.float64)
        users = relevant.n_rows
        if known is None:
            known = Rows(np.zeros(users + 1, np.int64), np.empty(0, np.int32))
        if matrix.ndim != 2 or len(matrix) != users or known.n_rows != users:
            raise InputError(
                f"scores of shape {matrix.shape} and known items of {known.n_rows} users do not "
                f"match relevant items of {users} users",
                hint="give a row for each user",
            )
        _check_rows(relevant, matrix.shape[1])
        _check_rows(known, matrix.shape[1])
        if np.isnan(matrix).any():
            row = int(np.flatnonzero(np.isnan(matrix).any(axis=1))[0])
            raise InputError(
                f"the scores in row {row} have NaN",
                hint="rank popular items for users without history, and give -inf to items that "
                "a model does not know",
            )
        with threads(n_threads):
            ranks, strict, half, top, clashes = rank_scores(matrix, *known, *relevant, int(n))
        if clashes.any():
            user = int(np.flatnonzero(clashes)[0])
            raise InputError(
                f"user {user} has an item that is both known and relevant",
                hint="known items are not candidates: remove it from one of them",
            )
        return Rankings(relevant.indptr, ranks, top, matrix.shape[1], strict, half)

    @staticmethod
    def from_lists(lists: ArrayLike, relevant: Rows, n_threads: int | None = None) -> Rankings:
        """Return rankings given as a (u, n) array of item numbers, best first, padded with -1.

        >>> Rankings.from_lists([[3, 0, 2, -1]], Rows.of_lists([[1, 3]])).ranks
        array([         0, 2147483647], dtype=int32)
        """
        from .._compiled.metrics import rank_lists

        top = np.ascontiguousarray(lists, dtype=np.int32)
        if top.ndim != 2 or len(top) != relevant.n_rows:
            raise InputError(
                f"lists of shape {top.shape} do not match {relevant.n_rows} users",
                hint="give a row for each user",
            )
        _check_rows(relevant, None)
        with threads(n_threads):
            ranks, repeats = rank_lists(top, *relevant)
        if repeats.any():
            row = int(np.flatnonzero(repeats)[0])
            raise InputError(f"row {row} of the lists has an item twice")
        return Rankings(relevant.indptr, ranks, top, top.shape[1])

    @staticmethod
    def joined(parts: Sequence[Rankings]) -> Rankings:
        """Join rankings by scores of consecutive blocks of users."""

        def join(name: str) -> Any:
            return np.concatenate([getattr(part, name) for part in parts])

        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        indptr = Rows.of_lengths(lengths, join("ranks")).indptr
        arrays = {name: join(name) for name in ("ranks", "top", "strict", "half")}
        return replace(parts[0], indptr=indptr, **arrays)

    def cut(self, k: int | None) -> Rankings:
        """Return the rankings with k items on top; without a cut, reading them raises."""
        return Uncut(**vars(self)) if k is None else replace(self, top=self.top[:, :k])


class Uncut(Rankings):
    """Rankings for a metric without a cut: other metrics decide how many items are on top."""

    def __getattribute__(self, name: str) -> Any:
        if name == "top":
            raise ParameterTypeError(
                "a metric without a cut cannot read rankings.top",
                hint="add a parameter k to its function, and write the metric as name@10",
                parameter="metrics",
            )
        return super().__getattribute__(name)


def _check_rows(rows: Rows, items: int | None) -> None:
    """Raise if a compiled loop could read or write out of bounds."""
    indptr, indices = rows
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise InputError("the rows do not end where their items do", hint="see Rows")
    if (np.diff((rows.numbers << 32) + indices) <= 0).any():
        raise InputError("the items of a row are not ascending and distinct", hint="sort them")
    if len(indices) and (indices.min() < 0 or (items is not None and indices.max() >= items)):
        raise InputError(f"item numbers start at 0 and are below {items}")
