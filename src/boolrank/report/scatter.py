"""Points with their names beside them, placed so that no name lies on another or on a point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .figures import INK, SERIES, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Dots", "placed", "scatter_figure"]

Floats = NDArray[np.float64]

# Where a name may stand, seen from its point, and how far off, in points of print.
_SIDES = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
_FAR = (5.0, 11.0, 19.0, 29.0, 41.0, 55.0)
# From so far on a line leads from the name to its point.
_LED = 11.0
_ROUNDS = 3
# How bad it is to lie on something, where a point of print further off is 1.5.
_ON_POINT, _ON_LINE = 200.0, 10.0
_SIZE = 10  # of the names
# Over more powers of ten than these there is room for their names alone.
_DECADES = 2.0
# Inches: somewhat higher than other figures, so that names have room.
_PANEL = (4.5, 3.6)


@dataclass(frozen=True)
class Dots:
    """One or more points of the same thing, joined by a line.

    Attributes
    ----------
    x, y : where
    strong : whether it stands out
    """

    x: Sequence[float]
    y: Sequence[float]
    strong: bool = False


def scatter_figure(
    dots: Mapping[str, Dots],
    *,
    x_label: str,
    y_label: str,
    log: bool = False,
) -> Figure:
    """Points by name; with ``log``, over a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    with canvas(_PANEL) as (figure, axes):
        for name, each in dots.items():
            axes.plot(each.x, each.y, label=name, **_look(each))
        if log:
            axes.set_xscale("log")
            ends = np.log10([value for each in dots.values() for value in each.x])
            subs = (1, 2, 5) if np.ptp(ends) < _DECADES else (1,)
            axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=8))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.tick_params(which="minor", length=0)
        else:
            axes.locator_params(axis="x", nbins=5)
        axes.margins(0.14)
        axes.set_xlabel(x_label)
        axes.set_title(y_label, loc="left", fontsize=11, pad=10)
        axes.grid(linewidth=0.8)
        _name(figure, axes, dots)
    return figure


def placed(points: Floats, sizes: Floats, taken: Floats, bounds: Floats) -> NDArray[np.int64]:
    """For each of p names one of the places around its point, with the least in the way.

    Parameters
    ----------
    points : (p, 2) where the named points are
    sizes : (p, 2) how wide and high the names are
    taken : (q, 3) points that no name should lie on, and how bad it would be
    bounds : left, bottom, right and top, which no name should pass
    """
    boxes = np.stack([_boxes(point, size) for point, size in zip(points, sizes, strict=True)])
    left, bottom, right, top = np.moveaxis(boxes, -1, 0)
    outside = (
        np.maximum(bounds[0] - left, 0)
        + np.maximum(bounds[1] - bottom, 0)
        + np.maximum(right - bounds[2], 0)
        + np.maximum(top - bounds[3], 0)
    )
    near = np.tile(np.repeat(_FAR, len(_SIDES)), (len(points), 1))
    cost = 1.5 * near + 100.0 * outside
    for x, y, weight in taken:
        cost += weight * ((left - 3 < x) & (x < right + 3) & (bottom - 3 < y) & (y < top + 3))
    chosen: NDArray[np.int64] = cost.argmin(axis=1)
    everyone = np.arange(len(points))
    for _ in range(_ROUNDS):
        for k in everyone:
            others = boxes[everyone != k, chosen[everyone != k]]
            meets = _overlap(boxes[k][:, None], others[None]).sum(axis=1)
            chosen[k] = int((cost[k] + 50.0 * meets).argmin())
    return chosen


def _name(figure: Figure, axes: Axes, dots: Mapping[str, Dots]) -> None:
    """Write each name beside the first of its points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer: Any = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw_without_rendering()  # from here on, axes stay where they are
    figure.set_layout_engine("none")
    to_points = 72 / figure.dpi

    def on_paper(values: Any) -> Floats:
        return np.asarray(axes.transData.transform(np.asarray(values)), np.float64) * to_points

    first = on_paper([(each.x[0], each.y[0]) for each in dots.values()])
    every = np.concatenate([_along(on_paper(np.column_stack([d.x, d.y]))) for d in dots.values()])
    texts = [axes.text(0, 0, name, **_letters(each)) for name, each in dots.items()]
    extents = [text.get_window_extent(renderer) for text in texts]
    for text in texts:
        text.remove()
    sizes = np.array([(box.width, box.height) for box in extents]) * to_points
    frame = axes.get_window_extent(renderer)
    bounds = np.array([frame.x0, frame.y0, frame.x1, frame.y1]) * to_points + [2, 2, 6, 6]
    chosen = placed(first, sizes, every, bounds)
    for (name, each), place in zip(dots.items(), chosen, strict=True):
        far, (x, y) = _FAR[place // len(_SIDES)], _SIDES[place % len(_SIDES)]
        led = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
        axes.annotate(
            name,
            (each.x[0], each.y[0]),
            xytext=(far * x, far * y),
            textcoords="offset points",
            ha=("center", "left", "right")[x],
            va=("center", "bottom", "top")[y],
            **_letters(each),
            arrowprops=led if far > _LED else None,
            zorder=5,
        )


def _along(points: Floats) -> Floats:
    """Points, which no name may hide, and some on the lines between them, which are less bad."""
    steps = np.arange(0, len(points) - 1 + 1e-9, 1 / 8)
    whole = np.arange(len(points))
    weights = np.where(steps % 1 == 0, _ON_POINT, _ON_LINE)
    return np.column_stack([*(np.interp(steps, whole, axis) for axis in points.T), weights])


def _boxes(point: Floats, size: Floats) -> Floats:
    """(places, 4) where a name would stand at each of its places."""
    sides = np.array(_SIDES, np.float64)
    centre = np.concatenate([point + far * sides + sides * size / 2 for far in _FAR])
    return np.hstack([centre - size / 2, centre + size / 2])


def _overlap(one: Floats, two: Floats) -> Floats:
    """Area that boxes have in common, with a little room around them."""
    width = np.minimum(one[..., 2], two[..., 2]) - np.maximum(one[..., 0], two[..., 0]) + 3
    height = np.minimum(one[..., 3], two[..., 3]) - np.maximum(one[..., 1], two[..., 1]) + 1
    return np.asarray(np.maximum(width, 0) * np.maximum(height, 0))


def _colour(dots: Dots) -> str:
    return SERIES[0] if dots.strong else INK


def _letters(dots: Dots) -> dict[str, Any]:
    weight = "bold" if dots.strong else "normal"
    return {"fontsize": _SIZE, "fontweight": weight, "color": _colour(dots)}


def _look(dots: Dots) -> dict[str, Any]:
    return {
        "color": _colour(dots),
        "linewidth": 0.8,
        "marker": "o",
        "markersize": 7 if dots.strong else 5,
        "zorder": 4 if dots.strong else 3,
    }
