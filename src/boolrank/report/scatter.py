"""Scatter plots with names beside the points, placed clear of each other and of the points."""

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

__all__ = ["Dots", "place_names", "scatter_figure"]

Floats = NDArray[np.float64]

# Places of a name around its point: directions, and distances in points (1/72 inch).
_SIDES = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
_FAR = (5.0, 11.0, 19.0, 29.0, 41.0, 55.0)
_LED = 11.0  # beyond this distance a line leads from the name to its point
_ROUNDS = 3
# Costs of covering a point or a line, and of a point of distance.
_ON_POINT, _ON_LINE, _PER_POINT = 200.0, 10.0, 1.5
# Up to this many powers of ten there is room for ticks between them.
_DECADES = 2.0
_PANEL = (4.5, 3.6)  # inches: higher than other figures, to make room for names


@dataclass(frozen=True)
class Dots:
    """Points of one thing, joined by a line; a strong one stands out."""

    x: Sequence[float]
    y: Sequence[float]
    strong: bool = False

    @property
    def colour(self) -> str:
        return SERIES[0] if self.strong else INK


def scatter_figure(
    dots: Mapping[str, Dots], *, x_label: str, y_label: str, log: bool = False
) -> Figure:
    """Draw points with names; ``log`` makes the x axis logarithmic."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    with canvas(_PANEL) as (figure, axes):
        for name, each in dots.items():
            look: dict[str, Any] = {"color": each.colour, "marker": "o", "linewidth": 0.8}
            look |= {"markersize": 7, "zorder": 4} if each.strong else {"markersize": 5}
            axes.plot(each.x, each.y, label=name, **look)
        if log:
            axes.set_xscale("log")
            ends = np.log10([value for each in dots.values() for value in each.x])
            subs = (1, 2, 5) if np.ptp(ends) < _DECADES else (1,)
            log_ticks = LogLocator(subs=subs, numticks=8)
            axes.xaxis.set_major_locator(MaxNLocator(5) if np.ptp(ends) < 0.7 else log_ticks)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.tick_params(which="minor", length=0)
        else:
            axes.locator_params(axis="x", nbins=5)
        axes.margins(0.14)
        axes.set_xlabel(x_label)
        axes.set_title(y_label, loc="left", fontsize=11, pad=10)
        axes.grid(linewidth=0.8)
        _write_names(figure, axes, dots)
    return figure


def place_names(points: Floats, sizes: Floats, taken: Floats, bounds: Floats) -> Floats:
    """Return for each name the offset of its centre from its point, in the least crowded place.

    Parameters
    ----------
    points : (p, 2) positions of the named points
    sizes : (p, 2) widths and heights of the names
    taken : (q, 3) positions to keep clear, and the cost of covering each
    bounds : left, bottom, right and top of the figure
    """
    sides = np.tile(np.array(_SIDES, np.float64), (len(_FAR), 1))
    far = np.repeat(_FAR, len(_SIDES))
    offsets = far[:, None] * sides + sides * sizes[:, None] / 2  # (p, places, 2)
    centres = points[:, None] + offsets
    boxes = np.concatenate([centres - sizes[:, None] / 2, centres + sizes[:, None] / 2], axis=2)
    left, bottom, right, top = np.moveaxis(boxes, -1, 0)
    outside = np.maximum(bounds[:2] - boxes[..., :2], 0) + np.maximum(
        boxes[..., 2:] - bounds[2:], 0
    )
    cost = _PER_POINT * far + 100.0 * outside.sum(axis=2)
    for x, y, weight in taken:
        cost += weight * ((left - 3 < x) & (x < right + 3) & (bottom - 3 < y) & (y < top + 3))
    chosen = cost.argmin(axis=1)
    everyone = np.arange(len(points))
    for _ in range(_ROUNDS):
        for k in everyone:
            others = boxes[everyone != k, chosen[everyone != k]]
            meets = _overlap(boxes[k][:, None], others[None]).sum(axis=1)
            chosen[k] = (cost[k] + 50.0 * meets).argmin()
    return np.asarray(offsets[everyone, chosen])


def _overlap(one: Floats, two: Floats) -> Floats:
    """Return the areas that boxes share, with a little room around them."""
    shared = np.minimum(one[..., 2:], two[..., 2:]) - np.maximum(one[..., :2], two[..., :2])
    return np.asarray(np.maximum(shared + np.array([3, 1]), 0).prod(axis=-1))


def _write_names(figure: Figure, axes: Axes, dots: Mapping[str, Dots]) -> None:
    """Write each name beside the first of its points."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer: Any = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    figure.draw_without_rendering()  # from here on, the axes stay where they are
    figure.set_layout_engine("none")
    to_points = 72 / figure.dpi

    def on_paper(values: Any) -> Floats:
        return np.asarray(axes.transData.transform(np.asarray(values)), np.float64) * to_points

    looks: list[dict[str, Any]] = [
        {
            "color": each.colour,
            "fontsize": 10,
            "fontweight": "bold" if each.strong else "normal",
            "ha": "center",
            "va": "center",
        }
        for each in dots.values()
    ]
    sizes = np.empty((len(dots), 2))
    for k, (name, look) in enumerate(zip(dots, looks, strict=True)):
        text = axes.text(0, 0, name, **look)
        box = text.get_window_extent(renderer)
        sizes[k] = box.width * to_points, box.height * to_points
        text.remove()
    first = on_paper([(each.x[0], each.y[0]) for each in dots.values()])
    taken = np.concatenate([_along(on_paper(np.column_stack([d.x, d.y]))) for d in dots.values()])
    frame = axes.get_window_extent(renderer)
    bounds = np.array([frame.x0, frame.y0, frame.x1, frame.y1]) * to_points + [2, 2, 6, 6]
    offsets = place_names(first, sizes, taken, bounds)
    leader = {"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
    for (name, each), look, offset, size in zip(dots.items(), looks, offsets, sizes, strict=True):
        far = (np.abs(offset) - size / 2).max() > _LED
        axes.annotate(
            name,
            (each.x[0], each.y[0]),
            xytext=tuple(offset),
            textcoords="offset points",
            arrowprops=leader if far else None,
            zorder=5,
            **look,
        )


def _along(points: Floats) -> Floats:
    """Return points and places on the lines between them, each with the cost of covering it."""
    steps = np.arange(0, len(points) - 1 + 1e-9, 1 / 8)
    costs = np.where(steps % 1 == 0, _ON_POINT, _ON_LINE)
    corners = np.arange(len(points))
    return np.column_stack([*(np.interp(steps, corners, axis) for axis in points.T), costs])
