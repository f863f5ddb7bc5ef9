"""The demonstration: made-up data with a known right answer, and what boolrank makes of it.

``run_demo`` draws the data, works out the numbers and writes one page and one picture. The same
seed writes the same page.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._extras import needs
from .._version import __version__
from ..report.figures import curves_figure, to_png, to_svg
from ..report.page import render_page
from .findings import (
    Curve,
    Facts,
    Neighbourhood,
    Quality,
    arity_curves,
    facts,
    neighbourhoods,
    qualities,
    spectral_ratios,
)
from .people import Hits, Person, fit_rankers, hits, people
from .tastes import plant_tastes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NEXT", "Demo", "run_demo"]

# What to try next with a file of one's own, and what it is for. The tests run these.
NEXT = (
    ("boolrank fit events.csv --out model", "a row per event, with columns user and item"),
    ("boolrank recommend model --n 5", "the best items of everybody"),
    ("boolrank recommend model --users ann,bob", "of ann and of bob"),
    ("boolrank explain model ann tea", "which of ann's items speak for tea"),
    ("boolrank similar model tea", "the items nearest to tea"),
    ("boolrank fit events.csv --kernel linear --out model-2", "another kernel, to compare"),
)


@dataclass(frozen=True)
class Demo:
    """What the demonstration found, and the page that shows it."""

    facts: Facts
    ratios: list[tuple[str, float]]
    curves: list[Curve]
    qualities: list[Quality]
    neighbourhoods: list[Neighbourhood]
    people: list[Person]
    hits: list[Hits]
    page: Path


def run_demo(
    out: str | Path,
    *,
    seed: int = 0,
    n_users: int = 600,
    progress: Callable[[str], None] = lambda _: None,
) -> Demo:
    """Run the demonstration and write ``report.html`` and ``spectral-ratio.png`` into ``out``.

    ``progress`` is told the name of each step when it begins. The folder is made where it does not
    exist.
    """
    with needs("report", "The demonstration"):  # said before the work, not after it
        import jinja2  # noqa: F401
        import matplotlib as mpl  # noqa: F401

    progress("drawing viewers with planted tastes")
    data = plant_tastes(np.random.default_rng(seed), n_users=n_users)
    found = facts(data)
    progress("measuring how expressive each kernel is")
    ratios = spectral_ratios(data)
    progress("turning the arity")
    curves = arity_curves(data)
    progress("looking for similar items")
    quality = qualities(data)
    near = neighbourhoods(data)
    progress("recommending films to viewers (the first run on a machine compiles for a while)")
    rankers = fit_rankers(data)
    persons = people(data, rankers)
    met = hits(data, rankers)

    progress("writing the page")
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    series = {curve.label: (curve.arities, curve.ratios) for curve in curves}
    figure = curves_figure(series, x_label="arity", y_label="normalised spectral ratio")
    (out / "spectral-ratio.png").write_bytes(to_png(figure))
    page = out / "report.html"
    page.write_text(
        render_page(
            "demo.html",
            version=__version__,
            seed=seed,
            facts=asdict(found),
            ratios=ratios,
            curves=[asdict(curve) for curve in curves],
            figure=to_svg(figure),
            qualities=[asdict(each) for each in quality],
            neighbourhoods=[asdict(each) for each in near],
            people=[asdict(each) for each in persons],
            hits=[asdict(each) for each in met],
            next_steps=NEXT,
        ),
        encoding="utf-8",
    )
    return Demo(found, ratios, curves, quality, near, persons, met, page)
