"""Readers of the formats in which data sets are distributed: events out of opened files.

All of them are rows of fields between separators, described by a value and read by one compiled
loop in pieces of a few megabytes; a malformed row is an error with its file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .parts import OpenPart
from .workbook import is_workbook, sheet_rows

__all__ = ["Delimited", "Events", "JokeMatrix"]

_PIECE = 1 << 24
_LONGEST_LINE = 1 << 20
_SHOWN = 60


@dataclass(frozen=True)
class Events:
    """Columns of equal length. ``time`` is the place in the file where the set has no times."""

    users: NDArray[Any]
    items: NDArray[Any]
    time: NDArray[Any]


@dataclass(frozen=True)
class Delimited:
    """Rows of fields: what each field is, and what stands between them.

    Parameters
    ----------
    fields : role and kind of each; kinds are whole, number, date, text and skip
    separator : one character or two
    header : whether the first line has names
    quoted : whether fields may stand in double quotes, with backslashes before those inside
    sections : whether lines ``item:`` stand above the rows of that item
    """

    fields: tuple[tuple[str, str], ...]
    separator: str = ","
    header: bool = False
    quoted: bool = False
    sections: bool = False

    def read(self, parts: Iterable[OpenPart]) -> Events:
        """The events of all files, one after the other."""
        pieces = [piece for part in parts for piece in self.pieces(part)]
        names = [name for name in pieces[0] if name in ("user", "item", "time")]
        columns: dict[str, NDArray[Any]] = {}
        for name in names:
            columns[name] = np.concatenate([piece.pop(name) for piece in pieces])
        if "time" not in columns:
            columns["time"] = np.arange(len(columns["user"]))
        else:
            unit = "datetime64[D]" if ("time", "date") in self.fields else "int64"
            columns["time"] = columns["time"].astype(unit)
        return Events(columns["user"], columns["item"], columns["time"])

    def pieces(self, part: OpenPart) -> Iterator[dict[str, NDArray[Any]]]:
        """Columns by role, some rows at a time; numbers as narrow as they fit."""
        from .._compiled.text import KINDS, parse_rows

        kinds = np.array([KINDS[kind] for _, kind in self.fields], np.int8)
        separator = np.frombuffer(self.separator.encode(), np.uint8)
        line, section, empty = 0, -1.0, True
        for text in _whole_lines(part):
            start = 0
            if self.header and line == 0:
                start, line = text.index(b"\n") + 1, 1
            data = np.frombuffer(text, np.uint8)[start:]
            room = int(np.count_nonzero(data == ord("\n")))
            values = np.empty((len(kinds) + self.sections, room))
            spans = np.empty((room if KINDS["text"] in kinds else 0, 2), np.int64)
            rows, lines, section, wrong = parse_rows(
                data, separator, kinds, self.quoted, self.sections, section, values, spans
            )
            if wrong >= 0:
                shown = bytes(data).split(b"\n", lines)[lines - 1]
                raise self._malformed(part, line + lines, wrong, shown)
            line += lines
            if rows:
                empty = False
                yield self._columns(values[:, :rows], spans[:rows] + start, text)
        if empty:
            raise InputError(f"{part.label} is empty: it has no rows; fetch it again")

    def _columns(
        self, values: NDArray[np.float64], spans: NDArray[np.int64], text: bytes
    ) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {}
        for field, (role, kind) in enumerate(self.fields):
            if kind == "text":
                columns[role] = _texts(text, spans)
            elif kind != "skip":
                columns[role] = values[field].copy() if kind == "number" else _narrow(values[field])
        if self.sections:
            columns["item"] = _narrow(values[-1])
        return columns

    def _malformed(self, part: OpenPart, line: int, wrong: int, text: bytes) -> InputError:
        form = self.separator.join(name for name, _ in self.fields)
        found = text.decode("latin-1").rstrip("\r")
        shown = found if len(found) <= _SHOWN else f"{found[:_SHOWN]}…"
        if wrong < len(self.fields):
            name, kind = self.fields[wrong]
            why = f"its {name} is no {_KINDS_AS_WORDS.get(kind, kind)}"
        else:
            why = f"it has not {len(self.fields)} fields"
            why += ", or stands above the first 'item:' line" if self.sections else ""
        return InputError(f"{part.label}, line {line}: {shown!r} is not {form}: {why}")


_KINDS_AS_WORDS = {"whole": "whole number", "date": "date such as 2000-07-12", "skip": "field"}


@dataclass(frozen=True)
class JokeMatrix:
    """A row a user: how many jokes the user rated, then the rating of each joke, 99 for none.

    What counts is a rating above 0. Users with no such rating are left out, and so are those with
    ``most`` or more. Users and jokes are numbered from 1, as they stand.
    """

    jokes: int = 100
    most: int = 90

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """As text, the matrix is rows of numbers."""
        return (
            ("count", "number"),
            *((f"joke {k}", "number") for k in range(1, self.jokes + 1)),
        )

    def read(self, parts: Iterable[OpenPart]) -> Events:
        """The positive ratings, user by user."""
        matrix = np.concatenate([self.matrix(part) for part in parts])
        positive = (matrix[:, 1:] > 0) & (matrix[:, 1:] != 99)
        counts = positive.sum(axis=1)
        positive[counts >= self.most] = False
        users, jokes = np.nonzero(positive)
        return Events(users + 1, jokes + 1, np.arange(len(users)))

    def matrix(self, part: OpenPart) -> NDArray[np.float64]:
        """Users × (1 + jokes), from a workbook or from text with commas."""
        if is_workbook(part):
            return sheet_rows(part, 1 + self.jokes)
        pieces = Delimited(self.fields).pieces(part)
        return np.concatenate([np.stack(list(piece.values()), axis=1) for piece in pieces])


def _whole_lines(part: OpenPart) -> Iterator[bytes]:
    """The file in pieces that end where a line ends; the last line may lack its end."""
    rest = b""
    while piece := part.read(_PIECE):
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        else:
            rest += piece
            if len(rest) > _LONGEST_LINE:
                raise InputError(f"{part.label} has a line of over a million bytes: it is no text")
    if rest.strip():
        yield rest + b"\n"


def _narrow(values: NDArray[np.float64]) -> NDArray[Any]:
    """Whole numbers in half the memory where they fit: sets have up to a hundred million rows."""
    fits = values.max() < 1 << 31 and values.min() >= -(1 << 31)
    return values.astype(np.int32 if fits else np.int64)


def _texts(text: bytes, spans: NDArray[np.int64]) -> NDArray[Any]:
    decoded = text.decode("latin-1")  # a character a byte, so places stay what they are
    found = np.empty(len(spans), dtype=object)
    found[:] = [decoded[a:b].replace('\\"', '"') for a, b in spans.tolist()]
    return found
