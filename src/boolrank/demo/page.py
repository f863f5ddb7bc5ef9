"""The page of the demonstration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..report.blocks import Block, Entries, Note, Sheet
from ..report.page import Page, Section
from ..report.sections import (
    arity_section,
    data_section,
    machine_entries,
    made_section,
    results_section,
    time_section,
)
from ..report.tables import Table
from ..studies.machine import machine
from .results import TOP
from .tastes import TITLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .results import Findings

__all__ = ["demo_page", "hits_table"]

_LEAD = (
    "A made-up catalogue of films, viewers who each like one or two kinds of them, and models that "
    "see only who saw what. Since the tastes were planted, the right answer is known."
)
_DATA = (
    f"{len(TITLES)} tastes are planted: every film is of one, which its title shows, and a "
    "viewer’s films are drawn by popularity and by the viewer’s liking for their taste. Both tails "
    "are long, as in real data: in these figures, whose axes are logarithmic, they fall slowly."
)
_RESULTS = (
    "The paper’s protocol: viewers are dealt into five folds; in each, its viewers train with the "
    "earlier half of their films and the models have to find the later half among all films that "
    "were not seen. AUC is how often such a film stands above another one, ties counted as wrong; "
    "mAP@10 and nDCG@10 look at the ten best."
)
_PEOPLE = (
    "Three viewers of different tastes, chosen by their likings and not by what comes out: some of "
    "what they have seen, the films that each kernel recommends, and which of their own films "
    "speak most for the first of these. Green is a taste that the viewer likes."
)
_HITS = (
    f"Of the {TOP} recommendations to each viewer, how many are of a taste that the viewer likes: "
    f"one with more than an even share, 1 of {len(TITLES)}, of the planted liking? No model knows "
    "of tastes."
)
_HITS_NOTE = (
    "Popular films of one’s own taste are mostly seen already, so that what is left of the popular "
    "ones is of other tastes. The data are made up: which kernel is best for other data, they "
    "cannot say."
)
_ARITY = (
    "A conjunction of more variables holds for fewer films, a disjunction of more variables for "
    "more of them; both start at the linear kernel, at arity 1. The normalised spectral ratio says "
    "how finely a kernel tells films apart: 0 where all look the same to it, 1 where no two have "
    "anything in common."
)
_KERNELS = (
    "The same ratio for one of every kernel, with parameters that make sense for so few viewers: "
    "`boolrank kernels` has their formulas."
)
_TIME = "For all five folds. The first run on a machine compiles, which takes most of its time."
_FOOTER = "The figures of this page, but for time and memory, are the same for the same seed."


def demo_page(found: Findings, next_steps: Mapping[str, str]) -> Page:
    """All that was found, in the order in which one would ask."""
    hits: list[Block] = [Sheet(hits_table(found)), Note(_HITS_NOTE)]
    ratios = [Sheet(_ratios_table(found), bars=("spectral ratio",))]
    sections = [
        data_section(found.data.events, _DATA, "viewers", "films"),
        results_section(found.evaluations, _RESULTS, found.seed),
        Section("people", "Recommendations, and why", _PEOPLE, found.people),
        Section("tastes", "To the viewer’s taste?", _HITS, hits),
        arity_section(found.curves, _ARITY),
        Section("kernels", "Every kernel", _KERNELS, ratios),
        time_section(found.evaluations, _TIME, found.seconds),
        made_section(_made(found)),
        Section("next", "Next, with your own file", "", [Entries(next_steps, commands=True)]),
    ]
    return Page("What boolean kernels recommend", _LEAD, sections, _FOOTER)


def hits_table(found: Findings) -> Table:
    """How often recommendations are of a taste that the viewer likes."""
    rows = [(each.model, each.n_liked, each.liked, each.users) for each in found.hits]
    columns = {"model": "", "of a liked taste": ",", "share": ".1%", "mean viewers": ".0f"}
    title = f"The {TOP} recommendations to each viewer: how many are of a taste that is liked?"
    return Table("hits", title, columns, rows)


def _ratios_table(found: Findings) -> Table:
    columns = {"kernel": "", "spectral ratio": ".4f"}
    return Table("ratios", "Normalised spectral ratio of every kernel.", columns, found.ratios)


def _made(found: Findings) -> dict[str, str]:
    return {
        "command": f"`boolrank demo --seed {found.seed}`",
        "seed": f"{found.seed}, of the data and of the folds",
        "split": repr(found.split),
        "hash of the split": f"`{found.split.hash}`",
    } | machine_entries(machine())
