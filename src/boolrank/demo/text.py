"""What the demonstration prints: tables of text, for whoever prints them in whatever look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from ..report.blocks import Sheet
from ..report.sections import results_section
from .page import hits_table

if TYPE_CHECKING:
    from ..report.blocks import Example, Listed
    from ..studies.arities import Curve
    from .results import Findings

__all__ = ["Printed", "printed"]


@dataclass(frozen=True)
class Printed:
    """A table whose cells are text.

    Attributes
    ----------
    title : what stands above it
    columns : their heads, of which two may be alike, and whether they are of numbers
    rows : cells, as many as there are columns
    strong : the rows that stand out
    footer : what stands below each column; empty for nothing
    """

    title: str
    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[str]]
    strong: frozenset[int] = frozenset()
    footer: Sequence[str] = ()

    def plain(self) -> str:
        """The table in letters alone.

        >>> print(Printed("Tea", [("name", False), ("n", True)], [["Assam", "7"]]).plain())
        Tea
        <BLANKLINE>
          name   n
          ─────  ─
          Assam  7
        <BLANKLINE>
        """
        heads = [name for name, _ in self.columns]
        lines = [heads, *self.rows, *filter(None, [self.footer])]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rule = ["─" * width for width in widths]
        body = [heads, rule, *self.rows, *([rule, self.footer] if self.footer else [])]
        return "\n".join([self.title, "", *(self._line(cells, widths) for cells in body), ""])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        placed = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, (_, number) in zip(cells, widths, self.columns, strict=True)
        )
        return f"  {'  '.join(placed)}".rstrip()


def printed(found: Findings) -> list[Printed]:
    """People with their recommendations and the reasons, then the figures of all models."""
    people = [table for person in found.people for table in (_person(person), _why(person))]
    results = results_section(found.evaluations, "", found.seed).blocks
    sheets = [block for block in (*results, Sheet(hits_table(found))) if isinstance(block, Sheet)]
    return [*people, *(_sheet(sheet) for sheet in sheets), _curves(found.curves)]


def _person(person: Example) -> Printed:
    heads = [(listing.title.replace("`", ""), False) for listing in person.listings]
    lists = [[_listed(each) for each in listing.items] for listing in person.listings]
    rows = list(zip_longest(*lists, fillvalue=""))
    return Printed(f"{person.title}, {person.about}", heads, rows)


def _listed(each: Listed) -> str:
    score = "" if each.score is None else f"{each.score:.4f} "
    return f"{score}{each.name} ({each.tag}{' ✓' if each.good else ''})"


def _why(person: Example) -> Printed:
    reasons = [listing.reasons for listing in person.listings if listing.reasons]
    parts = [[f"{adds:+.4f} {name}" for name, adds in each.parts] for each in reasons]
    return Printed(
        f"{person.title}: which films speak for the first of these",
        [(each.title, False) for each in reasons],
        list(zip_longest(*parts, fillvalue="")),
        footer=[f" {each.total:.4f} together, the score" for each in reasons],
    )


def _sheet(sheet: Sheet) -> Printed:
    """A table of the page, with what stands small there in brackets."""
    rows = [
        [f"{cell.text} ({cell.small})" if cell.small else cell.text for cell in cells]
        for _, cells in sheet.rows
    ]
    strong = frozenset(place for place, (best, _) in enumerate(sheet.rows) if best)
    return Printed(sheet.table.caption, list(sheet.columns.items()), rows, strong)


def _curves(curves: Sequence[Curve]) -> Printed:
    """AUC and spectral ratio at some arities; the page draws all."""
    names = [f"{curve.family}, {what}" for curve in curves for what in ("AUC", "ratio")]
    points: dict[int, list[str]] = {}
    for k, curve in enumerate(curves):
        for arity, auc, ratio in zip(curve.arities, curve.means, curve.ratios, strict=True):
            row = points.setdefault(arity, [""] * len(names))
            row[2 * k : 2 * k + 2] = f"{auc:.4f}", f"{ratio:.4f}"
    return Printed(
        "Against the arity: AUC, and the normalised spectral ratio",
        [("arity", True), *((name, True) for name in names)],
        [[f"{arity}", *row] for arity, row in sorted(points.items())],
    )
