"""``boolrank demo``: kernels and ranker on data with planted tastes, and a page of it."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._output import console, new_table

if TYPE_CHECKING:
    from rich.table import Table

    from ..demo import Demo
    from ..demo.people import Person

__all__ = ["demo"]


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the page and its picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the made-up data.")] = 0,
) -> None:
    """Compare kernels, recommend and explain on made-up data, and write a page about it.

    Takes a few seconds, and longer once, to compile. The same seed gives the same page.
    """
    from ..demo import NEXT, run_demo

    messages, results = console(stderr=True), console()
    found = run_demo(out, seed=seed, progress=lambda step: messages.print(f"{step} …", style="dim"))

    results.print(_facts(found))
    results.print(_ratios(found))
    results.print(_curves(found))
    results.print(_qualities(found))
    for table in _neighbourhoods(found):
        results.print(table)
    for person in found.people:
        results.print(_person(person))
        results.print(_why(person))
    results.print(_hits(found))
    messages.print(f"\nThe page: [bold]{found.page}[/bold]")
    messages.print("\nNext, with a file of your own:")
    width = max(len(command) for command, _ in NEXT)
    for command, purpose in NEXT:
        messages.print(f"  {command:{width}}  [dim]{purpose}[/dim]", soft_wrap=True)


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


def _person(person: Person) -> Table:
    likes = " and ".join(f"{taste} ({share:.0%})" for taste, share in person.likes)
    counts = ", ".join(f"{count} {taste}" for taste, count in person.counts)
    table = new_table(title=f"{person.name} likes {likes}; has seen {person.n_seen}: {counts}")
    table.add_column("seen, the rarest")
    for kernel in person.advice:
        table.add_column(f"{kernel} recommends", header_style="cyan")
    seen = [f"{each.item} ({each.taste})" for each in person.seen]
    picks = [
        [f"{each.score:.4f} {each.item} ({each.taste})" for each in advice.picks]
        for advice in person.advice.values()
    ]
    for row in zip_longest(seen, *picks, fillvalue=""):
        table.add_row(*row)
    return table


def _why(person: Person) -> Table:
    table = new_table(title=f"{person.name}: which of the own films speak for the first of these")
    table.show_footer = True
    columns = []
    for kernel, advice in person.advice.items():
        total = sum(each.adds for each in advice.reasons) + advice.others
        header = f"{kernel}: {advice.picks[0].item}"
        table.add_column(header, header_style="cyan", footer=f" {total:.4f} the sum is the score")
        cells = [f"{each.adds:+.4f} {each.item} ({each.taste})" for each in advice.reasons]
        columns.append([*cells, f"{advice.others:+.4f} {advice.n_others} others"])
    for row in zip_longest(*columns, fillvalue=""):
        table.add_row(*row)
    return table


def _hits(found: Demo) -> Table:
    facts = found.facts
    title = f"Top 5 of all {facts.n_users} viewers: how many are of a taste that the viewer likes?"
    table = new_table(title=title)
    table.add_column("way", style="cyan")
    table.add_column("liked", justify="right")
    table.add_column("share", justify="right")
    table.add_column("mean viewers", justify="right")
    for each in found.hits:
        number = "" if each.n_liked is None else f"{each.n_liked}"
        table.add_row(each.way, number, f"{each.liked:.1%}", f"{each.users:.0f}")
    table.caption = (
        f"Liked: more than 1/{facts.n_tastes} of the planted liking, which no way knows. "
        "Popular and random films are of those not seen."
    )
    table.caption_justify = "left"
    return table
