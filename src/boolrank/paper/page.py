"""The reproduction of the paper as a page, tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..report.blocks import Block, Entries, Figures, Note, Sheet, signed
from ..report.figures import Drawn, bars_figure, curves_figure
from ..report.page import Page, Section, check_report, write_page
from ..report.sections import machine_entries, made_section
from .published import PAPER
from .tables import readings_table, results_table, tables

if TYPE_CHECKING:
    from .results import Reproduction, SetResult

__all__ = ["check_report", "tables", "write_reproduction"]

# How the page folds columns of the tables into one another.
_BELOW = {"AUC": {"deviation": "±\u00a0{}"}, "paper's AUC": {"paper's deviation": "±\u00a0{}"}}


def write_reproduction(found: Reproduction, out: str | Path, command: str = "") -> Path:
    """Write the page, and beside it ``tables/`` and ``figures/``; returns the page.

    ``command`` is what made it, to stand in the page.
    """
    return write_page(_page(found, command), tables(found), Path(out) / "report.html")


def _page(found: Reproduction, command: str) -> Page:
    curves = [_auc(each) for each in found.sets if each.curves[0].means]
    spectra = [_spectrum(each) for each in found.sets]
    sections = [
        _results_section(found),
        _differences_section(found),
        _readings_section(found),
        Section("auc", "AUC against the arity", _ABOUT_AUC, [Figures(curves)]),
        Section("spectrum", "Expressiveness", _ABOUT_SPECTRUM, [Figures(spectra)]),
        Section("time", "Time against data set", _ABOUT_TIME, [Figures([_time(found)])]),
        made_section(_made(found, command), _ABOUT_PROTOCOL),
    ]
    left_out = {"readings": not readings_table(found).rows, "auc": not curves}
    return Page(
        "The paper’s experiments, run again",
        "Boolean kernels for collaborative filtering (Polato and Aiolli, 2018): its five kernels "
        f"on {len(found.sets)} of its {len(PAPER)} data sets, ours beside the paper’s figures. "
        "Where the two differ by more than two of the paper’s standard deviations, the page says "
        "so and what is known of the reason.",
        [section for section in sections if not left_out.get(section.name)],
        "All numbers are in `tables/` beside this page as CSV, Markdown and LaTeX, all figures in "
        "`figures/` as SVG and PNG. M. Polato and F. Aiolli. Boolean kernels for collaborative "
        "filtering in top-N item recommendation. Neurocomputing, 2018.",
    )


_ABOUT_AUC = (
    "Both families start at the linear kernel, at arity 1. Each figure has a scale of its own. The "
    "ring is the paper’s best disjunctive result. Items that share fewer users with every other "
    "one than the arity of a conjunction are all alike to it, and so are items with very many "
    "users to a long disjunction, whose values then differ from 1 by less than a double can tell. "
    "AUC counts ties as wrong, and so may fall below one half."
)
_ABOUT_SPECTRUM = (
    "The normalised spectral ratio of the item kernel matrix against the arity, on all ratings: 0 "
    "is all items alike, 1 is no two alike. The ring on the left is the mDNF kernel’s."
)
_ABOUT_TIME = (
    "The disjunctive kernel matrix of all items at the paper’s arity, then the weights and full "
    "rankings of the test users of one fold, as measured when they were computed: the shortest of "
    "five times, or of as many folds as there are. Loops are compiled before."
)
_ABOUT_PROTOCOL = (
    "Users are dealt into five folds; in each, its users train with the earlier half of their "
    "ratings and are asked for the later half; users with fewer than five ratings always train. "
    "Candidates are the items with a training rating, less the user’s own. AUC counts strictly "
    "higher scores only. The ranker’s regularisation is 0.1 throughout."
)


def _results_section(found: Reproduction) -> Section:
    results = results_table(found)
    sheets = [
        Sheet(
            results.where({"data set": each.paper.title}),
            title=each.paper.title,
            about=_size(each),
            below=_BELOW,
            marked={"difference": "beyond two deviations"},
            best="AUC",
        )
        for each in found.sets
    ]
    return Section(
        "results",
        "Results",
        "Means over folds, with the standard deviation over folds below. The highest AUC of a set "
        "is bold. Marked differences are larger than two of the paper’s deviations. mAP@10 and "
        "nDCG@10 are ours; the paper prints none.",
        sheets,
    )


def _size(each: SetResult) -> str:
    folds = "one fold" if each.folds == 1 else f"{each.folds} folds"
    text = (
        f"{each.users:,} users, {each.items:,} items, {each.interactions:,} ratings; "
        f"{each.test_users:,} test users in {folds}."
    )
    whole = f" This is not the whole set, which has {each.expected}." if each.expected else ""
    return text + whole


def _differences_section(found: Reproduction) -> Section:
    """The figures that are far from the paper's, those of one reason together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in found.sets:
        for row in each.rows:
            if row.far:
                text = f"{row.kernel} {signed(f'{row.difference:+.4f}')}"
                groups.setdefault((each.paper.title, row.reason), []).append(text)
    far = {f"{title}: {', '.join(rows)}": reason for (title, reason), rows in groups.items()}
    single = [each for each in found.sets if each.folds == 1]
    notes: list[Block] = [Note(f"**{each.paper.title}**: {each.rows[0].reason}") for each in single]
    notes += [
        Note(f"**{each.paper.title}** was not measured. {each.why}") for each in found.missing
    ]
    text = "" if far else "No figure differs by more than two of the paper’s deviations."
    blocks = [Entries(far), *notes] if far else notes
    return Section("differences", "Where they differ, and why", text, blocks)


def _readings_section(found: Reproduction) -> Section:
    readings = readings_table(found)
    sheets = [
        Sheet(
            readings.where({"data set": each.paper.title, "reading": reading.title}),
            title=f"{each.paper.title}: {reading.title}",
            about=f"{reading.users:,} test users",
            below=_BELOW,
        )
        for each in found.sets
        for reading in each.readings
    ]
    return Section(
        "readings",
        "Other readings of the protocol",
        "What the figures are if the protocol is read another way. They help to find reasons; a "
        "reading that fits the paper’s figures need not be the one that it used.",
        sheets,
    )


def _made(found: Reproduction, command: str) -> dict[str, str]:
    splits = {each.paper.title: f"`{each.split}`" for each in found.sets}
    for each in found.sets:
        if each.unseen:
            splits[each.paper.title] += (
                f"; {each.unseen:,} test ratings of items that nobody in training has, left out"
            )
    rerun = {"command": f"`{command}`"} if command else {}
    return rerun | {"seed": str(found.seed)} | machine_entries(found.machine) | splits


def _auc(each: SetResult) -> Drawn:
    best = each.paper.figures["disjunctive"].auc
    figure = curves_figure(
        {curve.family: (curve.arities, curve.means) for curve in each.curves},
        x_label="arity",
        y_label=f"{each.paper.title}: AUC",
        dots={"paper’s best": (each.paper.arity, best)},
        y_range=None,
    )
    about = f"AUC against arity on {each.paper.title}"
    return Drawn(f"auc-{each.paper.dataset}", about, figure)


def _spectrum(each: SetResult) -> Drawn:
    figure = curves_figure(
        {curve.family: (curve.arities, curve.ratios) for curve in each.curves},
        x_label="arity",
        y_label=f"{each.paper.title}: normalised spectral ratio",
        dots={"mDNF": (1, each.ratio)},
    )
    about = f"Normalised spectral ratio against arity on {each.paper.title}"
    return Drawn(f"spectrum-{each.paper.dataset}", about, figure)


def _time(found: Reproduction) -> Drawn:
    bars = {
        f"{each.paper.title}\n{each.items:,} items": {
            "overlaps": each.timing.overlaps,
            "kernel values": each.timing.matrix,
            "ranking a fold": each.timing.rank,
        }
        for each in found.sets
    }
    return Drawn("time", "Seconds against data set", bars_figure(bars, x_label="seconds"))
