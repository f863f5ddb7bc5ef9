"""Line figures, drawn once and kept as PNG (for slides) and as SVG (for the page).

The SVG is drawn in marker colours that are then replaced by CSS variables of the page, so that the
figure follows the page from light to dark.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

from .._extras import needs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

__all__ = ["curves_figure", "to_png", "to_svg"]

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
) -> Figure:
    """One line a series over a logarithmic axis, each named at its end; values in [0, 1].

    ``series`` maps a label to its x and y values.
    """
    with needs("report", "The report"):
        import matplotlib as mpl
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
        from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    # Figure without pyplot: nothing global is opened, and nothing has to be closed.
    with mpl.rc_context(_STYLE):
        figure = Figure(
            figsize=(7.2, 3.8), layout=ConstrainedLayoutEngine(rect=(0.02, 0.02, 0.96, 0.96))
        )
        axes = figure.add_subplot()
        for colour, (label, (xs, ys)) in zip(SERIES, series.items(), strict=False):
            axes.plot(
                xs, ys, color=colour, linewidth=2, marker="o", markersize=4, clip_on=False, zorder=3
            )
            axes.annotate(
                label,
                (xs[-1], ys[-1]),
                xytext=(-2, 9),
                textcoords="offset points",
                color=colour,
                ha="right",
                weight="bold",
            )
        largest = max(max(xs) for xs, _ in series.values())
        axes.set_xscale("log", base=2)
        powers = [2**i for i in range(int(largest).bit_length())]
        axes.xaxis.set_major_locator(FixedLocator(powers))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_ylim(0, 1.12)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.set_xlabel(x_label)
        # Above the axis, not along it: there it keeps its place when a phone makes the text larger.
        axes.set_title(y_label, loc="left", fontsize=10, pad=10)
        axes.grid(axis="y", linewidth=0.8)
        axes.tick_params(length=0)
    return figure


def to_png(figure: Figure, *, dpi: int = 160) -> bytes:
    """The figure as a PNG on white paper."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as an ``<svg>`` element to stand inside a page, in the colours of the page."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", transparent=True)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    # Inside HTML an <svg> needs neither name spaces nor the RDF that says what it is.
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'\s(width|height)="[\d.]+pt"', "", svg, count=2)  # the page says how wide
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, variable)
    return svg
