"""Item tables from frames and files: columns for ids and titles, types, and sets of text."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from .._extras import needs
from ..checks import known_name
from ..errors import InputError
from ..storage.state import LARGE
from ..table import counted
from .columns import check_names, likely, opened
from .item_columns import Column, Numbers, Words
from .items import MAX_NAME, ItemTable
from .vocabulary import Vocabulary, check_list, is_missing

_TITLES = ("title", "name", "label", "description")
_SEPARATORS = ("|", ";")
_FREQUENT = 0.1  # share of values with a separator from which a column is one of sets
_LONGEST = 60  # characters of a word in a set; longer ones are sentences
_LISTED = 5  # ids that a message names


def read_item_file(
    path: str | Path, item: str | None, title: str | None, sets: Sequence[str] | None
) -> ItemTable:
    """Return the table of a file; see `ItemTable.from_file`.

    Columns of a text file are numbers, truth values or dates if all values are, else text.
    """
    with needs("cli", "Reading files"):
        from .scans import check_regular, expand, readable, scan_file, without_blank
        from .values import typed_attribute

    files = expand([path])
    if len(files) > 1:
        hint = "join them, or name one"
        raise InputError(f"{path} are {len(files)} files", hint=hint, parameter="items")
    scan = scan_file(files[0])
    check_regular(scan)
    with readable(scan):
        frame = scan.frame.collect()
    if scan.is_text:
        frame = without_blank(frame)
        check_names(scan.names)
        item, title = _find(frame.columns, item, title)
        frame = frame.with_columns(
            typed_attribute(frame[name], name == item, name == title or name in (sets or ()))
            for name in frame.columns
        )
    return read_items(frame, item, title, sets, scan.label)


def read_items(
    frame: Any,
    item: str | None = None,
    title: str | None = None,
    sets: Sequence[str] | None = None,
    source: str = "the item table",
) -> ItemTable:
    """Return the table of a frame; see `ItemTable.from_frame`."""
    table = opened(frame, "items", "ItemTable.from_file")
    if not isinstance(table, nw.DataFrame):
        with needs("cli", "Reading Arrow streams"):
            import polars as pl
        table = nw.from_native(pl.DataFrame(table))
    names = list(table.columns)
    item, title = _find(names, item, title)
    if sets is not None:
        check_list("sets", sets, "columns")
    for name in sets or ():
        known_name(name, names, f"{source} has no column {name!r}", "sets", InputError)
    ids, order = _ids(table[item], item, source)
    columns: dict[str, Column] = {}
    for name in (each for each in names if each != item):
        wanted = name != title and (sets is None or name in sets)
        try:
            made = _column(table[name], wanted, sets is not None, name == title)
            columns[name] = made.take(order)
        except InputError as error:
            warnings.warn(f"left out: {error}", stacklevel=3)
    title = title if title in columns and columns[title].type == "text" else None
    return ItemTable(ids, columns, title, source)


def _find(names: Sequence[str], item: str | None, title: str | None) -> tuple[str, str | None]:
    """Return the columns of ids and titles: the given ones, or the first with a usual name."""
    for name in (item, title):
        if name is not None:
            problem = f"there is no column {name!r} for the items"
            known_name(name, names, problem, "items", InputError)
    if title is None:
        others = [name for name in names if name != item]
        others.sort(key=lambda name: name.lower() not in _TITLES)  # a title before a subtitle
        usual = (each for word in _TITLES for each in others if each.lower().endswith(word))
        title = next(usual, None)
    others = [name for name in names if name != title]
    found = [item] if item else likely(others, "item") or [n for n in others if n.lower() == "id"]
    if not found:
        raise InputError(
            f"no column looks like the ids of items: there are {', '.join(names) or 'none'}",
            hint="rename the column of the ids to 'item'",
            parameter="items",
        )
    return found[0], title


def _ids(series: Any, name: str, source: str) -> tuple[Vocabulary, Any]:
    """Return the ids in order, and the row of each; raise for missing and repeated ones."""
    # Arrays of floats are whole numbers if all are, as in events.
    values = series.to_numpy() if series.dtype.is_float() else series.to_list()
    if not len(values):
        raise InputError(f"{source} has no rows", hint="write a row per item", parameter="items")
    missing = sum(map(is_missing, values))
    if missing:
        problem = f"{counted(missing, 'row', 'have')} nothing in the column {name!r} of {source}"
        raise InputError(problem, hint="fill or remove them", parameter="items")
    ids, numbers = Vocabulary.of(values, "item")
    if len(ids) < len(values):
        twice = [str(ids[int(k)]) for k in np.flatnonzero(np.bincount(numbers) > 1)]
        more = f" and {len(twice) - _LISTED:,} more" if len(twice) > _LISTED else ""
        raise InputError(
            f"{source} has more than one row for {', '.join(twice[:_LISTED])}{more}",
            hint="keep one row per item",
            parameter="items",
        )
    return ids, np.argsort(numbers)


def _column(series: Any, wanted: bool, told: bool, is_title: bool) -> Column:
    """Return a narwhals column; as a set if ``wanted`` and it looks like one, or if ``told``."""
    kind = series.dtype
    if not 0 < len(series.name) <= MAX_NAME:
        raise InputError(f"a column with the name {series.name[:20]!r}")
    values = _known(series)
    some = [value for value in values if value is not None]
    if kind == nw.Boolean or (some and all(isinstance(value, bool) for value in some)):
        return _numbers("bool", values, float)
    if kind in (nw.Date, nw.Datetime):
        if getattr(kind, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        times = _known(series.cast(nw.Datetime("us")).dt.timestamp("us"))
        return _numbers("date", times, lambda value: value / 1e6)
    if kind.is_numeric() and not is_title:
        return _numbers("number", values, float)
    lists = [value for value in some if isinstance(value, list | tuple | set | frozenset)]
    if lists and all(word is None or isinstance(word, str) for value in lists for word in value):
        return Words.of("set", [[w for w in value or () if w] for value in values])
    if kind.is_nested() or lists or kind in (nw.Binary, nw.Duration, nw.Time):
        raise InputError(f"the column {series.name!r} of the items has values of type {kind}")
    texts = [None if value is None else str(value) for value in values]
    separator = _separator([text for text in texts if text], told) if wanted else None
    if separator is None:
        return Words.of("text", [[] if text is None else [text] for text in texts])
    parts = ([] if text is None else text.split(separator) for text in texts)
    return Words.of("set", [[w.strip() for w in row if w.strip()] for row in parts])


def _known(series: Any) -> list[Any]:
    return [None if is_missing(value) else value for value in series.to_list()]


def _numbers(kind: str, values: list[Any], convert: Any) -> Numbers:
    known = np.array([value is not None for value in values], np.uint8)
    made = np.array([0.0 if value is None else convert(value) for value in values])
    known[~(abs(made) <= LARGE)] = 0
    return Numbers(kind, np.where(known, made, 0.0), known)


def _separator(texts: list[str], told: bool) -> str | None:
    """Return the separator of words if texts are sets; None if they are texts."""
    counts = {each: sum(each in text for text in texts) for each in _SEPARATORS}
    best = max(_SEPARATORS, key=lambda each: counts[each])
    if told:
        return best if counts[best] or not any("," in text for text in texts) else ","
    if counts[best] < max(1, math.ceil(_FREQUENT * len(texts))):
        return None
    longest = max(len(word) for text in texts for word in text.split(best))
    return best if longest <= _LONGEST else None
