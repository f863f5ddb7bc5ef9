"""Print data to stdout, as tables for people or records for programs; the rest to stderr.

Progress appears if stderr is a terminal, and only after a second.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any

from .._memory import peak_memory
from ..table import Column, Table, plain_score
from ._options import at_most_one

if TYPE_CHECKING:
    from rich.console import Console

# Control characters but tab and line feed, and the marks that reverse the direction of text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

# Lines are not wrapped if stdout is not a terminal: grep and less -S work on whole lines.
_PIPE_WIDTH = 200
_GAP = 2  # between columns
_MIN_FOLDED = 16  # width of a cell that may break anywhere

_STYLES = {"name": "cyan", "group": "cyan"}
_RANKED = {"rank": Column("rank", "d"), "popular": Column("popular", marks="item")}
_RANKED |= {name: Column(name, ".6g") for name in ("score", "similarity")}
_QUIET_SECONDS = 1.0  # without progress
_STARTED = time.perf_counter()

Tell = Callable[[str], None]


def printable(text: str) -> str:
    r"""Escape characters in ids and file names that a terminal would act on.

    >>> print(printable("tea\x1b[2J"))
    tea\x1b[2J
    """
    return _UNSAFE.sub(lambda m: m[0].encode("unicode_escape").decode("ascii"), text)


def console(*, stderr: bool = False) -> Console:
    """Return rich's console on stdout or stderr, which respects NO_COLOR and COLUMNS."""
    from rich.console import Console  # slow, and not needed for --version and --json

    # Brackets and colons in a formula or an id are not markup.
    chosen = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not chosen.is_terminal and "COLUMNS" not in os.environ:
        chosen.width = _PIPE_WIDTH
    return chosen


def say(text: str, style: str = "") -> None:
    """Print a message on one line of stderr."""
    console(stderr=True).print(printable(text), style=style, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Output:
    """The format of data on stdout: a table unless another is chosen."""

    as_json: bool = False
    as_csv: bool = False
    as_latex: bool = False
    safe_csv: bool = False

    def __post_init__(self) -> None:
        at_most_one(self.formats)

    @property
    def formats(self) -> list[str]:
        """The formats that were asked for, by parameter."""
        return [name for name in ("as_json", "as_csv", "as_latex") if getattr(self, name)]

    @property
    def is_table(self) -> bool:
        return not self.formats

    def show(self, *tables: Table, records: Sequence[dict[str, Any]] | None = None) -> None:
        """Print tables; as JSON or CSV print ``records``, by default those of the first table.

        Keys lose spaces and punctuation: ``data_set``, ``p_t``. JSON escapes the characters that
        the encoding of stdout lacks.
        """
        if self.is_table:
            for table in tables:
                _print_table(table)
            return
        if self.as_latex:
            sys.stdout.write("\n".join(table.to_latex() for table in tables))
            return
        records = tables[0].records() if records is None else records
        keys = records[0] if records else [column.name for column in tables[0].columns]
        names = [re.sub("'s|[(),]", "", key).replace(" ", "_") for key in keys]
        plain = Table.of("", names, [list(record.values()) for record in records])
        if self.as_csv:
            sys.stdout.write(plain.to_csv(safe=self.safe_csv))
            return
        utf8 = codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"
        sys.stdout.write(json.dumps(plain.records(), indent=2, ensure_ascii=not utf8) + "\n")


def ranked_lists(title: str, columns: dict[str, list[Any]], note: str = "") -> Table:
    """Return lists of items as a table; the first column has the owner of each list."""
    if "score" in columns:
        columns = columns | {"score": list(map(plain_score, columns["score"]))}
    shown = [_RANKED.get(name, Column(name, "s", wrap="middle")) for name in columns]
    shown[0] = Column(shown[0].name, "s", style="group", wrap="middle")
    return Table(title, shown, list(zip(*columns.values(), strict=True)), note=note)


def _print_table(table: Table) -> None:
    from rich import box
    from rich.table import Table as RichTable

    out = console()
    if table.title:  # rich would wrap it to the width of the table
        out.print(printable(table.title), style="bold", soft_wrap=True)
    titles, rows = [printable(column.title) for column in table.shown], _texts(table)
    widths = _widths(table, titles, rows, out.width)
    made = RichTable(box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False)
    made.show_header = any(map(str.strip, titles))
    for column, title, number, width in zip(
        table.shown, titles, table.numeric, widths, strict=True
    ):
        made.add_column(
            title,
            justify="right" if number else "left",
            style=_STYLES.get(column.style, column.style),
            no_wrap=column.wrap == "never",
            overflow="fold" if column.wrap == "fold" else "ellipsis",
            width=width,
        )
    for at, row in enumerate(rows):
        cells = (
            shorten(text, width) if column.wrap == "middle" else text
            for column, text, width in zip(table.shown, row, widths, strict=True)
        )
        made.add_row(*cells, style="bold" if at in table.strong else None)
    out.width = max(out.width, sum(widths) + _GAP * len(widths))
    out.print(made, crop=False)
    if table.note:
        out.print(printable(table.note), style="dim")


def _texts(table: Table) -> list[list[str]]:
    """Return the cells as text; in a group only the first row has its name."""
    found, above = [], [""] * len(table.shown)
    for row in table.rows:
        texts = []
        for cell in table.cells(row):
            parts = filter(None, (cell.text, cell.small, "*" if cell.marked else ""))
            texts.append(printable(" ".join(parts).replace("\u00a0", " ")))
        cells = zip(table.shown, texts, above, strict=True)
        found.append(["" if c.style == "group" and t == before else t for c, t, before in cells])
        above = texts
    return found


def _widths(table: Table, titles: list[str], rows: list[list[str]], width: int) -> list[int]:
    """Return the widths of the columns: the widest shrink until the table fits.

    A table that does not fit has room for the longest word of each column; rich would cut words.
    """
    from rich.cells import cell_len

    ranges, chosen = [], list[int]()
    for column, *cells in zip(table.shown, titles, *rows, strict=True):
        text = "\n".join(cells)
        line, word = (max(map(cell_len, s), default=0) for s in (text.split("\n"), text.split()))
        low = min(word, _MIN_FOLDED) if column.wrap in ("fold", "middle") else word
        ranges.append((line if column.wrap == "never" else low, line))
    room = width - _GAP * len(ranges)
    for limit in range(width, 0, -1):
        chosen = [max(low, min(high, limit)) for low, high in ranges]
        if sum(chosen) <= room:
            break
    return chosen


def shorten(text: str, width: int) -> str:
    """Return a text of at most this width, with dots in place of its middle.

    >>> shorten("https://shop.org/item/12345", 16), shorten("tea", 16)
    ('https://…m/12345', 'tea')
    """
    if len(text) <= width:
        return text
    half = width // 2
    return f"{text[:half]}…{text[half + 1 - width :]}"


@contextmanager
def status(text: str = "") -> Iterator[Tell]:
    """Show a message on a terminal while working, and yield a function that changes it."""
    messages = console(stderr=True)
    if not messages.is_terminal:
        yield lambda _: None
        return
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    from .._compiled.compiler import on_compile

    spinner = Spinner("dots")
    # Stdout stays as it is: a library that keeps it would find it closed at the end.
    live = Live(spinner, console=messages, transient=True, redirect_stdout=False)
    later = Timer(_QUIET_SECONDS, live.start)

    def tell(text: str) -> None:
        spinner.update(text=Text(printable(f"{text} …")))  # Text: file names are not markup

    tell(text)
    later.start()
    try:
        with on_compile(tell):
            yield tell
    finally:
        later.cancel()
        later.join()
        live.stop()


@contextmanager
def counter(text: str) -> Iterator[Callable[..., None]]:
    """Yield a function that shows the number done, the total, the time left and a remark."""
    with status(text) as tell:
        start = time.perf_counter()

        def count(done: int, total: int, remark: str = "") -> None:
            left = (time.perf_counter() - start) * (total - done) / max(done, 1)
            more = f"; {remark}" if remark else ""
            tell(f"{text}: {done:,} of {total:,}, about {left:,.0f} s left{more}")

        yield count


def done(text: str, *, beside_data: bool = False) -> None:
    """Print a summary with the time taken and the peak memory.

    Nothing is printed ``beside_data`` that goes to a pipe or a file: silence means success.
    """
    if beside_data and not console().is_terminal:
        return
    peak = peak_memory()
    memory = "" if peak is None else f", {peak / 1e6:,.0f} MB peak memory"
    say(f"{text}; {time.perf_counter() - _STARTED:.1f} s{memory}")
