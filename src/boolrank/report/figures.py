"""Figures, as PNG for slides and as SVG for pages.

A page replaces the colours of its SVGs by CSS variables, so that figures follow it from light to
dark, and adds tooltips to the points.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._extras import needs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "SERIES",
    "Drawn",
    "bars_figure",
    "canvas",
    "curves_figure",
    "tail_figure",
    "to_png",
    "to_svg",
    "to_svg_file",
]

# All distinct: a page finds them by their text.
INK, GRID, PAPER = "#1f2430", "#d9dce3", "#ffffff"
SERIES = ("#2563eb", "#d9480f", "#0f9d6b", "#8b3fc7")
_VARIABLES = {INK: "var(--ink)", GRID: "var(--line)"} | {
    colour: f"var(--series-{k})" for k, colour in enumerate(SERIES, start=1)
}
# Inches: two figures side by side on a page, or one on a phone, have readable text.
PANEL = (5.0, 3.4)
_MAX_RANKS = 60  # points of a tail

# Any: matplotlib types the keys as a list of literals that differs by version.
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 11,
    "grid.color": GRID,
    "svg.fonttype": "none",  # text stays text: small, selectable, in the font of the page
    "svg.hashsalt": "boolrank",  # the same figure gives the same bytes
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
_LINE: dict[str, Any] = {"linewidth": 2, "marker": "o", "markersize": 4, "clip_on": False}
_LEGEND: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (-0.03, 1.0),
    "ncols": 3,
    "frameon": False,
    "handlelength": 1.2,
    "columnspacing": 1.2,
}
_RING: dict[str, Any] = {
    "linestyle": "none",
    "marker": "o",
    "markersize": 9,
    "fillstyle": "none",
    "markeredgewidth": 2,
    "clip_on": False,
}


@dataclass(frozen=True)
class Drawn:
    """A figure with its file name and a description."""

    name: str
    about: str
    figure: Figure

    @property
    def svg(self) -> str:
        """The figure as an element of a page."""
        return to_svg(self.figure, self.name)


def curves_figure(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x_label: str,
    y_label: str,
    spread: Mapping[str, Sequence[float]] | None = None,
    dots: Mapping[str, tuple[float, float]] | None = None,
    y_range: tuple[float, float] | None = (0, 1.04),
) -> Figure:
    """Draw lines over a logarithmic axis.

    Parameters
    ----------
    series : x and y values by label
    spread : half widths of the bands around the lines, by label
    dots : single points by label, drawn as rings
    y_range : shown; as the values have it if None
    """
    with canvas() as (figure, axes):
        for colour, (label, (xs, ys)) in zip(SERIES, series.items(), strict=False):
            axes.plot(xs, ys, color=colour, label=label, zorder=3, **_LINE)
            if spread is not None:
                off = np.asarray(spread[label])
                low, high = np.asarray(ys) - off, np.asarray(ys) + off
                axes.fill_between(xs, low, high, color=colour, alpha=0.15, linewidth=0)
        for colour, (label, (x, y)) in zip(SERIES[2:], (dots or {}).items(), strict=False):
            axes.plot([x], [y], color=colour, label=label, zorder=4, **_RING)
        _use_powers_of_two(axes, max(max(xs) for xs, _ in series.values()))
        if y_range is None:
            axes.margins(y=0.14)
        else:
            axes.set_ylim(*y_range)
            axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.set_xlabel(x_label)
        # Above the axis, where it takes no width from a narrow figure.
        axes.set_title(y_label, loc="left", fontsize=11, pad=28)
        axes.legend(labelcolor="linecolor", **_LEGEND)
        axes.grid(axis="y", linewidth=0.8)
    return figure


def tail_figure(
    counts: NDArray[np.int64], *, label: str, x_label: str, y_label: str, colour: int = 0
) -> Figure:
    """Draw positive counts against their rank, largest first, on logarithmic axes."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    values = np.sort(counts[counts > 0])[::-1]
    ranks = np.unique(np.geomspace(1, len(values), _MAX_RANKS).round().astype(int))
    with canvas() as (figure, axes):
        axes.plot(ranks, values[ranks - 1], color=SERIES[colour], label=label, zorder=3, **_LINE)
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.set_xlabel(x_label)
        axes.set_title(y_label, loc="left", fontsize=11, pad=10)
        axes.grid(linewidth=0.8)
        axes.tick_params(which="minor", length=0)
    return figure


def bars_figure(bars: Mapping[str, Mapping[str, float]], *, x_label: str) -> Figure:
    """Draw a stacked bar for each name, with the sum at its end; all have the same parts."""
    with canvas((PANEL[0], 0.9 + 0.45 * len(bars))) as (figure, axes):
        names = list(bars)[::-1]  # matplotlib counts from below
        ends = np.zeros(len(names))
        for colour, label in zip(SERIES, next(iter(bars.values())), strict=False):
            widths = np.array([bars[name][label] for name in names])
            axes.barh(names, widths, left=ends, color=colour, height=0.6, label=label, zorder=3)
            ends += widths
        for name, end in zip(names, ends.tolist(), strict=True):
            axes.annotate(
                f"{end:.2f}", (end, name), xytext=(5, 0), textcoords="offset points", va="center"
            )
        axes.margins(x=0.1)
        axes.set_xlabel(x_label)
        axes.grid(axis="x", linewidth=0.8)
        # Above the whole figure: the names may take half of its width.
        figure.legend(loc="outside upper left", ncols=3, frameon=False, handlelength=1)
    return figure


@contextmanager
def canvas(size: tuple[float, float] = PANEL) -> Iterator[tuple[Figure, Axes]]:
    """Yield an empty figure in the house style."""
    with needs("report", "The page"):
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Figure, not pyplot, which keeps global state.
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(rect=(0.02, 0.02, 0.95, 0.96)))
        axes = figure.add_subplot()
        yield figure, axes
        axes.tick_params(length=0)


def _use_powers_of_two(axes: Axes, largest: float) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator([2**k for k in range(int(largest).bit_length())]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())


def to_png(figure: Figure) -> bytes:
    """Return the figure as a PNG file, on white."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=160, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()


def to_svg_file(figure: Figure) -> str:
    """Return the figure as an SVG file, on white."""
    return _svg(figure, facecolor=PAPER)


def to_svg(figure: Figure, prefix: str) -> str:
    """Return the figure as an ``<svg>`` element of a page, in its colours.

    ``prefix`` keeps the ids apart from those of other figures.
    """
    svg = _svg(figure, transparent=True)
    svg = svg[svg.index("<svg") :]
    # Inside HTML an <svg> needs neither namespaces nor metadata, and the page sets its width.
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    at = svg.rindex("</svg>")
    return f"{svg[:at]}{''.join(_tips(figure))}{svg[at:]}"


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


def _svg(figure: Figure, **options: Any) -> str:
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        # No date: the same figure gives the same bytes.
        figure.savefig(buffer, format="svg", metadata={"Date": None}, **options)
    return buffer.getvalue()
