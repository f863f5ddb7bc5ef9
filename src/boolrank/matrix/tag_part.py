"""The part of an item matrix that follows from tags.

Items with the same tags form a class, so the part is P·V·Pᵀ: the values V of a few distinct sets,
and P from items to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from ..kernels.terms import Bound, Terms

Floats = NDArray[np.float64]


class Tags(NamedTuple):
    """The tags of each item, as numbers below n."""

    rows: Rows
    n: int

    def matrix(self, items: NDArray[np.intp] | None = None) -> Any:
        """(items, n) Return the sets of some items or of all as sparse rows of 0 and 1."""
        from scipy.sparse import csr_array

        rows = self.rows if items is None else self.rows.take(items)
        return csr_array((np.ones(len(rows.indices), np.uint8), *rows[::-1]), (rows.n_rows, self.n))


@dataclass(frozen=True, eq=False)
class TagPart:
    """Bound terms of a kernel on the tags of items."""

    share: float  # weight of the part over users; that of the tags is 1 - share
    terms: list[tuple[float, Bound]]
    tags: Mapping[str, Tags]
    classes: NDArray[np.int32]  # (m,) number of each item's combination of sets
    first: NDArray[np.intp]  # an item of each class

    @staticmethod
    def of(terms: Terms, tags: Mapping[str, Tags]) -> TagPart:
        columns = {term.column: tags[term.column].rows for _, term in terms.bound}
        keys = np.column_stack([distinct_sets(rows)[1] for rows in columns.values()])
        _, first, classes = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return TagPart(terms.share, terms.bound, tags, classes.ravel().astype(np.int32), first)

    @cached_property
    def values(self) -> Floats:
        """(t, t) Weighted values of classes; 0 for two items that are null vectors of a term."""
        total = np.zeros((len(self.first), len(self.first)))
        for weight, term in self.terms:
            tags = self.tags[term.column]
            first, numbers = distinct_sets(tags.rows)
            sets = tags.matrix(first)
            values = term.normalized()(sets)
            np.fill_diagonal(values, term.diag(sets) > 0)
            at = numbers[self.first]
            total += weight * values[np.ix_(at, at)]
        return total


def distinct_sets(rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return an item of each distinct set, and the number of each item's set."""
    seen: dict[bytes, int] = {}
    found = [seen.setdefault(rows.row(k).tobytes(), len(seen)) for k in range(rows.n_rows)]
    numbers = np.array(found, np.int64)
    return np.unique(numbers, return_index=True)[1], numbers
