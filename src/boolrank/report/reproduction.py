"""The reproduction of the paper as a page, tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._extras import needs
from .._version import __version__
from ..experiments.cells import write_text
from ..experiments.paper import COLUMNS, PAPER
from .figures import bars_figure, curves_figure, to_png, to_svg, to_svg_file
from .page import render_page
from .tables import FORMS, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..experiments.found import Reproduction, SetResult

__all__ = ["PAGE", "check_report", "tables", "write_reproduction"]

PAGE = "report.html"
_PANEL = (5.0, 3.4)


@dataclass(frozen=True)
class _Drawn:
    """A figure with the name of its file, and what it shows."""

    name: str
    title: str
    about: str
    figure: Figure

    @property
    def svg(self) -> str:
        return to_svg(self.figure, self.name)


def check_report() -> None:
    """Say what is missing before the work, not after it."""
    with needs("report", "The page"):
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401


def write_reproduction(found: Reproduction, out: str | Path, command: str = "") -> Path:
    """Write the page, and beside it ``tables/`` and ``figures/``; returns the page.

    ``command`` is what made it, to stand in the page.
    """
    out = Path(out)
    figures = {
        "auc": [_auc(each) for each in found.sets if each.curves[0].means],
        "spectrum": [_spectrum(each) for each in found.sets],
        "time": [_time(found)],
    }
    for group in figures.values():
        for each in group:
            place = out / "figures" / each.name
            write_text(place.with_suffix(".svg"), to_svg_file(each.figure))
            write_text(place.with_suffix(".png"), to_png(each.figure))
    for table in tables(found):
        for ending, form in FORMS.items():
            write_text(out / "tables" / f"{table.name}{ending}", form(table))
    page = render_page(
        "reproduction.html",
        version=__version__,
        command=command,
        found=found,
        of=len(PAPER),
        columns=COLUMNS,
        figures=figures,
        differences=_differences(found),
        signed=_signed,
    )
    write_text(out / PAGE, page)
    return out / PAGE


def tables(found: Reproduction) -> list[Table]:
    """All numbers of the page."""
    return [_results(found), _readings(found), _arities(found), _times(found)]


def _results(found: Reproduction) -> Table:
    rows = [
        (
            each.paper.title,
            row.kernel,
            row.means["auc"],
            row.deviations["auc"],
            row.paper,
            row.paper_deviation,
            row.difference,
            "yes" if row.far else "no",
            row.means["map@10"],
            row.means["ndcg@10"],
        )
        for each in found.sets
        for row in each.rows
    ]
    columns = {
        "data set": "",
        "kernel": "",
        "AUC": ".4f",
        "deviation": ".4f",
        "paper's AUC": ".4f",
        "paper's deviation": ".4f",
        "difference": "+.4f",
        "beyond two deviations": "",
        "mAP@10": ".4f",
        "nDCG@10": ".4f",
    }
    return Table("results", "Results beside the paper's.", columns, rows)


def _readings(found: Reproduction) -> Table:
    rows = [
        (
            each.paper.title,
            reading.title,
            row.kernel,
            reading.means[row.column],
            reading.deviations[row.column],
            row.paper,
            row.paper_deviation,
            reading.means[row.column] - row.paper,
        )
        for each in found.sets
        for reading in each.readings
        for row in each.rows
    ]
    columns = {
        "data set": "",
        "reading": "",
        "kernel": "",
        "AUC": ".4f",
        "deviation": ".4f",
        "paper's AUC": ".4f",
        "paper's deviation": ".4f",
        "difference": "+.4f",
    }
    return Table("readings", "Other readings of the protocol.", columns, rows)


def _arities(found: Reproduction) -> Table:
    rows: list[tuple[Any, ...]] = [
        (
            each.paper.title,
            curve.family,
            arity,
            curve.means[k] if curve.means else None,
            curve.deviations[k] if curve.means else None,
            curve.ratios[k],
        )
        for each in found.sets
        for curve in each.curves
        for k, arity in enumerate(curve.arities)
    ]
    rows += [
        (
            each.paper.title,
            "monotone_dnf",
            None,
            row.means["auc"],
            row.deviations["auc"],
            each.ratio,
        )
        for each in found.sets
        for row in each.rows
        if row.column == "monotone_dnf"
    ]
    columns = {
        "data set": "",
        "kernel": "",
        "arity": "d",
        "AUC": ".4f",
        "deviation": ".4f",
        "normalised spectral ratio": ".6f",
    }
    return Table("arities", "AUC and expressiveness against the arity.", columns, rows)


def _times(found: Reproduction) -> Table:
    rows = [
        (
            each.paper.title,
            each.items,
            each.users,
            each.paper.kernel("disjunctive"),
            each.timing.overlaps,
            each.timing.matrix,
            each.timing.rank,
        )
        for each in found.sets
    ]
    columns = {
        "data set": "",
        "items": "d",
        "users": "d",
        "kernel": "",
        "overlaps (s)": ".3f",
        "kernel matrix (s)": ".3f",
        "ranking a fold (s)": ".3f",
    }
    return Table("times", "Time for the disjunctive kernel.", columns, rows)


def _auc(each: SetResult) -> _Drawn:
    best = each.paper.figures["disjunctive"].auc
    figure = curves_figure(
        {curve.family: (curve.arities, curve.means) for curve in each.curves},
        x_label="arity",
        y_label=f"{each.paper.title}: AUC",
        dots={"paper’s best": (each.paper.arity, best)},
        y_range=None,
        size=_PANEL,
    )
    about = f"AUC against arity on {each.paper.title}"
    return _Drawn(f"auc-{each.paper.dataset}", each.paper.title, about, figure)


def _spectrum(each: SetResult) -> _Drawn:
    figure = curves_figure(
        {curve.family: (curve.arities, curve.ratios) for curve in each.curves},
        x_label="arity",
        y_label=f"{each.paper.title}: normalised spectral ratio",
        dots={"mDNF": (1, each.ratio)},
        size=_PANEL,
    )
    about = f"Normalised spectral ratio against arity on {each.paper.title}"
    return _Drawn(f"spectrum-{each.paper.dataset}", each.paper.title, about, figure)


def _time(found: Reproduction) -> _Drawn:
    bars = {
        f"{each.paper.title}\n{each.items:,} items": {
            "overlaps": each.timing.overlaps,
            "kernel values": each.timing.matrix,
            "ranking a fold": each.timing.rank,
        }
        for each in found.sets
    }
    figure = bars_figure(bars, x_label="seconds", size=(_PANEL[0], 0.9 + 0.45 * len(bars)))
    return _Drawn("time", "Time", "Seconds against data set", figure)


def _differences(found: Reproduction) -> list[dict[str, Any]]:
    """The figures that are far from the paper's, those of one reason together."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for each in found.sets:
        for row in each.rows:
            if row.far:
                groups.setdefault((each.paper.title, row.reason), []).append(row)
    return [{"title": t, "reason": reason, "rows": rows} for (t, reason), rows in groups.items()]


def _signed(value: float) -> str:
    """With a sign, unless it is 0 to four digits.

    >>> _signed(-0.01), _signed(-0.00001)
    ('−0.0100', '0.0000')
    """
    text = f"{value:+.4f}".replace("-", "−")
    return "0.0000" if text[1:] == "0.0000" else text
