"""``boolrank demo``: what the kernels make of data with planted tastes, and a page of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._output import console, new_table

if TYPE_CHECKING:
    from rich.table import Table

    from ..demo import Demo

__all__ = ["demo"]


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the page and its picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the made-up data.")] = 0,
) -> None:
    """Compare the kernels on made-up data with planted tastes, and write a page about it.

    Takes a few seconds. The same seed gives the same page.
    """
    from ..demo import run_demo

    messages, results = console(stderr=True), console()
    found = run_demo(out, seed=seed, progress=lambda step: messages.print(f"{step} …", style="dim"))

    results.print(_facts(found))
    results.print(_ratios(found))
    results.print(_curves(found))
    results.print(_qualities(found))
    for table in _neighbourhoods(found):
        results.print(table)
    messages.print(f"\nThe page: [bold]{found.page}[/bold]")


def _facts(found: Demo) -> Table:
    facts = found.facts
    table = new_table(title="The data")
    table.show_header = False
    table.add_column(style="dim")
    table.add_column()
    table.add_row("films × viewers", f"{facts.n_items} × {facts.n_users}")
    table.add_row("pairs", f"{facts.n_pairs} ({facts.density:.1%} of all)")
    table.add_row("planted tastes", f"{facts.n_tastes}")
    table.add_row("most popular", f"{facts.most_popular}, {facts.most_users} viewers")
    table.add_row("median, least", f"{facts.median_users:g}, {facts.least_users} viewers")
    table.add_row("top tenth", f"{facts.head_share:.0%} of all pairs")
    return table


def _ratios(found: Demo) -> Table:
    table = new_table(title="Normalised spectral ratio: 0 is all items alike, 1 is no two alike")
    table.add_column("kernel", style="cyan")
    table.add_column("ratio", justify="right")
    table.add_column("")
    for text, ratio in found.ratios:
        table.add_row(text, f"{ratio:.4f}", "━" * round(40 * ratio))
    return table


def _curves(found: Demo) -> Table:
    table = new_table(title="The same against the arity")
    table.add_column("arity", justify="right")
    for curve in found.curves:
        table.add_column(curve.label, justify="right")
    arities = found.curves[0].arities
    for row, arity in enumerate(arities):
        if arity.bit_count() == 1:  # powers of two tell the story; the page draws the rest
            table.add_row(f"{arity}", *(f"{curve.ratios[row]:.4f}" for curve in found.curves))
    return table


def _qualities(found: Demo) -> Table:
    table = new_table(title="The ten most similar items of every item")
    table.add_column("kernel", style="cyan")
    table.add_column("same taste", justify="right")
    table.add_column("mean viewers", justify="right")
    for quality in found.qualities:
        table.add_row(quality.kernel, f"{quality.same_taste:.1%}", f"{quality.users:.0f}")
    return table


def _neighbourhoods(found: Demo) -> list[Table]:
    tables = []
    for near in found.neighbourhoods:
        title = f"Most similar to {near.item} ({near.taste}, {near.users} viewers)"
        table = new_table(title=title)
        for kernel in near.neighbours:
            table.add_column(kernel, header_style="cyan")
        for row in zip(*near.neighbours.values(), strict=True):
            cells = [f"{each.similarity:.2f} {each.item} ({each.taste})" for each in row]
            table.add_row(*cells)
        tables.append(table)
    return tables
