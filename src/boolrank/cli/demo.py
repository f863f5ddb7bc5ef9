"""``boolrank demo``: models compared and recommendations explained, on planted tastes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..errors import MissingExtraError
from ._output import console, new_table
from ._work import Work, check_output

if TYPE_CHECKING:
    from rich.table import Table

    from ..table import Table as Values

__all__ = ["demo"]


def demo(
    *,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the page and its picture; default demo.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the made-up data.")] = 0,
) -> None:
    """Compare models, recommend and explain on made-up data, and write a page about it.

    Takes a few seconds, and longer once, to compile. The same seed gives the same figures.
    """
    from ..demo import NEXT, run_demo
    from ..demo.page import demo_tables

    work, results = Work(), console()
    folder, note = _folder(out)
    with work.teller() as told:
        made = run_demo(folder, seed=seed, progress=told)
    for table in demo_tables(made.found):
        results.print(_table(table))
    work.done(note if made.path is None else f"{made.path}, to be opened in a browser")
    work.say("\nNext, with a file of your own, a row per event:")
    for command, purpose in NEXT.items():
        work.say(f"  {command}", style="bold")
        work.say(f"      {purpose}", style="dim")


def _folder(out: Path | None) -> tuple[Path | None, str]:
    """Where the page goes; or None and why, where it cannot be made and nobody asked for it."""
    from ..report.page import check_report

    try:
        check_report("The page")
    except MissingExtraError as error:
        if out is not None:
            raise
        return None, f"no page: {error}"
    folder = Path("demo") if out is None else out
    check_output(folder / "report.html", (".html",))
    return folder, ""


def _table(values: Values) -> Table:
    table = new_table(title=values.title)
    table.caption, table.caption_justify = values.note, "left"
    table.show_footer = bool(values.footer)
    footer = values.cells(values.footer) if values.footer else [""] * len(values.shown)
    for column, number, below in zip(values.shown, values.numeric, footer, strict=True):
        justify: Literal["right", "left"] = "right" if number else "left"
        table.add_column(column.title, footer=str(below), justify=justify)
    for place, row in enumerate(values.rows):
        cells = map(str, values.cells(row))
        table.add_row(*cells, style="bold" if place in values.strong else None)
    return table
