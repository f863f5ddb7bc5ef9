"""Models that are the inverse of a matrix of items: filled, inverted and scaled in place.

One array is the matrix, its inverse and the weights in turn. The inverse is found from the upper
triangle, so only that is filled; the weights are mirrored from it.

Items with the same users are alike to such a model, so the array has one row per group of them.
With E the (m, u) groups of items, N their sizes, M the (u, u) matrix of one item of each and

    Q = (N^½·M·N^½ + reg·I)⁻¹,

the inverse P of E·M·Eᵀ + reg·I has Q[g, h] / √(n_g·n_h) for items of two groups, and for two of the
same group, and an item with itself,

    -(1 - reg·Q[g, g]) / (reg·n_g)   and   Q[g, g] / n_g + (1 - 1/n_g) / reg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._memory import require_memory
from ..data.interactions import Interactions
from ..errors import ParameterError
from ..storage.state import array
from .profiles import Profiles
from .scorer import Floats, Scorer
from .sparse_scorer import SparseScorer

# Scores are rounded to about 2^-36 of their terms in double precision and 2^-16 in single: more
# than the error of an inverse with these digits, so that items which everybody treats alike tie,
# whatever BLAS there is.
_GRIDS = {"float32": 2.0**36, "float64": 2.0**16}

Matrix = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ItemGroups:
    """m items in u groups with the same users, in the order of their first items.

    Attributes
    ----------
    group : (m,) group of each item
    start : (u + 1,) where the items of each group begin
    members : (m,) items by group, ascending within each

    >>> data = Interactions.from_pairs([1, 1, 1, 2], ["a", "b", "c", "b"])
    >>> ItemGroups.of(data).group
    array([0, 1, 0], dtype=int32)
    """

    group: NDArray[np.int32]
    start: NDArray[np.int64]
    members: NDArray[np.int32]

    @staticmethod
    def of(interactions: Interactions, apart: NDArray[np.bool_] | None = None) -> ItemGroups:
        """Return the groups; items that are ``apart`` (m,) get groups of their own."""
        from .._compiled.rows import column_sums, transposed

        rows, items = interactions.rows, len(interactions.items)
        sums = column_sums(*rows, items)
        _, which, often = np.unique(sums, return_inverse=True, return_counts=True)
        unsure = often[which] > 1
        if apart is not None:
            unsure &= ~apart
        start, users, _ = transposed(*rows, items)
        keys, numbers = list[object](range(items)), dict[object, int]()
        for item in np.flatnonzero(unsure).tolist():
            keys[item] = users[start[item] : start[item + 1]].tobytes()
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
        return ItemGroups.by_number(group, len(numbers))

    @staticmethod
    def by_number(group: NDArray[np.int32], count: int) -> ItemGroups:
        """Return groups from the group number of each item."""
        from .._compiled.rows import transposed

        start, members, _ = transposed(np.arange(len(group) + 1), group, count)
        return ItemGroups(group, start, members)

    @property
    def first(self) -> NDArray[np.int32]:
        """(u,) First item of each group, which represents it."""
        return self.members[self.start[:-1]]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(u,) Number of items of each group."""
        return np.diff(self.start)

    def representatives(self, interactions: Interactions) -> Interactions:
        """Return the same users with the first item of each group only."""
        chosen = np.zeros(len(self.group), bool)
        chosen[self.first] = True
        kept = chosen[interactions.indices]
        return Interactions(
            interactions.users,
            interactions.items.chosen(chosen),
            np.concatenate(([0], np.cumsum(kept)))[interactions.indptr],
            self.group[interactions.indices[kept]],
        )


@dataclass(frozen=True, eq=False)
class GroupScorer(Scorer):
    """What each item of a profile adds to the score of each item, by their groups.

    Attributes
    ----------
    values : (u, u) for two different items, by the groups of the profile's and the scored one
    own : (u,) for an item itself
    group : (m,) group of each item
    """

    kind: ClassVar[str] = "groups"

    values: Matrix = array("float64|float32", "groups", "groups", low=-1e30, high=1e30)
    own: Floats = array("float64", "groups", low=-1e30, high=1e30)
    group: NDArray[np.int32] = array("int32", "items", low=0, high="groups")

    @staticmethod
    def of(
        inverse: Matrix,
        groups: ItemGroups,
        twins: Floats,
        columns: Floats,
        own: Floats,
        rows: Floats,
    ) -> GroupScorer:
        """Turn the triangle of Q into weights P[i, j]·rows[g]·columns[h], in place.

        ``twins`` is P[i, j] of two items of a group; ``own`` replaces the weights on the diagonal.
        """
        from .._compiled.weights import spread

        diagonal, root = np.where(groups.sizes > 1, twins * rows * columns, own), groups.sizes**0.5
        spread(inverse, rows / root, columns / root, diagonal)
        return GroupScorer(inverse, own, groups.group)

    @property
    def items(self) -> int:
        return len(self.group)

    @cached_property
    def groups(self) -> ItemGroups:
        """The items of each group."""
        return ItemGroups.by_number(self.group, len(self.own))

    def scores(self, profiles: Profiles) -> Floats:
        from .._compiled.weights import add_up, add_up_own

        (start, items, weights), grid = profiles, _GRIDS[self.values.dtype.name]
        group, first, members = self.group, self.groups.start, self.groups.members
        out = np.empty((profiles.n_rows, len(group)))
        add_up(out, self.values, start, group[items], weights, group, first, members, grid)
        add_up_own(out, self.values, start, items, weights, group, first, self.own, grid)
        return out

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        own, out = profile.indices, list[Floats]()
        for item in items:
            parts: Floats = self.values[self.group[own], self.group[item]].astype(np.float64)
            parts[own == item] = self.own[self.group[item]]
            out.append(profile.weigh(parts))
        return self.settled_parts(profile, items, out)

    def similar(self, item: int) -> tuple[Floats, Floats]:
        row = self.values[self.group[item]].astype(np.float64)[self.group]
        return row, row

    def sparse(self, length: int, keys: Floats, users: NDArray[np.int64]) -> SparseScorer:
        """Keep the weights with the largest ``weight·keys[j]`` of each row, at most so many.

        What an item adds to itself is left out. ``users`` are those of each item.
        """
        kept, values = [np.empty(0, np.int32)], [np.empty(0)]
        for item in range(self.items):
            row, _ = self.similar(item)
            row[item] = 0.0
            if length < self.items:
                row[np.argpartition(-abs(row * keys), length)[length:]] = 0.0
            kept.append(np.flatnonzero(row).astype(np.int32))
            values.append(row[kept[-1]])
        indptr = np.cumsum([len(row) for row in kept])
        return SparseScorer(indptr, np.concatenate(kept), np.concatenate(values), users)


def check_room(model: str, needed: int, items: int, rows: int, dtype: str = "") -> None:
    """Raise if a matrix of items with so many rows, and its counts, would not fit into memory."""
    half = "use dtype='float32', " if dtype == "float64" else ""
    which = f"{items:,}" if rows == items else f"{rows:,} distinct ones of {items:,}"
    require_memory(
        needed,
        f"{model} on {which} items takes",
        hint=f"{half}leave out the rarest items, or use a sparse model: ease or kernel-ease "
        "with storage='sparse' and a low density, kernel-ranker, item-knn",
    )


def invert(model: str, matrix: Matrix, reg: float, groups: ItemGroups) -> tuple[Floats, Floats]:
    """Put Q in place of M, both as upper triangles.

    Returns (u,) values of P: of an item with itself, and with another of its group (0 for none).
    """
    from .block_inverse import invert_in_place

    sizes = groups.sizes
    several = np.flatnonzero(sizes > 1)
    for g in several:  # one by one, which takes no room
        matrix[g, g:] *= np.sqrt(sizes[g])
        matrix[: g + 1, g] *= np.sqrt(sizes[g])
    for g in several:  # the inverse leaves what is below the diagonal
        matrix[g, :g], matrix[g + 1 :, g] = matrix[:g, g], matrix[g, g + 1 :]
    diagonal = np.einsum("ii->i", matrix)
    before = diagonal.copy()
    diagonal += reg
    pivots = invert_in_place(matrix)
    # The ratio is at least the reciprocal of the condition number. With groups, the matrix of all
    # items also has the eigenvalue reg, for differences within a group.
    least, most = (0.0, 1.0) if pivots is None else (pivots.min() ** 2.0, pivots.max() ** 2.0)
    least = min(least, reg) if len(several) else least
    if least / most < len(matrix) * np.finfo(matrix.dtype).eps / 8:
        raise singular(model, reg, " or dtype='float64'" if matrix.dtype == np.float32 else "")
    own, twins = np.array(diagonal, np.float64), np.zeros(len(matrix))
    for g in several:
        column = np.concatenate((matrix[:g, g], matrix[g, g:])).astype(np.float64)
        terms = column * np.concatenate((matrix[g, :g], before[g : g + 1], matrix[g + 1 :, g]))
        # Both forms are 1 - reg·Q[g, g]; one has few digits for a large reg, the other for a small.
        left = terms.sum() if np.abs(terms).sum() < 1 else 1 - reg * column[g]
        own[g] = column[g] / sizes[g] + (1 - 1 / sizes[g]) / reg
        twins[g] = -left / (reg * sizes[g])
    return own, twins


def singular(model: str, reg: float, other: str = "") -> ParameterError:
    """Return the error for a matrix without an inverse."""
    return ParameterError(
        f"reg={reg:g} of {model} leaves the matrix of items singular, or nearly so",
        hint=f"use a larger reg{other}",
        parameter="reg",
    )
