"""Figures, as files and as elements of pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._extras import needs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..studies.arity import Curve

# All distinct: a page finds them by their text.
_INK, _GRID = "#1f2430", "#d9dce3"
_SERIES = ("#2563eb", "#d9480f", "#0f9d6b", "#8b3fc7")
_VARIABLES = {_INK: "var(--ink)", _GRID: "var(--line)"} | {
    colour: f"var(--series-{k})" for k, colour in enumerate(_SERIES, start=1)
}
# Inches: two figures side by side on a page, or one on a phone, have readable text.
_PANEL = (5.0, 3.4)

# Any: matplotlib types the keys as a list of literals that differs by version.
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": _GRID,
    "axes.facecolor": "none",
    "axes.labelcolor": _INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "font.size": 11,
    "grid.color": _GRID,
    "legend.frameon": False,
    "legend.handlelength": 1.2,
    "svg.fonttype": "none",  # text stays text: small, selectable, in the font of the page
    "svg.hashsalt": "boolrank",  # the same figure gives the same bytes
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
} | {f"{axis}tick.{kind}.size": 0 for axis in "xy" for kind in ("major", "minor")}
_LINE: dict[str, Any] = {"linewidth": 2, "marker": "o", "markersize": 4, "clip_on": False}
_RING: dict[str, Any] = {"markersize": 9, "fillstyle": "none", "markeredgewidth": 2}
# Places of a name around its point, nearest first: distances in points (1/72 inch), and sides.
_FAR = (5.0, 11.0, 19.0, 29.0, 41.0, 55.0)
_SIDES = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
_LEADER = {"arrowstyle": "-", "color": _INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}


class Plot(NamedTuple):
    """A figure with its file name and a description."""

    name: str
    about: str
    figure: Figure

    def file(self, kind: Literal["png", "svg"], background: str = "white") -> bytes:
        """Return the content of a file; the same figure gives the same bytes."""
        import matplotlib as mpl

        buffer = io.BytesIO()
        stamp = {{"png": "Software", "svg": "Date"}[kind]: None}
        with mpl.rc_context(_STYLE):
            self.figure.savefig(buffer, format=kind, dpi=160, facecolor=background, metadata=stamp)
        return buffer.getvalue()

    def element(self) -> str:
        """Return an ``<svg>`` for a page, in its colours for light and dark, with tooltips."""
        svg = self.file("svg", "none").decode()
        svg = svg[svg.index("<svg") :]
        # Inside HTML an <svg> needs neither namespaces nor metadata, and the page sets its width.
        svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
        svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
        svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)
        # The ids of the figures of a page must differ.
        svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", svg)
        for colour, variable in _VARIABLES.items():
            svg = svg.replace(colour, variable)
        at = svg.rindex("</svg>")
        return f"{svg[:at]}{''.join(_tips(self.figure))}{svg[at:]}"


class Dots(NamedTuple):
    """Points of one thing, joined by a line; a strong one stands out."""

    x: Sequence[float]
    y: Sequence[float]
    strong: bool = False


def curves_figure(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    y_label: str,
    *,
    spread: Mapping[str, ArrayLike] | None = None,
    dots: Mapping[str, tuple[float, float]] | None = None,
    top: float | None = None,
) -> Figure:
    """Draw lines over the arity, on a logarithmic axis.

    Parameters
    ----------
    series : arities and values by label
    spread : half widths of the bands around the lines, by label
    dots : single points by label, drawn as rings
    top : the end of the y axis, which then starts at 0
    """
    with _canvas("arity", y_label) as (figure, axes):
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        for colour, (label, (xs, ys)) in zip(_SERIES, series.items(), strict=False):
            axes.plot(xs, ys, color=colour, label=label, zorder=3, **_LINE)
            if spread is not None:
                middle, off = np.asarray(ys), np.asarray(spread[label])
                band: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0}
                axes.fill_between(xs, middle - off, middle + off, **band)
        for colour, (label, (x, y)) in zip(_SERIES[2:], (dots or {}).items(), strict=False):
            axes.plot([x], [y], "o", color=colour, label=label, clip_on=False, zorder=4, **_RING)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(2, (1,), numticks=8))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(visible=False, axis="x")
        if top is not None:
            axes.set_ylim(0, top)
        figure.legend(loc="outside upper left", ncols=3, labelcolor="linecolor")
    return figure


def arity_plots(
    curves: Sequence[Curve],
    title: str = "",
    name: str = "",
    points: Sequence[Mapping[str, tuple[float, float]]] = ({}, {}),
) -> list[Plot]:
    """Return figures of AUC, if it was measured, and of the spectral ratio against the arity.

    ``title`` and ``name`` tell the figures of several data sets apart; ``points`` are single points
    to draw, by label, for each of the two.
    """
    plots = []
    if all(curve.means for curve in curves):
        spread = {curve.family: np.nan_to_num(curve.deviations) for curve in curves}
        wide = any(each.any() for each in spread.values())  # of one fold there is none
        figure = curves_figure(
            {curve.family: (curve.arities, curve.means) for curve in curves},
            f"{title}AUC{', ± standard deviation' if wide else ''}",
            spread=spread,
            dots=points[0],
        )
        plots.append(Plot(f"auc{name}", f"{title}AUC against arity", figure))
    ratios = {curve.family: (curve.arities, curve.ratios) for curve in curves}
    y_label = f"{title}normalised spectral ratio"
    figure = curves_figure(ratios, y_label, dots=points[1], top=1.04)
    return [*plots, Plot(f"spectrum{name}", f"{y_label} against arity", figure)]


def scatter_figure(dots: Mapping[str, Dots], x_label: str, y_label: str) -> Figure:
    """Draw points with names beside them."""
    with _canvas(x_label, y_label, 4.0) as (figure, axes):
        for name, (xs, ys, strong) in dots.items():
            colour, size = (_SERIES[0], 7) if strong else (_INK, 5)
            axes.plot(xs, ys, label=name, color=colour, marker="o", markersize=size, linewidth=0.8)
        axes.margins(0.14)
        axes.locator_params(axis="x", nbins=5)
        _write_names(figure, axes, dots)
    return figure


def _write_names(figure: Figure, axes: Axes, dots: Mapping[str, Dots]) -> None:
    """Write each name beside the first of its points, clear of points and of other names.

    A name that has no room is left to the tooltip.
    """
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # from here on, the axes stay where they are
    figure.set_layout_engine("none")
    points = [point for each in dots.values() for point in zip(each.x, each.y, strict=True)]
    places = axes.transData.transform(points)
    room = 4 * figure.dpi / 72  # points have a radius of 3.5
    taken = [Bbox.from_extents(*(place - room), *(place + room)) for place in places]
    for name, (xs, ys, strong) in dots.items():
        for far, (right, up) in product(_FAR, _SIDES):
            text = axes.annotate(
                name,
                (xs[0], ys[0]),
                xytext=(right * far, up * far),
                textcoords="offset points",
                ha=("center", "left", "right")[right],
                va=("center", "bottom", "top")[up],
                color=_SERIES[0] if strong else _INK,
                fontsize=10,
                fontweight="bold" if strong else "normal",
                arrowprops=_LEADER if far > _FAR[1] else None,
            )
            text.get_window_extent()  # places it
            box = Text.get_window_extent(text)  # without the leader
            inside = axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max)
            if inside and not box.count_overlaps(taken):
                taken.append(box)
                break
            text.remove()


@contextmanager
def _canvas(x_label: str, y_label: str, height: float = _PANEL[1]) -> Iterator[tuple[Figure, Axes]]:
    """Yield an empty figure in the house style."""
    with needs("report", "The page"):
        import matplotlib as mpl
        from matplotlib.figure import Figure

    # Figure, not pyplot, which keeps global state.
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_PANEL[0], height), layout="constrained")
        axes = figure.add_subplot()
        axes.set_xlabel(x_label)
        axes.set_title(y_label)  # above the axis, where it takes no width from a narrow figure
        axes.grid()
        yield figure, axes


def _tips(figure: Figure) -> Iterator[str]:
    """Yield an invisible disc over every point, whose title browsers show on hovering."""
    to_points = 72 / figure.dpi
    height = 72 * figure.get_figheight()
    for axes in figure.axes:
        for line in axes.lines:
            data = np.column_stack(line.get_data())
            for (x, y), (left, up) in zip(data, axes.transData.transform(data), strict=True):
                text = escape(f"{axes.get_xlabel()} {x:,.6g}: {line.get_label()} {y:,.4g}")
                yield (
                    f'<circle class="point" cx="{left * to_points:.2f}" '
                    f'cy="{height - up * to_points:.2f}" r="7"><title>{text}</title></circle>\n'
                )
