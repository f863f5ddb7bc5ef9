"""The page of the demonstration, and its tables for terminals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..report.page import Block, Entries, Facts, Figures, Note, Page, Section
from ..report.sections import SIGNIFICANCE, arity_plots, data_facts, made_section
from ..report.tables import COSTS, by_metric, evaluation_table
from ..studies.machine import machine
from ..table import Table
from .results import TOP
from .tastes import TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .results import Findings, Person

_LEAD = (
    "A made-up catalogue of films, viewers who each like one or two genres, and models that see "
    "only who saw what. The tastes are planted, so the right answer is known."
)
_DATA = (
    f"There are {len(TITLES)} tastes. Every film belongs to one, which its title shows. Viewers "
    "draw films by popularity and by their liking for the taste. As in real data, a few films have "
    "many viewers and many have few."
)
_RESULTS = (
    "The paper’s protocol: viewers are split into five folds. The viewers of a fold train with the "
    "earlier half of their films, and models rank all films that they have not seen. AUC is the "
    "share of pairs in which a film of the later half ranks above another film, ties counted as "
    "wrong. mAP@10 and nDCG@10 look at the ten best."
)
_PEOPLE = (
    "Three viewers of different tastes, chosen by taste and not by the results: the rarest films "
    "they have seen, recommendations of each kernel, and the films that contribute most to the "
    "score of the first recommendation. ✓ is a taste that the viewer likes."
)
_HITS = (
    f"Each viewer gets {TOP} recommendations. How many are of a taste that the viewer likes, one "
    f"with more than 1/{len(TITLES)} of the planted liking? No model knows the tastes."
)
_HITS_NOTE = (
    "Most viewers have seen the popular films of their own taste, so the popular films that are "
    "left are of other tastes. The data are made up and cannot tell which kernel is best for "
    "other data."
)
_ARITY = (
    "A conjunction of more variables holds for fewer films, a disjunction of more variables for "
    "more films. Both start at the linear kernel, at arity 1. The normalised spectral ratio "
    "measures expressiveness: 0 if all films are identical to a kernel, 1 if no two have anything "
    "in common."
)
_FOOTER = "The same seed gives the same page on the same machine."


def demo_page(found: Findings, next_steps: Mapping[str, str]) -> Page:
    """Return the page."""
    hits: list[Block] = [found.hits, Note(_HITS_NOTE)]
    people: list[Block] = []
    for person in found.people:
        people += [person.table, Entries(_reasons(person))]
    facts = Facts(data_facts(found.data.events, "viewers", "films"))
    made = {"seed": f"{found.seed}, of the data and of the folds", "split": repr(found.split)}
    sections = [
        Section("data", "The data", _DATA, [facts]),
        Section("results", "Results", _RESULTS, [*_results(found), Note(SIGNIFICANCE)]),
        Section("people", "Recommendations and reasons", _PEOPLE, people),
        Section("tastes", "Do recommendations match the taste?", _HITS, hits),
        Section("arity", "Arity", _ARITY, [Figures(arity_plots(found.curves))]),
        made_section(f"boolrank demo --seed {found.seed}", made, machine()),
        Section("next", "Next, with your own file", "", [Entries(next_steps, commands=True)]),
    ]
    return Page("What boolean kernels recommend", _LEAD, sections, _FOOTER)


def _results(found: Findings) -> list[Table]:
    return by_metric(evaluation_table(found.evaluations, found.seed, by_each=True), COSTS)


def _reasons(person: Person) -> dict[str, str]:
    """Return the reasons for the first recommendation of each kernel, as text."""
    first, said = person.table.records()[0], {}
    for kernel, parts in person.reasons.items():
        total = sum(part for _, part in parts)
        text = ", ".join(f"{part:+.4f} {name}" for name, part in parts)
        said[f"Why {first[kernel]} by {kernel}?"] = f"{text} = {total:.4f}, the score"
    return said


def demo_tables(found: Findings) -> list[Table]:
    """Return the tables that the command prints: recommendations, then the results."""
    people = []
    for person in found.people:
        note = "\n".join(f"  {why} {text}" for why, text in _reasons(person).items())
        people.append(replace(person.table, note=note))
    columns = {"kernel": "", "arity": "d", "AUC": ".4f", "spectral ratio": ".4f"}
    points = [
        (curve.family, *point)
        for curve in found.curves
        for point in zip(curve.arities, curve.means, curve.ratios, strict=True)
    ]
    curves = Table.of("AUC and normalised spectral ratio by arity", columns, points)
    return [*people, *_results(found), found.hits, curves]
