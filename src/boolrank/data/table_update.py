"""Item tables that grow: new rows, and rows in place of old ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .item_columns import Column, Numbers, Words
from .items import ItemTable
from .vocabulary import near_name


def updated_table(table: ItemTable, new: ItemTable) -> ItemTable:
    """Return a table with the rows of another added, or in place of rows with the same ids.

    It equals a table that was made from all rows. New rows know nothing in columns that they lack.

    >>> import polars as pl
    >>> table = ItemTable.from_frame(pl.DataFrame({"id": [1, 2], "tags": ["a|b", "b"]}))
    >>> new = ItemTable.from_frame(pl.DataFrame({"id": [2, 3], "tags": ["c", "a"]}))
    >>> made = updated_table(table, new)
    >>> made, made.columns["tags"].words
    (ItemTable: 3 items; tags (set), ['a', 'b', 'c'])
    """
    for name in new.columns:
        if name not in table.columns:
            raise InputError(
                f"{new.source} has a column {name!r} that the table of the model lacks",
                hint=near_name(name, table.columns),
                parameter="items",
            )
    new = new.typed_as(table.ids)
    ids, _ = table.ids.merged(new.ids)
    places = table.ids.find(ids), new.ids.find(ids)
    columns = {
        name: _joined(name, column, new.columns.get(name), *places)
        for name, column in table.columns.items()
    }
    return replace(table, ids=ids, columns=columns)


def _joined(
    name: str,
    column: Column,
    new: Column | None,
    old_rows: NDArray[np.int64],
    new_rows: NDArray[np.int64],
) -> Column:
    """Return a column with the new value of each row that has one."""
    was = column.take(np.where(new_rows < 0, old_rows, -1))
    if new is None or not new.present.any():
        return was
    now = new.take(new_rows)
    if isinstance(was, Words) and isinstance(now, Words):
        lists = [
            [each.words[t] for each in (was, now) for t in each.rows.row(k).tolist()]
            for k in range(len(new_rows))
        ]
        if was.type == "set" or max(map(len, lists), default=0) <= 1:
            return Words.of(was.type, lists)
    if isinstance(was, Numbers) and isinstance(now, Numbers) and was.type == now.type:
        known = was.known | now.known
        return Numbers(was.type, was.values + now.values, known)
    raise InputError(
        f"the new rows have a {new.type} in the column {name!r}, and the table a {column.type}",
        hint="give values of the same type",
        parameter="items",
    )
