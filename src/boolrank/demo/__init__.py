"""A demonstration on made-up data with a known right answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..report.page import check_report, claim_folder, write_page
from .page import demo_page
from .results import Findings, measure

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NEXT", "run_demo"]

# Commands to try next, run by the tests.
NEXT = {
    "boolrank fit events.csv --out model": "choose a model and fit it; a row per event",
    "boolrank recommend model --users ann,bob": "the best items for ann and bob",
    "boolrank explain model ann tea": "which of ann's items speak for tea",
    "boolrank similar model tea": "items similar to tea",
    "boolrank evaluate events.csv": "how good the choice is, beside popularity",
}


def run_demo(
    out: str | Path,
    *,
    seed: int = 0,
    n_users: int = 3000,
    progress: Callable[[str], None] = lambda _: None,
) -> Findings:
    """Run the demonstration, and write ``report.html`` and ``figures/`` into ``out``.

    ``progress`` gets the current step, as ``"part: detail"``. The same seed gives the same results.
    """
    check_report()
    claim_folder(out, "demo")
    found = measure(seed, n_users, progress)
    progress("writing the page")
    write_page(demo_page(found, NEXT), [], Path(out) / "report.html")
    return found
