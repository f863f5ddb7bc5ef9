"""The demonstration: made-up data with a known right answer, and what boolrank makes of it.

``run_demo`` draws the data, works out the numbers and writes one page and one picture. The same
seed gives the same numbers, but for time and memory.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..report.figures import to_png
from ..report.page import check_report, render_page
from ..studies.cache import write_text
from .page import demo_page
from .results import Findings, fit_models, hits, measure, people, spectral_ratios
from .tastes import plant_tastes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..report.page import Page

__all__ = ["NEXT", "Demo", "run_demo"]

# What to try next with a file of one's own, and what it is for. The tests run these.
NEXT = {
    "boolrank fit events.csv --out model": "a row per event, with columns user and item",
    "boolrank recommend model --n 5": "the best items of everybody",
    "boolrank recommend model --users ann,bob": "of ann and of bob",
    "boolrank explain model ann tea": "which of ann's items speak for tea",
    "boolrank similar model tea": "the items nearest to tea",
    "boolrank evaluate events.csv --order random --kernel linear --kernel 'disjunctive(8)'": (
        "which kernel ranks better; with a column time, leave out --order random"
    ),
    "boolrank spectrum events.csv --kernel disjunctive --arities 1:8": "how expressive, by arity",
}


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demonstration found; if it has a page, what that says of it, and where it is."""

    found: Findings
    page: Page | None
    path: Path | None


def run_demo(
    out: str | Path | None,
    *,
    seed: int = 0,
    n_users: int = 600,
    progress: Callable[[str], None] = lambda _: None,
) -> Demo:
    """Run the demonstration and write ``report.html`` and ``spectral-ratio.png`` into ``out``.

    ``progress`` is told what is done next, as ``"part: more"``. The folder is made where it does
    not exist; with None nothing is written, and the extra ``report`` is not needed.
    """
    if out is not None:
        check_report("The page of the demonstration")
    start = time.perf_counter()
    progress("drawing viewers with planted tastes")
    data = plant_tastes(np.random.default_rng(seed), n_users=n_users)
    progress("measuring (the first run on a machine compiles for a while)")
    split, evaluations, curves = measure(data, seed, progress)
    ratios = spectral_ratios(data)
    progress("recommending films to viewers")
    models = fit_models(data)
    persons, met = people(data, models), hits(data, models)

    seconds = time.perf_counter() - start
    found = Findings(seed, data, split, evaluations, curves, ratios, persons, met, seconds)
    if out is None:
        return Demo(found, None, None)
    progress("writing the page")
    page = demo_page(found, NEXT)
    path = Path(out) / "report.html"
    write_text(path, render_page(page))
    write_text(path.with_name("spectral-ratio.png"), to_png(page.figures()["spectrum"].figure))
    return Demo(found, page, path)
