"""Arguments of verbs: events, item tables, ids, times; and options written as a command again."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..data.database import Database
from ..data.inputs import load_inputs
from ..data.interactions import Interactions
from ..data.items import ItemTable
from ..data.vocabulary import Vocabulary
from ..engines.user_modules import user_modules
from ..errors import InputError, ParameterError
from ..models import Recommender
from ..models.spec import ModelSpec, split_commas
from ..table import counted
from ._options import option_name
from ._output import say, status

_LISTED = 10  # ids that a message names
AUTO = "auto"  # the model is to be chosen


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Query and database, if events are not in files; columns of events; filters."""

    sql: str | None = None
    database: str | None = None
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    positive: str | None = None
    min_count: int | None = None
    since: str | None = None
    until: str | None = None
    last: str | None = None
    k_core: int | None = None

    def __post_init__(self) -> None:
        if (self.sql is None) != (self.database is None):
            raise ParameterError("--sql and --from go together", hint="give both, or files")

    def inputs(self, files: Sequence[str] | None, others: str = "") -> list[str]:
        """Return the files, or the query. ``others`` are further options for the hint."""
        if self.sql is not None and files:
            raise ParameterError("--sql and files exclude each other", hint="leave one out")
        if self.sql is None and not files:
            hint = f"name files, or give {others}--sql and --from"
            raise ParameterError("there are no data", hint=hint)
        return list(files or []) if self.sql is None else [self.sql]

    def given(self) -> dict[str, Any]:
        """Return the options that have a value, without the query and the password."""
        options = asdict(self) | {"sql": None}
        return given(options | {"database": self.database and Database(self.database)})


def race_options(
    metric: str | None, trials: int | None, budget: str | None, *, auto: bool
) -> dict[str, Any]:
    """Return the options of `choose`; the time is limited unless trials are."""
    for name in () if auto else given({"trials": trials, "budget": budget}):
        raise ParameterError(f"--{name} goes with --model auto", hint="leave out one of them")
    budget = budget or ("5m" if trials is None else None)
    seconds = None if budget is None else seconds_of(budget, "budget")
    return given({"metric": metric, "trials": trials, "budget": seconds})


def seconds_of(text: str, parameter: str) -> float:
    """Return the seconds of a time such as 10m."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if match is None or not float(match[1]):
        problem = f"{text!r} is not a time such as 120s, 10m or 1h"
        raise ParameterError(problem, parameter=parameter)
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def command_text(verb: str, inputs: Sequence[str], options: Mapping[str, Any]) -> str:
    """Return a command with the options that have a value; True means a flag.

    >>> command_text("fit", ["my file.csv"], {"user": "who", "seed": None, "strict": True})
    "boolrank fit 'my file.csv' --user who --strict"
    """
    options = dict(given(options))
    database = options.pop("database", None)
    words = ["boolrank", verb, *inputs]
    if database is not None:
        words[2:] = ["--sql", *inputs, "--from", str(database)]
    for name, value in options.items():
        words += [option_name(name)] if value is True else [option_name(name), str(value)]
    for module in user_modules():
        words += ["--import", module]
    return shlex.join(words)


def fit_command(
    inputs: Sequence[str], columns: Columns, spec: ModelSpec | None = None, **more: str | None
) -> str:
    """Return the command that fits a given model, or chooses one."""
    return command_text("fit", inputs, {**columns.given(), "model": spec, **more, "out": "model"})


def read_events(
    inputs: Sequence[str],
    columns: Mapping[str, Any],
    *,
    file_order: bool | None = None,
) -> Interactions:
    """Read interactions from files, or load the data set if the input is its name."""
    with status("Reading"):
        events = load_inputs(inputs, None, file_order, **columns)
    say_read(events)
    return events


def say_read(events: Interactions) -> None:
    """Print a line for each reading of files, and its notes."""
    for reading in events.readings:
        say(f"read {reading}")
        for note in reading.notes:
            say(f"note: {note}")


def read_table(path: str, sets: str | None = None) -> ItemTable:
    """Read the item table of a file, and print a summary."""
    table = ItemTable.from_file(path, sets=None if sets is None else split_commas(sets))
    say(f"read {path}: {counted(len(table), 'item')}; {table.summary}")
    return table


def read_items(path: str, sets: str | None, events: Interactions) -> ItemTable:
    """Read the item table of events, and report items without a row and rows without events."""
    table = read_table(path, sets).matched(events.items)
    without, more = table.unmatched(events.items)
    if without:
        items = counted(len(events.items), "item")
        say(f"note: {path} has no row for {without:,} of {items} with events")
    if more:
        say(f"note: no events for {more:,} of {counted(len(table), 'row')} of {path}")
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
    strict: bool = False,
    fate: str = "are ignored",
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
        share = f"{len(unknown):,} of {len(found):,}"
        say(f"note: unknown ids in --{option}, {share}, {fate}: {names}")
    return ids


def parse_item(model: Recommender, text: str) -> tuple[Any, str]:
    """Return the item for the text of an id or a title, and its label."""
    items, table = model.interactions.items, model.item_table
    if table is None:
        return items.parsed(text), text
    number = table.number(text)
    return items[number], table.label(number)
