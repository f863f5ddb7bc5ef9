"""``boolrank demo``: models compared and recommendations explained, on planted tastes."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._output import console, new_table
from ._work import Work

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from ..demo import Demo
    from ..report.blocks import Example, Listed, Sheet

__all__ = ["demo"]

# Sections of the page whose tables are printed.
_PRINTED = ("results", "tastes")


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the page and its picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the made-up data.")] = 0,
) -> None:
    """Compare models, recommend and explain on made-up data, and write a page about it.

    Takes a few seconds, and longer once, to compile. The same seed gives the same figures.
    """
    from ..demo import NEXT, run_demo
    from ..report.blocks import Sheet

    work, results = Work(), console()
    with work.teller() as told:
        made = run_demo(out, seed=seed, progress=told)
    for person in made.found.people:
        results.print(_person(person))
        results.print(_why(person))
    for section in made.page.sections:
        for block in section.blocks:
            if section.name in _PRINTED and isinstance(block, Sheet):
                results.print(_sheet(block, block.table.caption))
    results.print(_curves(made))
    work.done(f"{made.path}, to be opened in a browser")
    work.messages.print("\nNext, with a file of your own, a row per event:")
    for command, purpose in NEXT.items():
        work.messages.print(f"  {command}", style="bold", markup=False, soft_wrap=True)
        work.messages.print(f"      {purpose}", style="dim", markup=False, soft_wrap=True)


def _person(person: Example) -> RichTable:
    table = new_table(title=f"{person.title}, {person.about}")
    for listing in person.listings:
        table.add_column(listing.title.replace("`", ""), header_style="cyan")
    for row in zip_longest(*(listing.items for listing in person.listings)):
        table.add_row(*("" if each is None else _listed(each) for each in row))
    return table


def _listed(each: Listed) -> str:
    score = "" if each.score is None else f"{each.score:.4f} "
    return f"{score}{each.name} ({each.tag}{' ✓' if each.good else ''})"


def _why(person: Example) -> RichTable:
    table = new_table(title=f"{person.title}: which films speak for the first of these")
    table.show_footer = True
    columns = []
    for reasons in (listing.reasons for listing in person.listings if listing.reasons):
        footer = f" {reasons.total:.4f} together, the score"
        table.add_column(reasons.title, header_style="cyan", footer=footer)
        columns.append([f"{adds:+.4f} {name}" for name, adds in reasons.parts])
    for row in zip_longest(*columns, fillvalue=""):
        table.add_row(*row)
    return table


def _sheet(sheet: Sheet, title: str) -> RichTable:
    """A table of the page, with what stands small there in brackets."""
    table = new_table(title=title)
    for name, number in sheet.columns.items():
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    for best, cells in sheet.rows:
        texts = [f"{cell.text} ({cell.small})" if cell.small else cell.text for cell in cells]
        table.add_row(*texts, style="bold" if best else None)
    return table


def _curves(made: Demo) -> RichTable:
    """AUC and spectral ratio at some arities; the page draws all."""
    table = new_table(title="Against the arity: AUC, and the normalised spectral ratio")
    table.add_column("arity", justify="right")
    points: dict[int, list[str]] = {}
    for k, curve in enumerate(made.found.curves):
        for what in ("AUC", "ratio"):
            table.add_column(f"{curve.family}, {what}", justify="right")
        for arity, auc, ratio in zip(curve.arities, curve.means, curve.ratios, strict=True):
            row = points.setdefault(arity, [""] * 2 * len(made.found.curves))
            row[2 * k : 2 * k + 2] = f"{auc:.4f}", f"{ratio:.4f}"
    for arity, row in sorted(points.items()):
        table.add_row(f"{arity}", *row)
    return table
