"""``boolrank spectrum``: how expressive kernels are on one's own data, against the arity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._inputs import read_inputs
from ._options import Families, Inputs, Item, Positive, Rating, User
from ._output import NUMBER, AsCsv, AsJson, new_table, print_records
from ._work import Work, check_output

if TYPE_CHECKING:
    from rich.table import Table

    from ..studies import Curve

__all__ = ["spectrum"]

# Denser where curves bend.
_USUAL = "1:10,12:20:2,25:50:5,60:150:10"


def spectrum(
    inputs: Inputs,
    *,
    kernel: Families = None,
    arities: Annotated[
        str | None,
        typer.Option(
            help=f"Arities as 1:150, 1:150:10 or 1,2,5; default {_USUAL}, as far as there are "
            "users.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for a figure: .svg or .png.")] = None,
    user: User = None,
    item: Item = None,
    rating: Rating = None,
    positive: Positive = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print the normalised spectral ratio of the item kernel matrix against the arity.

    0 is all items alike, 1 is no two alike. Sparse data often want a kernel that is less
    expressive than the linear one, which is arity 1.
    """
    from ..studies import parse_arities, spectral_curves

    work = Work()
    chosen = parse_arities(_USUAL if arities is None else arities)
    if out is not None:
        _check_figure(out)
    with work.step("Reading"):
        events = read_inputs(inputs, user=user, item=item, rating=rating, positive=positive)
    if arities is None:
        chosen = tuple(arity for arity in chosen if arity <= len(events.users))
    with work.step("Counting pairs of items"):
        curves = spectral_curves(events, kernel or ["disjunctive"], chosen)
    if out is not None:
        _draw(curves, out)
    records = [
        {"kernel": curve.family, "arity": arity, "ratio": ratio}
        for curve in curves
        for arity, ratio in zip(curve.arities, curve.ratios, strict=True)
    ]
    print_records(records, lambda: _table(curves), as_json=as_json, as_csv=as_csv)
    work.done(f"{events!r}" + ("" if out is None else f"; {out}"), beside_data=out is None)


def _check_figure(path: Path) -> None:
    """Refuse a figure that cannot be drawn before the work for it is done."""
    from .._extras import needs

    check_output(path, (".svg", ".png"))
    with needs("report", "A figure"):
        import matplotlib as mpl  # noqa: F401


def _draw(curves: list[Curve], path: Path) -> None:
    from ..report.figures import curves_figure, to_png, to_svg_file
    from ..studies.cache import write_text

    figure = curves_figure(
        {curve.family: (curve.arities, curve.ratios) for curve in curves},
        x_label="arity",
        y_label="normalised spectral ratio",
    )
    svg = path.suffix.lower() == ".svg"
    write_text(path, to_svg_file(figure) if svg else to_png(figure))


def _table(curves: list[Curve]) -> Table:
    families = dict.fromkeys((c.family for c in curves), NUMBER | {"header_style": "cyan"})
    title = "Normalised spectral ratio: 0 is all items alike, 1 is no two alike"
    table = new_table({"arity": NUMBER} | families, title=title)
    for row, arity in enumerate(curves[0].arities):
        table.add_row(f"{arity}", *(f"{curve.ratios[row]:.6f}" for curve in curves))
    return table
