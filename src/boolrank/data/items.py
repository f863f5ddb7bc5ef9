"""The item table: titles and attributes of items, for display, filters and attribute kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..checks import known_name, near_name
from ..errors import InputError, UnknownIdError
from ..storage.state import Reader, pack
from ..table import counted
from .item_columns import Column, Numbers, Words
from .packing import packed_ids, unpacked_ids
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame

_LISTED = 5  # ids that a message names
MAX_NAME = 200  # characters of the name of a column


@dataclass(frozen=True, eq=False, repr=False)
class ItemTable:
    """Attributes of items by column, in the order of ``ids``. Immutable."""

    ids: Vocabulary  # of items with interactions or without
    columns: Mapping[str, Column]
    title: str | None = None  # the column with the titles
    source: str = "the item table"  # for messages

    @staticmethod
    def from_frame(
        frame: IntoFrame,
        item: str | None = None,
        title: str | None = None,
        sets: Sequence[str] | None = None,
    ) -> ItemTable:
        """Return the table of a pandas, polars or pyarrow frame with a row per item.

        Columns of ids and titles are by default those with usual names. Sets of text are lists, or
        text such as ``Action|Comedy``: columns in which | or ; is frequent, unless ``sets`` names
        the columns.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"id": [7, 9], "title": ["Tea", "Jam"], "tags": ["a|b", "b"]})
        >>> ItemTable.from_frame(frame)
        ItemTable: 2 items; title (text), tags (set)
        """
        from .item_reading import read_items

        return read_items(frame, item, title, sets)

    @staticmethod
    def from_file(
        path: str | Path,
        item: str | None = None,
        title: str | None = None,
        sets: Sequence[str] | None = None,
    ) -> ItemTable:
        """Return the table of a CSV, TSV, Parquet, JSON or Excel file; see `from_frame`."""
        from .item_reading import read_item_file

        return read_item_file(path, item, title, sets)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"ItemTable: {counted(len(self), 'item')}; {self.summary}"

    @property
    def summary(self) -> str:
        """Names and types of the columns."""
        kinds = (f"{name} ({column.type})" for name, column in self.columns.items())
        return ", ".join(kinds) or "no columns"

    def column(self, name: str, parameter: str = "column") -> Column:
        """Return a column by its name, in any case if that is unambiguous."""
        same = [each for each in self.columns if each.lower() == name.lower()]
        if name in self.columns or len(same) == 1:
            return self.columns[name if name in self.columns else same[0]]
        raise InputError(
            f"{self.source} has no column {name!r}",
            hint=near_name(name, self.columns) if self.columns else "it has ids alone",
            parameter=parameter,
        )

    def matched(self, items: Vocabulary) -> ItemTable:
        """Return the table with ids of the type of other ids; raise if none of these has a row."""
        made = self.typed_as(items)
        strange = {type(key) for key in made.ids} - {type(key) for key in items}
        if strange or not (made.ids.find(items) >= 0).any():
            example = next((key for key in made.ids if type(key) in strange), made.ids[0])
            raise InputError(
                f"{self.source} has items such as {example!r}, and the events such as {items[0]!r}",
                hint="use the same ids in both",
                parameter="items",
            )
        return made

    def typed_as(self, items: Vocabulary) -> ItemTable:
        """Return the table with ids of the type of other ids, if they stay distinct."""
        ids, order = self.ids.typed_as(items)
        return self if ids is self.ids else self._reordered(ids, np.argsort(order))

    def aligned(self, items: Vocabulary) -> ItemTable:
        """Return the rows of these items in their order, with missing values for others."""
        return self._reordered(items, self.ids.find(items))

    def _reordered(self, ids: Vocabulary, rows: NDArray[np.int64]) -> ItemTable:
        taken = {name: column.take(rows) for name, column in self.columns.items()}
        return replace(self, ids=ids, columns=taken)

    def unmatched(self, items: Vocabulary) -> tuple[int, int]:
        """Return how many of these items have no row, and how many rows have none of them."""
        found = int((self.ids.find(items) >= 0).sum())
        return len(items) - found, len(self) - found

    @cached_property
    def titles(self) -> NDArray[Any]:
        """(items,) The titles, None for items without one."""
        column = None if self.title is None else self.columns[self.title]
        if not isinstance(column, Words):
            return np.full(len(self), None)
        return np.asarray(np.array([*column.words, None], object)[column.values])

    def titles_of(self, numbers: NDArray[Any]) -> NDArray[Any] | None:
        """Return the titles of row numbers of any shape, None for negative numbers."""
        if self.title is None:
            return None
        titles = self.titles[np.maximum(numbers, 0)]
        titles[numbers < 0] = None
        return np.asarray(titles)

    def titled(self, text: str) -> int:
        """Return the row of a title, in any case, -1 if there is none; raise if it is ambiguous."""
        rows = self._by_title.get(text.casefold(), [-1])
        if len(rows) > 1:
            ids = ", ".join(str(self.ids[row]) for row in rows[:_LISTED])
            raise UnknownIdError(f"{len(rows)} items have the title {text!r}", hint=f"use {ids}")
        return rows[0]

    def number(self, text: str) -> int:
        """Return the row of an id or a title; raise if it is unknown or ambiguous."""
        found = int(self.ids.find([self.ids.parsed(text)])[0])
        found = self.titled(text) if found < 0 else found
        if found < 0:
            near = self.near(text)
            hint = f"did you mean {near}?" if near else f"items look like {self.ids[0]!r}"
            raise UnknownIdError(f"there is no item {text!r}", hint=hint)
        return found

    def near(self, text: str) -> str:
        """Return the titles, or the id, that are closest to a text; "" if none is."""
        close = get_close_matches(text.casefold(), self._by_title, n=2)
        found = (repr(self.titles[self._by_title[each][0]]) for each in close)
        return " or ".join(found) or self.ids.similar(text)

    def label(self, number: int) -> str:
        """Return the id and the title of a row."""
        title = self.titles[number]
        return str(self.ids[number]) if title is None else f"{self.ids[number]} {title!r}"

    @cached_property
    def _by_title(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, title in enumerate(self.titles.tolist()):
            if title is not None:
                rows.setdefault(title.casefold(), []).append(row)
        return rows


def updated_table(table: ItemTable, new: ItemTable) -> ItemTable:
    """Return a table with the rows of another added, or in place of rows with the same ids.

    It equals a table made from all rows. New rows have missing values in columns that they lack.

    >>> import polars as pl
    >>> table = ItemTable.from_frame(pl.DataFrame({"id": [1, 2], "tags": ["a|b", "b"]}))
    >>> new = ItemTable.from_frame(pl.DataFrame({"id": [2, 3], "tags": ["c", "a"]}))
    >>> made = updated_table(table, new)
    >>> made, made.columns["tags"].words
    (ItemTable: 3 items; tags (set), ['a', 'b', 'c'])
    """
    for name in new.columns:
        problem = f"{new.source} has a column {name!r} that the table of the model lacks"
        known_name(name, table.columns, problem, "items", InputError)
    new = new.typed_as(table.ids)
    ids, _ = table.ids.merged(new.ids)
    old_rows, new_rows = table.ids.find(ids), new.ids.find(ids)
    columns: dict[str, Column] = {}
    for name, column in table.columns.items():
        columns[name] = column.take(np.where(new_rows < 0, old_rows, -1))
        other = new.columns.get(name)
        if other is not None and other.present.any():
            columns[name] = _joined(name, columns[name], other.take(new_rows))
    return replace(table, ids=ids, columns=columns)


def _joined(name: str, column: Column, new: Column) -> Column:
    """Return a column with the values of two, which never have a value for the same item."""
    if isinstance(column, Words) and isinstance(new, Words):
        lists = [
            [each.words[t] for each in (column, new) for t in each.rows.row(k).tolist()]
            for k in range(column.rows.n_rows)
        ]
        if column.type == "set" or max(map(len, lists), default=0) <= 1:
            return Words.of(column.type, lists)
    if isinstance(column, Numbers) and isinstance(new, Numbers) and column.type == new.type:
        return Numbers(column.type, column.values + new.values, column.known | new.known)
    raise InputError(
        f"the new rows have a {new.type} in the column {name!r}, and the table a {column.type}",
        hint="give values of the same type",
        parameter="items",
    )


def packed_table(table: ItemTable) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the JSON description and the arrays of a table."""
    kind, arrays = packed_ids("table", table.ids)
    columns = []
    for number, (name, column) in enumerate(table.columns.items()):
        plain, of_column = pack(column, f"column{number}-")
        columns.append({"name": name, "content": plain})
        arrays |= of_column
    return {"ids": kind, "rows": len(table), "title": table.title, "columns": columns}, arrays


def unpacked_table(about: Any, reader: Reader) -> ItemTable:
    """Return the table that was packed; raise if description or arrays are not valid."""
    listed, title = table_columns(about, reader), about["title"]
    ids = unpacked_ids(about["ids"], "table", reader)
    columns: dict[str, Column] = {}
    for number, name in enumerate(listed):
        content = about["columns"][number]["content"]
        columns[name] = column = reader.value(content, (Numbers, Words), f"column{number}-")
        if column.type not in column.types or (reader.verify and not column.is_sound):
            raise reader.broken(f"an impossible column {name!r}")
    if not len(ids):
        raise reader.broken("an item table without rows")
    if title is not None and not (title in columns and columns[title].type == "text"):
        raise reader.broken("titles that are not text")
    return ItemTable(Vocabulary(ids.ids, "item"), columns, title)


def table_columns(about: Any, reader: Reader) -> dict[str, str]:
    """Return the types of columns by name that a header describes; raise if it has another form."""
    try:
        pairs = [(each["name"], each["content"]["type"]) for each in about["columns"]]
        rows, title, _ = about["rows"], about["title"], about["ids"]
    except (TypeError, KeyError, IndexError):
        raise reader.broken("an impossible item table") from None
    texts = [text for pair in pairs for text in pair] + ([] if title is None else [title])
    sound = all(isinstance(text, str) and 0 < len(text) <= MAX_NAME for text in texts)
    if not sound or type(rows) is not int or len(dict(pairs)) < len(pairs):
        raise reader.broken("an impossible item table")
    return dict(pairs)
