"""A demonstration on made-up data with a known right answer: its page, and tables for terminals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..evaluation.metrics import METRICS
from ..report.figures import arity_plots
from ..report.page import (
    Entries,
    Figures,
    Lists,
    Note,
    Page,
    Section,
    check_report,
    claim_folder,
    data_size,
    made,
    write_page,
)
from ..studies.run import machine
from ..table import Table
from .results import OTHERS, TOP, Findings, measure
from .tastes import TITLES

__all__ = ["NEXT", "demo_tables", "run_demo"]

# Commands to try next, run by the tests.
NEXT = {
    "boolrank fit events.csv --out model": "choose a model and fit it; a row per event",
    "boolrank recommend model --users ann,bob": "the best items for ann and bob",
    "boolrank explain model ann tea": "which of ann's items speak for tea",
    "boolrank similar model tea": "items similar to tea",
    "boolrank evaluate events.csv": "how good the choice is, beside popularity",
}

_COMPARED = (
    "A fifth of the interactions was held out. Most of what people watch is popular: the most "
    "popular films, the same for everybody, reach {:.0%} of the chosen model’s nDCG, and tell a "
    "viewer nothing new. No model is best by all measures. Look at the taste, the coverage and the "
    "share of ten films beside accuracy."
)
_ARITY = (
    "Longer conjunctions hold for fewer films, longer disjunctions for more; both start at the "
    "linear kernel, at arity 1. The normalised spectral ratio measures expressiveness: 0 if all "
    "films are identical to a kernel, 1 if no two are related at all. On sparse data AUC peaks "
    "where disjunctions connect films without common viewers."
)
_DATA = (
    f"Made up: {len(TITLES)} tastes, and a film’s title shows its taste. Viewers draw films by "
    "popularity and by their liking for the taste, which counts as liked with more than "
    f"1/{len(TITLES)} of it. Which model is best for other data, `boolrank fit` finds out."
)
_LEGEND = (
    f"`boolrank fit` chose `{{}}`: {{}}. Liked taste: of {TOP} films for each viewer. Of ten films "
    f"each: coverage, {METRICS['coverage'].formula}; top ten, {METRICS['top10_share'].formula}."
)
_FOOTER = "The same seed gives the same page on the same machine."


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
    write_page(_page(found), [], Path(out) / "report.html")
    return found


def _page(found: Findings) -> Page:
    rows = found.viewer.records()
    seen = {each["has seen"]: each["its taste"] for each in rows}
    films = {each["recommended"]: each["taste"] for each in rows if each["recommended"]}
    who, _, likes = found.viewer.title.partition(", who ")
    viewer = Lists([(f"{who} has seen", seen, ""), ("boolrank recommends", films, _why(found))])
    size = data_size(found.data.events, "viewers", "films")
    origin = {
        "size": size,
        "split": repr(found.split),
        "seed": f"{found.seed}, of the data and of the split",
    }
    about = made(f"boolrank demo --seed {found.seed}", origin, machine())
    first, *_, popular = (each["nDCG@10"] for each in found.compared.records())
    compared = _COMPARED.format(popular / first)
    legend = Note(_LEGEND.format(found.choice.spec, found.choice.reason))
    sections = [
        Section("viewer", "One viewer", f"{who} {likes}: ✓ in the lists.", [viewer]),
        Section("models", "Personal or popular?", compared, [found.compared, legend]),
        Section("arity", "How expressive?", _ARITY, [Figures(arity_plots(found.curves))]),
        Section("data", "The data", _DATA, [about]),
        Section("next", "Your own file", "", [Entries(NEXT, commands=True)]),
    ]
    return Page("Recommendations with reasons", result(found), sections, _FOOTER)


def result(found: Findings) -> str:
    """Return the result in a sentence."""
    chosen, popular = found.hits[str(found.choice.spec)], found.hits[OTHERS[-1]]
    return (
        f"**{chosen:.0%} of the films that boolrank recommends match a taste of the viewer**; of "
        f"the most popular films, {popular:.0%} do. Tastes are planted in the data, and no model "
        "knows them."
    )


def _why(found: Findings) -> str:
    first, parts = found.viewer.records()[0], found.reasons
    terms = ", ".join(f"{name} {part:+.4f}" for name, part in parts)
    return f"**Why {first['recommended']}?** {terms} = {first['score']:.4f}, its score."


def demo_tables(found: Findings) -> list[Table]:
    """Return the tables that the command prints, in the order of the page."""
    note = f"{_why(found)}\n{result(found)}".replace("**", "")
    return [replace(found.viewer, note=note), found.compared]
