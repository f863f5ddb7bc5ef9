"""Figures, drawn once and kept as PNG (for slides) and as SVG (for the page).

The SVG of the page is drawn in marker colours that are then replaced by CSS variables of the page,
so that the figure follows the page from light to dark.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from .._extras import needs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

__all__ = ["bars_figure", "curves_figure", "to_png", "to_svg", "to_svg_file"]

# The colours of the PNG, and what stands for each in the page. Distinct from one another, or the
# replacement could not tell them apart.
INK, GRID, PAPER = "#1f2430", "#d9dce3", "#ffffff"
SERIES = ("#2563eb", "#d9480f", "#0f9d6b", "#8b3fc7")
VARIABLES = {INK: "var(--ink)", GRID: "var(--line)"} | {
    colour: f"var(--series-{i})" for i, colour in enumerate(SERIES, start=1)
}

# Any: matplotlib types the keys as a list of literals that differs by version.
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": GRID,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "grid.color": GRID,
    "svg.fonttype": "none",  # text stays text: small, selectable, in the font of the page
    "svg.hashsalt": "boolrank",  # the same figure gives the same bytes
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def curves_figure(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    x_label: str,
    y_label: str,
    dots: Mapping[str, tuple[float, float]] | None = None,
    y_range: tuple[float, float] | None = (0, 1.12),
    size: tuple[float, float] = (7.2, 3.8),
) -> Figure:
    """One line a series over a logarithmic axis, each named at its end.

    ``series`` maps a label to its x and y values; ``dots`` a label to a single point, drawn as a
    ring, and then a legend has the names. Without a ``y_range`` the values say what is shown.
    """
    with needs("report", "The report"):
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
        from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    # Figure without pyplot: nothing global is opened, and nothing has to be closed.
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(rect=(0.02, 0.02, 0.96, 0.96)))
        axes = figure.add_subplot()
        for colour, (label, (xs, ys)) in zip(SERIES, series.items(), strict=False):
            axes.plot(
                xs,
                ys,
                color=colour,
                linewidth=2,
                marker="o",
                markersize=4,
                clip_on=False,
                zorder=3,
                label=label,
            )
            if dots is None:
                axes.annotate(
                    label,
                    (xs[-1], ys[-1]),
                    xytext=(-2, 9),
                    textcoords="offset points",
                    color=colour,
                    ha="right",
                    weight="bold",
                )
        for colour, (label, (x, y)) in zip(SERIES[2:], (dots or {}).items(), strict=False):
            axes.plot(
                [x],
                [y],
                color=colour,
                linestyle="none",
                marker="o",
                markersize=9,
                fillstyle="none",
                markeredgewidth=2,
                clip_on=False,
                zorder=4,
                label=label,
            )
        largest = max(max(xs) for xs, _ in series.values())
        axes.set_xscale("log", base=2)
        powers = [2**i for i in range(int(largest).bit_length())]
        axes.xaxis.set_major_locator(FixedLocator(powers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        if y_range is None:
            axes.margins(y=0.14)
        else:
            axes.set_ylim(*y_range)
            axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.set_xlabel(x_label)
        # Above the axis, not along it: there it keeps its place when a phone makes the text larger.
        axes.set_title(y_label, loc="left", fontsize=10, pad=10 if dots is None else 26)
        if dots is not None:
            axes.legend(
                loc="lower left",
                bbox_to_anchor=(-0.03, 1.0),
                ncols=3,
                frameon=False,
                handlelength=1.2,
                columnspacing=1.2,
                labelcolor="linecolor",
            )
        axes.grid(axis="y", linewidth=0.8)
        axes.tick_params(length=0)
    return figure


def bars_figure(
    bars: Mapping[str, Mapping[str, float]],
    *,
    x_label: str,
    size: tuple[float, float] = (7.2, 3.0),
) -> Figure:
    """A bar for each name, of parts one after the other, with the sum at its end.

    ``bars`` maps a name to its parts, all with the same labels.
    """
    with needs("report", "The report"):
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(rect=(0.02, 0.02, 0.94, 0.96)))
        axes = figure.add_subplot()
        names = list(bars)[::-1]  # the first on top
        ends = [0.0] * len(names)
        for colour, label in zip(SERIES, next(iter(bars.values())), strict=False):
            widths = [bars[name][label] for name in names]
            axes.barh(names, widths, left=ends, color=colour, height=0.6, label=label, zorder=3)
            ends = [end + width for end, width in zip(ends, widths, strict=True)]
        for name, end in zip(names, ends, strict=True):
            axes.annotate(
                f"{end:.2f}", (end, name), xytext=(5, 0), textcoords="offset points", va="center"
            )
        axes.margins(x=0.1)
        axes.set_xlabel(x_label)
        axes.grid(axis="x", linewidth=0.8)
        axes.tick_params(length=0)
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.03, 1.0),
            ncols=3,
            frameon=False,
            handlelength=1,
            columnspacing=1.2,
        )
    return figure


def to_png(figure: Figure, *, dpi: int = 160) -> bytes:
    """The figure as a PNG on white paper."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()


def to_svg_file(figure: Figure) -> str:
    """The figure as a file of its own, on white paper."""
    return _svg(figure, facecolor=PAPER)


def to_svg(figure: Figure, prefix: str = "") -> str:
    """The figure as an ``<svg>`` element to stand inside a page, in the colours of the page.

    A ``prefix`` keeps its ids apart from those of other figures of the page.
    """
    svg = _svg(figure, transparent=True)
    svg = svg[svg.index("<svg") :]
    # Inside HTML an <svg> needs neither name spaces nor the RDF that says what it is.
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)  # the page says how wide
    if prefix:
        svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg


def _svg(figure: Figure, **options: Any) -> str:
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        # Without the date: the same figure gives the same bytes.
        figure.savefig(buffer, format="svg", metadata={"Date": None}, **options)
    return buffer.getvalue()
