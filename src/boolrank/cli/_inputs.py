"""Read events, item tables and ids that arguments name."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data.inputs import load_inputs
from ..data.interactions import Interactions
from ..data.items import ItemTable
from ..data.vocabulary import Vocabulary
from ..errors import InputError, ParameterError, UnknownIdError
from ..models import Recommender
from ..table import counted
from ._errors import in_options
from ._output import Work, say

_LISTED = 10  # ids that a message names


def read_events(
    work: Work, inputs: Sequence[str], columns: Mapping[str, Any], *, file_order: bool = False
) -> Interactions:
    """Read interactions from files, or load the data set if the input is its name."""
    with work.status("Reading"):
        events = load_inputs(inputs, None, file_order, **columns)
    say_read(events)
    return events


def say_read(events: Interactions) -> None:
    """Print a line for each reading of files, and its notes."""
    for reading in events.readings:
        say(f"read {reading}")
        for note in reading.notes:
            say(f"note: {in_options(note, ['fit'])}")


def read_table(path: str, sets: str | None = None) -> ItemTable:
    """Read the item table of a file, and print a summary."""
    named = None if sets is None else [name.strip() for name in sets.split(",") if name.strip()]
    table = ItemTable.from_file(path, sets=named)
    say(f"read {path}: {counted(len(table), 'item')}; {table.summary}")
    return table


def read_items(path: str, sets: str | None, events: Interactions) -> ItemTable:
    """Read the item table of events, and report items without a row and rows without events."""
    table = read_table(path, sets).matched(events.items)
    without, more = table.unmatched(events.items)
    if without:
        say(f"note: {without:,} of {len(events.items):,} items with events have no row in {path}")
    if more:
        say(f"note: {more:,} of {len(table):,} rows of {path} have no events")
    return table


def read_ids(text: str, option: str) -> list[str]:
    """Return the ids in ``id,id,...``, quoted as in CSV, or in the lines of a file ``@file``."""
    quoted = csv.reader([text], skipinitialspace=True)
    parts = _lines(text[1:], option) if text.startswith("@") else next(quoted, [])
    ids = [part.strip() for part in parts if part.strip()]
    if not ids:
        raise ParameterError(f"--{option} has no ids", hint="name some, or leave the option out")
    return ids


def read_profiles(path: str) -> list[list[str]]:
    """Return the ids of each line of a file; ids with commas are quoted as in CSV."""
    rows = csv.reader(_lines(path.removeprefix("@"), "profiles"), skipinitialspace=True)
    return [[part.strip() for part in row if part.strip()] for row in rows]


def _lines(path: str, option: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(
            f"--{option} cannot read {path!r}: {why}", hint="name a text file with one id per line"
        ) from None


def parse_ids(
    vocabulary: Vocabulary,
    texts: Sequence[str],
    option: str,
    *,
    strict: bool,
    fate: str,
    table: ItemTable | None = None,
) -> list[Any]:
    """Return ids in the type of the vocabulary; report unknown ones, or raise if ``strict``.

    With an item table, an unknown id may be a title.
    """
    ids = [vocabulary.parsed(text) for text in texts]
    numbers = vocabulary.find(ids).tolist()
    for k, text in enumerate(texts):
        if numbers[k] < 0 and table is not None:
            numbers[k] = table.number(text) if strict else table.titled(text)
            ids[k] = vocabulary[numbers[k]] if numbers[k] >= 0 else ids[k]
    if strict:
        vocabulary.numbers(ids)
    found = dict(zip(texts, numbers, strict=True))
    unknown = [text for text, number in found.items() if number < 0]
    if unknown:
        names = ", ".join(unknown[:_LISTED]) + (", ..." if len(unknown) > _LISTED else "")
        similar = vocabulary.similar if table is None else table.near
        near = similar(unknown[0]) if len(unknown) == 1 else ""
        names += f"; did you mean {near}?" if near else ""
        of = f"{len(unknown):,} of {len(found):,} ids in --{option}"
        say(f"note: {of} are unknown and {fate}: {names}")
    return ids


def parse_item(model: Recommender, text: str) -> tuple[Any, str]:
    """Return the item for the text of an id or a title, and its label."""
    items, table, every = model.interactions.items, model.item_table, model.fitted.table
    if table is None or every is None:
        return items.parsed(text), text
    try:
        number = table.number(text)
    except UnknownIdError as error:
        try:
            row = every.number(text)
        except UnknownIdError:
            raise error from None
        raise UnknownIdError(
            f"{every.label(row)} has no events, and the model does not know it",
            hint="`boolrank fit --attributes` ranks such items by their tags",
        ) from None
    return items[number], table.label(number)
