"""How verbs print: a table for people, JSON or CSV for programs, alike for every verb.

A verb hands over ``records``, a list of flat or nested dictionaries with equal keys, and for people
a rich table. Only one of the three is written to stdout.
"""

from __future__ import annotations

import codecs
import csv
import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Column, Table

__all__ = ["NAME", "NUMBER", "AsCsv", "AsJson", "console", "new_table", "print_records", "say"]


def _one_form(context: typer.Context, value: bool) -> bool:
    """Refuse two forms before the work, not after it."""
    if value and (context.params.get("as_json") or context.params.get("as_csv")):
        raise ParameterError("--json and --csv exclude each other; give one of them")
    return value


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", callback=_one_form)]
AsCsv = Annotated[
    bool, typer.Option("--csv", help="Print comma-separated values.", callback=_one_form)
]

# Where stdout is no terminal nothing should be cut or wrapped: grep and less -S want whole lines.
_PIPE_WIDTH = 200
_UNBOUNDED = 1_000_000
# Words that may break, names of models for one, have this much room on any terminal.
_LEAST_FOLDED = 10

# How columns look: of what the rows are about, and of numbers.
NAME = {"style": "cyan"}
NUMBER = {"justify": "right"}


def console(*, stderr: bool = False) -> Console:
    """Rich's console on stdout or stderr; it heeds NO_COLOR and COLUMNS.

    Text is printed as it is: brackets and colons, in a formula or an id, are no markup.
    """
    from rich.console import Console  # not needed for --version and --json

    chosen = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not chosen.is_terminal and "COLUMNS" not in os.environ:
        chosen.width = _PIPE_WIDTH
    return chosen


def say(text: str) -> None:
    """Print a message, as one line however long it is."""
    console(stderr=True).print(text, soft_wrap=True)


def new_table(
    columns: Mapping[str, Mapping[str, Any]] | None = None, *, title: str | None = None
) -> Table:
    """An empty table in the look that all verbs share; columns by name, with what rich may know."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        header_style="bold",
        pad_edge=False,
    )
    for name, look in (columns or {}).items():
        table.add_column(name, **look)
    return table


def print_records(
    records: Sequence[dict[str, Any]],
    table: Callable[[], Table | list[Table]],
    *,
    columns: Sequence[str] = (),
    as_json: bool,
    as_csv: bool,
) -> None:
    """Print ``records`` as JSON or CSV, or else what ``table`` makes of them.

    ``columns`` is the header of CSV where there are no records.
    """
    if as_json:
        sys.stdout.write(_json(list(records), indent=2) + "\n")
    elif as_csv:
        names = list(records[0]) if records else columns
        writer = csv.DictWriter(sys.stdout, fieldnames=names, lineterminator="\n")
        writer.writeheader()
        for record in records:
            writer.writerow({key: _flat(value) for key, value in record.items()})
    else:
        made = table()
        for each in made if isinstance(made, list) else [made]:
            _print_table(each)


def _print_table(table: Table) -> None:
    """Print a table, its title above it: rich would wrap that to the width of the table.

    What has no room on the terminal is wider than that: rich would cut words and drop columns.
    """
    out = console()
    if table.title:
        out.print(table.title, style="bold")
        table.title = None
    widths = [column.width for column in table.columns]
    for column in table.columns:
        column.width = _least_width(column)
        column.min_width = 0 if _may_fold(column) else column.width
    least = out.measure(table, options=out.options.update(width=_UNBOUNDED)).maximum
    if least > out.width:
        out.width = least
    else:
        for column, width in zip(table.columns, widths, strict=True):
            column.width = width
    out.print(table, crop=False)


def _least_width(column: Column) -> int:
    """What a column needs to lose nothing: its longest line or, where that may break, word."""
    from rich.cells import cell_len

    if column.width is not None:
        return column.width
    parts = str.splitlines if column.no_wrap else str.split
    texts = (column.header, column.footer, *column.cells)
    longest = max((cell_len(part) for text in texts for part in parts(str(text))), default=0)
    return min(longest, _LEAST_FOLDED) if _may_fold(column) else longest


def _may_fold(column: Column) -> bool:
    """Whether words may break, too."""
    return column.overflow == "fold" and not column.no_wrap


def _flat(value: object) -> object:
    """A nested or logical value in one cell: as JSON, so that it can be read back."""
    return _json(value) if isinstance(value, bool | dict | list) else value


def _json(value: object, indent: int | None = None) -> str:
    """JSON with the characters that stdout has: what that would escape need not be JSON."""
    utf8 = codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"
    return json.dumps(value, indent=indent, ensure_ascii=not utf8)
