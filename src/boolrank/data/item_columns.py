"""Columns of item tables.

Columns of numbers, truth values and dates are doubles. Columns of text and of sets of text are
rows of word numbers: a text is a row of one word, a missing value an empty row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..storage.state import State, array
from .packing import packed_texts, unpacked_texts
from .rows import Rows


@dataclass(frozen=True, eq=False)
class Numbers(State):
    """Numbers, truth values (0 and 1) or dates (seconds since 1970), 0 where ``known`` is 0."""

    kind: ClassVar[str] = "numbers"
    types: ClassVar[tuple[str, ...]] = ("number", "bool", "date")

    type: str
    values: NDArray[np.float64] = array("float64", "table")
    known: NDArray[np.uint8] = array("uint8", "table", high=1)

    def take(self, rows: NDArray[np.int64]) -> Numbers:
        """Return the values of some rows, missing for -1."""
        there = rows >= 0
        known = np.where(there, self.known[rows], 0).astype(np.uint8)
        return Numbers(self.type, np.where(there, self.values[rows], 0.0), known)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(items,) Where values are not missing."""
        return self.known > 0

    @cached_property
    def rows(self) -> Rows:
        """The number of each value among the distinct ones, as rows of one or none."""
        numbers = np.unique(self.values, return_inverse=True)[1]
        known = self.present
        return Rows.of_lengths(known.astype(np.int64), numbers[known].astype(np.int32))

    @property
    def is_sound(self) -> bool:
        """Whether stored values are those of the type."""
        return self.type != "bool" or bool(np.isin(self.values, (0.0, 1.0)).all())


@dataclass(frozen=True, eq=False)
class Words(State):
    """Texts or sets of texts as rows of numbers of words; the words ascend."""

    kind: ClassVar[str] = "words"
    types: ClassVar[tuple[str, ...]] = ("text", "set")

    type: str
    text: NDArray[np.uint8] = array("uint8", "*")
    ends: NDArray[np.int64] = array("int64", "*", low=0)
    indptr: NDArray[np.int64] = array("int64", "table+1", low=0, divides=("indices",))
    indices: NDArray[np.int32] = array("int32", "*", low=0)

    @staticmethod
    def of(kind: str, lists: Sequence[Sequence[str]]) -> Words:
        """Return a column from the words of each row."""
        words = sorted({word for row in lists for word in row})
        number = {word: k for k, word in enumerate(words)}
        rows = Rows.of_lists([number[word] for word in row] for row in lists)
        return Words(kind, *packed_texts(words), *rows)

    @cached_property
    def words(self) -> list[str]:
        """The distinct words, ascending."""
        return unpacked_texts(self.text, self.ends)

    @property
    def present(self) -> NDArray[np.bool_]:
        """(items,) Where values are not missing."""
        return np.diff(self.indptr) > 0

    @property
    def values(self) -> NDArray[np.int64]:
        """(items,) The number of the word of each text, -1 for missing values."""
        numbers = np.full(len(self.indptr) - 1, -1)
        numbers[self.present] = self.indices
        return numbers

    @property
    def rows(self) -> Rows:
        """The numbers of the words of each row."""
        return Rows(self.indptr, self.indices)

    def take(self, rows: NDArray[np.int64]) -> Words:
        """Return the words of some rows, none for -1."""
        lengths = np.where(rows >= 0, self.rows.lengths[rows], 0)
        indices = self.indices[self.rows.places(rows[rows >= 0])]
        return replace(self, **Rows.of_lengths(lengths, indices)._asdict())

    @property
    def is_sound(self) -> bool:
        """Whether stored words and rows ascend, and a text is at most one word."""
        cut = np.concatenate(([0], self.ends))
        if cut[-1] != len(self.text) or (np.diff(cut) < 0).any():
            return False
        try:
            words = self.words
        except ValueError:
            return False
        return (
            bool(self.indices.max(initial=-1) < len(words))
            and all(a < b for a, b in pairwise(words))
            and self.rows.is_sorted
            and (self.type == "set" or bool((self.rows.lengths <= 1).all()))
        )


Column = Numbers | Words
