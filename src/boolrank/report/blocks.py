"""The kinds of blocks that a page is made of, as values; ``templates/blocks.html`` has their looks.

Another kind is a frozen dataclass with a ``kind``, and a macro of that name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from .figures import Drawn
from .tables import Table, missing

__all__ = [
    "Block",
    "Cell",
    "Entries",
    "Example",
    "Facts",
    "Figures",
    "Listed",
    "Listing",
    "Note",
    "Reasons",
    "Sheet",
    "signed",
]


_DIGITS = re.compile("[1-9]")


def signed(text: str) -> str:
    """A number as a page has it: with a true minus, and no sign if it is 0 to all digits shown.

    >>> signed("-0.01"), signed("-0.00")
    ('−0.01', '0.00')
    """
    return text.replace("-", "−") if _DIGITS.search(text) else text.lstrip("+-")


class Block(Protocol):
    """Whatever has a look."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Note:
    """A paragraph, with `code` in backticks and **strong** words in asterisks."""

    kind: ClassVar[str] = "note"
    text: str


@dataclass(frozen=True)
class Facts:
    """A few numbers with their names, large."""

    kind: ClassVar[str] = "facts"
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Entries:
    """Terms with what is to be said of each; with ``commands``, the terms are commands."""

    kind: ClassVar[str] = "entries"
    entries: Mapping[str, str]
    commands: bool = False


@dataclass(frozen=True)
class Figures:
    """Figures side by side where there is room."""

    kind: ClassVar[str] = "figures"
    figures: Sequence[Drawn]


@dataclass(frozen=True)
class Cell:
    """A value of a table as a page has it.

    Attributes
    ----------
    text, value : how it is written, and what rows are sorted by
    small : what stands below it
    number, marked : whether it is one, and whether it stands out
    bar : its length as a share of the whole, where one is drawn
    """

    text: str
    value: Any
    small: str
    number: bool
    marked: bool
    bar: float | None


@dataclass(frozen=True)
class Sheet:
    """A table as a page shows it: the values of its files, in less width.

    Attributes
    ----------
    table : the values
    title, about : what stands above it
    below : by column, those that stand small below it, and how: ``{"AUC": {"deviation": "± {}"}}``
    marked : by column, the one that says "yes" where it is to be marked
    best : the column whose highest value makes its row stand out
    bars : columns of shares that are drawn, too
    """

    kind: ClassVar[str] = "sheet"
    table: Table
    title: str = ""
    about: str = ""
    below: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    marked: Mapping[str, str] = field(default_factory=dict)
    best: str = ""
    bars: Sequence[str] = ()

    @property
    def columns(self) -> dict[str, bool]:
        """Those that have a place of their own, and whether they are of numbers."""
        moved = {*self.marked.values(), *(name for parts in self.below.values() for name in parts)}
        return {name: bool(f) for name, f in self.table.columns.items() if name not in moved}

    @property
    def rows(self) -> list[tuple[bool, list[Cell]]]:
        """For each row whether it is the best, and its cells."""
        records = self.table.records()
        found = [each[self.best] for each in records if self.best and not missing(each[self.best])]
        top = max(found, default=None)
        return [
            (
                top is not None and each[self.best] == top,
                [self._cell(name, each) for name in self.columns],
            )
            for each in records
        ]

    def _cell(self, column: str, record: Mapping[str, Any]) -> Cell:
        value = record[column]
        small = "".join(
            form.format(self._text(name, record[name]))
            for name, form in self.below.get(column, {}).items()
            if not missing(record[name])
        )
        return Cell(
            self._text(column, value) or "–",
            "" if missing(value) else value,
            small,
            self.columns[column],
            record.get(self.marked.get(column, "")) == "yes",
            value if column in self.bars else None,
        )

    def _text(self, column: str, value: Any) -> str:
        text = self.table.text(column, value)
        return signed(text) if self.table.columns[column] else text


@dataclass(frozen=True)
class Listed:
    """Something in a list, with a tag, and whether that is a good one; with a score, or none."""

    name: str
    tag: str = ""
    good: bool = False
    score: float | None = None


@dataclass(frozen=True)
class Reasons:
    """What adds up to a score."""

    title: str
    parts: Sequence[tuple[str, float]]
    total: float


@dataclass(frozen=True)
class Listing:
    """Some things below a heading, how many more there are, and reasons for the first."""

    title: str
    items: Sequence[Listed]
    more: str = ""
    reasons: Reasons | None = None


@dataclass(frozen=True)
class Example:
    """One person: what is known, and lists side by side."""

    kind: ClassVar[str] = "example"
    title: str
    tags: Sequence[str]
    about: str
    listings: Sequence[Listing]
