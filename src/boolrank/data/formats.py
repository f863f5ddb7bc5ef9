"""Formats of named data sets: functions from a file's content to a polars frame of events.

Text is parsed by polars, in ASCII or Latin-1. A malformed line is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError, ParameterError
from .archives import sheet

if TYPE_CHECKING:
    import polars as pl

# Called with the name of a file for messages, and its content.
Format = Callable[[str, bytes], "pl.DataFrame"]

_SHOWN = 60  # characters of a malformed line in the message
_AGAIN = "correct the line, or fetch the file again"
_WORKBOOKS = (b"\xd0\xcf\x11\xe0", b"PK\x03\x04")  # Excel 97, and later

# kind of a field -> polars type
_KINDS = {
    "whole": "UInt64",
    "number": "Float64",
    "seconds": "Int64",
    "date": "String",
    "text": "String",
    "skip": "String",
}


@dataclass(frozen=True)
class Delimited:
    """Lines of fields between separators of one character or two.

    Fields are names with kinds, such as ``"user item rating:number"``; kinds are whole (which need
    not be written), number, seconds, date, text and skip. ``quoted`` lines begin and end with a
    double quote. With ``sections``, lines ``item:`` precede the rows of that item.
    """

    fields: str
    separator: str = ","
    header: bool = False
    quoted: bool = False
    sections: bool = False

    def __post_init__(self) -> None:
        for name, kind in self._kinds.items():
            if kind not in _KINDS:
                raise ParameterError(
                    f"the field {name} has an unknown kind {kind!r}",
                    hint=f"kinds are {', '.join(_KINDS)}; spaces separate fields",
                    parameter="fields",
                )

    @property
    def _kinds(self) -> dict[str, str]:
        parts = (each.partition(":") for each in self.fields.split())
        return {name: kind or "whole" for name, _, kind in parts}

    def __call__(self, label: str, content: bytes) -> pl.DataFrame:
        """Return all fields but the skipped ones; raise for the first malformed line."""
        import polars as pl

        kinds = self._kinds
        types = {name: getattr(pl, _KINDS[kind]) for name, kind in kinds.items()}
        types |= {"user": pl.String} if self.sections else {}
        frame = pl.read_csv(
            self._plain(content),
            separator="\t" if len(self.separator) > 1 else self.separator,
            has_header=False,
            schema=types | {"more": pl.String},
            quote_char=None,
            ignore_errors=True,  # malformed fields become null
            truncate_ragged_lines=True,
        ).slice(1)
        by_kind = {kind: [name for name in kinds if kinds[name] == kind] for kind in _KINDS}
        frame = frame.with_columns(
            pl.col(by_kind["text"]).str.replace_all('\\"', '"', literal=True).replace("", None),
            pl.col(by_kind["date"]).str.to_date("%Y-%m-%d", strict=False),
        ).with_row_index("row")
        if self.sections:
            heading = pl.col("user").str.strip_suffix(":").cast(pl.UInt64, strict=False)
            heading = pl.when(pl.col("user").str.ends_with(":")).then(heading)
            number = pl.col("user").cast(pl.UInt64, strict=False)
            frame = frame.with_columns(item=heading.forward_fill(), user=number, heading=heading)
            frame = frame.filter(pl.col("heading").is_null()).drop("heading")
        needed = pl.exclude("more", *by_kind["skip"]).is_not_null()
        good = pl.all_horizontal(needed) & pl.col("more").is_null()
        self._check(label, content, frame.filter(~good))
        return frame.filter(good).drop("row", "more", *by_kind["skip"])

    def _plain(self, text: bytes) -> bytes:
        """Return the text as polars reads it, below a line with the largest number of fields."""
        text = text if text.isascii() else text.decode("latin-1").encode()
        if self.header:
            text = text[text.find(b"\n") + 1 :] if b"\n" in text else b""
        if self.quoted:
            for old, new in ((b"\r\n", b"\n"), (b'\n"', b"\n"), (b'"\n', b"\n")):
                text = text.replace(old, new)
            text = text.removeprefix(b'"').removesuffix(b'"')
        separator = self.separator.encode()
        if len(separator) > 1:
            text, separator = text.replace(separator, b"\t"), b"\t"
        return separator * len(self._kinds) + b"\n" + text

    def _check(self, label: str, content: bytes, wrong: pl.DataFrame) -> None:
        """Raise for the first of the wrong rows that is not a blank line."""
        rows = set((wrong["row"] + self.header).to_list())
        for number, line in enumerate(BytesIO(content) if rows else ()):
            if number in rows and line.strip():
                shown = line.decode("latin-1").rstrip("\r\n")
                shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
                problem = f"{shown!r} is not {self.separator.join(self._kinds)}"
                raise InputError(f"{label}, line {number + 1}: {problem}", hint=_AGAIN)


def read_lists(label: str, content: bytes) -> pl.DataFrame:
    """Read a line per user: the user's number, then the numbers of the items."""
    import polars as pl

    lines = [line.split() for line in content.splitlines()]
    wrong = [k for k, line in enumerate(lines, 1) if not all(map(bytes.isdigit, line))]
    if wrong:
        problem = f"{label}, line {wrong[0]}: not a user and items, all whole numbers"
        raise InputError(problem, hint=_AGAIN)
    users = [int(line[0]) for line in lines for _ in line[1:]]
    return pl.DataFrame({"user": users, "item": [int(i) for line in lines for i in line[1:]]})


def read_jokes(label: str, content: bytes) -> pl.DataFrame:
    """Read a row per user: the number of rated jokes, then the rating of 100 jokes, 99 for none.

    Ratings above 0 are interactions. Users with 90 or more of them are left out, as in the paper.
    Users and jokes are numbered from 1, in the order of the file.
    """
    import polars as pl

    content = sheet(label, content) if content.startswith(_WORKBOOKS) else content
    fields = " ".join(f"joke{k}:number" for k in range(1, 101))
    ratings = Delimited(f"count:number {fields}")(label, content).to_numpy()[:, 1:]
    positive = (ratings > 0) & (ratings != 99)
    positive[positive.sum(axis=1) >= 90] = False
    users, jokes = np.nonzero(positive)
    return pl.DataFrame({"user": users + 1, "item": jokes + 1})
