"""Figures, as files and as elements of pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..studies.arity import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
# From a name to its point.
_LEADER = {"arrowstyle": "-", "color": _GRID, "relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 4}
_NAME = 24  # characters


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


def arity_plots(
    curves: Sequence[Curve],
    title: str = "",
    name: str = "",
    points: Sequence[Mapping[str, tuple[float, float]]] = ({}, {}),
) -> list[Plot]:
    """Return figures of AUC, if it was measured, and of the spectral ratio against the arity.

    ``title`` and ``name`` tell the figures of several data sets apart; ``points`` are single points
    to draw as rings, by label, for each of the two.
    """
    plots = []
    if all(curve.means for curve in curves):
        wide = any(np.nan_to_num(curve.deviations).any() for curve in curves)  # not of one fold
        label = f"{title}AUC{', ± standard deviation' if wide else ''}"
        figure = _curves_figure(curves, "means", label, points[0])
        plots.append(Plot(f"auc{name}", f"{title}AUC against arity", figure))
    label = f"{title}normalised spectral ratio"
    figure = _curves_figure(curves, "ratios", label, points[1])
    return [*plots, Plot(f"spectrum{name}", f"{label} against arity", figure)]


def _curves_figure(
    curves: Sequence[Curve],
    values: Literal["means", "ratios"],
    y_label: str,
    rings: Mapping[str, tuple[float, float]],
) -> Figure:
    """Draw curves on a logarithmic axis; means have a band of their deviations."""
    with _canvas("arity", y_label) as (figure, axes):
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        for colour, curve in zip(_SERIES, curves, strict=False):
            xs, ys = curve.arities, np.array(getattr(curve, values))
            axes.plot(xs, ys, color=colour, label=curve.family, zorder=3, **_LINE)
            if values == "means":
                off = np.nan_to_num(curve.deviations)
                axes.fill_between(xs, ys - off, ys + off, color=colour, alpha=0.15, linewidth=0)
        for colour, (label, (x, y)) in zip(_SERIES[2:], rings.items(), strict=False):
            axes.plot([x], [y], "o", color=colour, label=label, clip_on=False, zorder=4, **_RING)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(2, (1,), numticks=8))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(visible=False, axis="x")
        if values == "ratios":
            axes.set_ylim(0, 1.04)
        figure.legend(loc="outside upper left", ncols=3, labelcolor="linecolor")
    return figure


def scatter_figure(dots: Mapping[str, Dots], x_label: str, y_label: str) -> Figure:
    """Draw points, with their names in a column beside them in the order of the first values."""
    with _canvas(x_label, y_label, 4.0) as (figure, axes):
        for name, (xs, ys, strong) in dots.items():
            colour, size = (_SERIES[0], 7) if strong else (_INK, 5)
            axes.plot(xs, ys, label=name, color=colour, marker="o", markersize=size, linewidth=0.8)
        axes.locator_params(axis="x", nbins=4)
        order = sorted(dots, key=lambda name: dots[name].y[0])
        for height, name in zip(np.linspace(0.03, 0.97, len(order)), order, strict=True):
            (x, *_), (y, *_), strong = dots[name]
            axes.annotate(
                name if len(name) <= _NAME else f"{name[: _NAME - 1]}…",
                (x, y),
                xytext=(1.05, height),
                textcoords="axes fraction",
                va="center",
                color=_SERIES[0] if strong else _INK,
                fontsize=10,
                fontweight="bold" if strong else "normal",
                arrowprops=_LEADER,
                zorder=1,  # below the points
            )
    return figure


@contextmanager
def _canvas(x_label: str, y_label: str, height: float = _PANEL[1]) -> Iterator[tuple[Figure, Axes]]:
    """Yield an empty figure in the house style."""
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
