"""The page of the demonstration, and its tables for terminals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..evaluation.metrics import parse_metric
from ..report.page import Entries, Facts, Figures, Item, Lists, Note, Page, Section
from ..report.sections import arity_plots, data_facts, made
from ..studies.machine import machine
from ..table import Table
from .results import METRICS, OTHERS, TOP
from .tastes import TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .results import Findings

_COMPARED = (
    "A fifth of the interactions was held out. Most of what people watch is popular: the most "
    "popular films, the same for everybody, reach {:.0%} of the chosen model’s nDCG, and tell a "
    "viewer nothing new. No model is best by all measures. Look at the taste, the coverage and the "
    "share of ten films beside accuracy."
)
_ARITY = (
    "A conjunction of more variables holds for fewer films, a disjunction of more variables for "
    "more films. Both start at the linear kernel, at arity 1. The normalised spectral ratio "
    "measures expressiveness: 0 if all films are identical to a kernel, 1 if no two have anything "
    "in common. On sparse data AUC peaks where disjunctions connect films without common viewers."
)
_DATA = (
    f"The data are made up: {len(TITLES)} tastes, and a film’s title shows its taste. Viewers draw "
    "films by popularity and by their liking for the taste. A taste counts as liked if it has more "
    f"than 1/{len(TITLES)} of the liking. The data cannot tell which model is best for others: "
    "`boolrank fit` finds out."
)
_FOOTER = "The same seed gives the same page on the same machine."


def demo_page(found: Findings, next_steps: Mapping[str, str]) -> Page:
    """Return the page."""
    rows = found.person.table.records()
    seen = [Item(each["has seen"], each["its taste"] or "") for each in rows if each["has seen"]]
    films = [Item(each["recommended"], each["taste"]) for each in rows if each["recommended"]]
    who, _, likes = found.person.table.title.partition(", who ")
    viewer = Lists([(f"{who} has seen", seen, ""), ("boolrank recommends", films, _why(found))])
    origin = {"split": repr(found.split), "seed": f"{found.seed}, of the data and of the split"}
    about = made(f"boolrank demo --seed {found.seed}", origin, machine())
    sections = [
        Section("viewer", "One viewer", f"{who} {likes}: ✓ in the lists.", [viewer]),
        Section(
            "models",
            "Personal or popular?",
            _compared(found),
            [found.compared, Note(_legend(found))],
        ),
        Section("arity", "How expressive?", _ARITY, [Figures(arity_plots(found.curves))]),
        Section("data", "The data", _DATA, [Facts(_facts(found)), about]),
        Section("next", "Your own file", "", [Entries(next_steps, commands=True)]),
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
    first, parts = found.person.table.records()[0], found.person.reasons
    terms = ", ".join(f"{name} {part:+.4f}" for name, part in parts)
    return f"**Why {first['recommended']}?** {terms} = {first['score']:.4f}, its score."


def _compared(found: Findings) -> str:
    first, *_, popular = (each["nDCG@10"] for each in found.compared.records())
    return _COMPARED.format(popular / first)


def _legend(found: Findings) -> str:
    formulas = [f"{title}: {parse_metric(name).formula}" for name, title in METRICS.items()]
    return (
        f"`boolrank fit` chose `{found.choice.spec}`: {found.choice.reason}. Liked taste: of {TOP} "
        f"films for each viewer. {'; '.join(formulas[2:])}; k = 10."
    )


def _facts(found: Findings) -> dict[str, str]:
    return data_facts(found.data.events, "viewers", "films")


def demo_tables(found: Findings) -> list[Table]:
    """Return the tables that the command prints, in the order of the page."""
    note = f"{_why(found)}\n{result(found)}".replace("**", "")
    columns = {"kernel": "", "arity": "d", "AUC": ".4f", "spectral ratio": ".4f"}
    points = [
        (curve.family, *point)
        for curve in found.curves
        for point in zip(curve.arities, curve.means, curve.ratios, strict=True)
    ]
    curves = Table.of("AUC and normalised spectral ratio by arity", columns, points)
    return [replace(found.person.table, note=note), found.compared, curves]
