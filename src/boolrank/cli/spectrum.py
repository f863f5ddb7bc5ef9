"""``boolrank spectrum``: how expressive kernels are on one's own data, against the arity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from ._inputs import Inputs, read_inputs
from ._output import AsCsv, AsJson, new_table, print_records
from ._work import Work

if TYPE_CHECKING:
    from rich.table import Table

    from ..experiments import SpectralCurve

__all__ = ["spectrum"]


def spectrum(
    inputs: Inputs,
    *,
    kernel: Annotated[
        list[str] | None,
        typer.Option(
            help="Family of kernels, such as disjunctive or 'threshold(2, {})'; again for each "
            "further one; default disjunctive.",
            show_default=False,
        ),
    ] = None,
    arities: Annotated[
        str, typer.Option(help="Arities as 1:150, 1:150:10 or 1,2,5.")
    ] = "1:10,12:20:2,25:50:5,60:150:10",
    out: Annotated[Path | None, typer.Option(help="File for a figure: .svg or .png.")] = None,
    user: Annotated[str | None, typer.Option(help="Column of users.")] = None,
    item: Annotated[str | None, typer.Option(help="Column of items.")] = None,
    rating: Annotated[str | None, typer.Option(help="Column of ratings.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="Which ratings count, such as '>= 4'; all rows otherwise.")
    ] = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print the normalised spectral ratio of the item kernel matrix against the arity.

    0 is all items alike, 1 is no two alike. Sparse data often want a kernel that is less
    expressive than the linear one, which is arity 1.
    """
    from ..experiments import parse_arities, spectral_curves

    work = Work()
    chosen = parse_arities(arities)
    if out is not None:
        _check_figure(out)
    with work.step("Reading"):
        events = read_inputs(inputs, user=user, item=item, rating=rating, positive=positive)
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
    work.done(f"{events!r}" + ("" if out is None else f"; {out}"))


def _check_figure(path: Path) -> None:
    """Refuse a figure that cannot be drawn before the work for it is done."""
    from .._extras import needs

    if path.suffix.lower() not in {".svg", ".png"}:
        raise InputError(f"the figure {path} must end in .svg or .png")
    with needs("report", "A figure"):
        import matplotlib as mpl  # noqa: F401


def _draw(curves: list[SpectralCurve], path: Path) -> None:
    from ..experiments.cells import write_text
    from ..report.figures import curves_figure, to_png, to_svg_file

    figure = curves_figure(
        {curve.family: (curve.arities, curve.ratios) for curve in curves},
        x_label="arity",
        y_label="normalised spectral ratio",
    )
    svg = path.suffix.lower() == ".svg"
    write_text(path, to_svg_file(figure) if svg else to_png(figure))


def _table(curves: list[SpectralCurve]) -> Table:
    table = new_table(title="Normalised spectral ratio: 0 is all items alike, 1 is no two alike")
    table.add_column("arity", justify="right")
    for curve in curves:
        table.add_column(curve.family, justify="right", header_style="cyan")
    for row, arity in enumerate(curves[0].arities):
        table.add_row(f"{arity}", *(f"{curve.ratios[row]:.6f}" for curve in curves))
    return table
