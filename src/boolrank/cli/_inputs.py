"""Read what arguments refer to: events and ids."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data.inputs import load_inputs
from ..data.interactions import Interactions
from ..data.vocabulary import Vocabulary
from ..errors import InputError, ParameterError
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
    """Say in one line for each reading of files what was read, and below it notes."""
    for reading in events.readings:
        say(f"read {reading}")
        for note in reading.notes:
            say(f"note: {in_options(note, ['fit'])}")


def read_ids(text: str, option: str) -> list[str]:
    """Return the ids in ``id,id,...``, or in the lines of the file of ``@file``."""
    parts = _lines(text[1:], option) if text.startswith("@") else text.split(",")
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
    vocabulary: Vocabulary, texts: Sequence[str], option: str, *, strict: bool, fate: str
) -> list[Any]:
    """Return ids in the type of the vocabulary; report unknown ones, or raise if ``strict``."""
    ids = [vocabulary.parsed(text) for text in texts]
    numbers = (vocabulary.numbers if strict else vocabulary.find)(ids).tolist()
    found = dict(zip(texts, numbers, strict=True))
    unknown = [text for text, number in found.items() if number < 0]
    if unknown:
        names = ", ".join(unknown[:_LISTED]) + (", ..." if len(unknown) > _LISTED else "")
        near = vocabulary.similar(unknown[0]) if len(unknown) == 1 else ""
        names += f"; did you mean {near}?" if near else ""
        of = f"{len(unknown):,} of {len(found):,} ids in --{option}"
        say(f"note: {of} are unknown and {fate}: {names}")
    return ids
