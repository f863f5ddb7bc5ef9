"""The page of a reproduction, its tables and its figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..report.figures import Plot, bars_figure
from ..report.page import Block, Entries, Figures, Note, Page, Section, write_page
from ..report.sections import arity_plots, made_section
from ..table import Column, Table
from .published import PAPER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..evaluation.result import Evaluation
    from .reproduce import Reproduction, SetResult

_BESIDE = (
    Column("AUC", ".4f"),
    Column("deviation", ".4f", under="AUC", template="±\u00a0{}"),
    Column("paper's AUC", ".4f"),
    Column("paper's deviation", ".4f", under="paper's AUC", template="±\u00a0{}"),
    Column("difference", "+.4f"),
)
_PARTS = ("overlaps", "kernel matrix", "ranking a fold")  # of the times
_LEAD = (
    "Boolean kernels for collaborative filtering (Polato and Aiolli, 2018): five kernels on {} of "
    "the paper’s {} data sets, our results beside the published ones. Where the two differ by more "
    "than two of the paper’s standard deviations, the page says so and gives the known reasons."
)
_RESULTS = (
    "Means over folds ± standard deviation. The highest AUC of a set is bold. Differences of more "
    "than two of the paper’s deviations are marked. The paper has no mAP@10 and nDCG@10."
)
_READINGS = (
    "Results if the protocol is read in another way. They help to find reasons; a reading that "
    "fits the paper’s figures need not be the one that it used."
)
_AUC = (
    "Both families start at the linear kernel, at arity 1. Each figure has its own scale. The ring "
    "is the paper’s best disjunctive result. To a conjunction, all items that share fewer users "
    "than its arity with every other item are identical. To a long disjunction, so are items with "
    "very many users: the values differ from 1 by less than a double can hold. AUC counts ties as "
    "wrong, and so may fall below one half."
)
_SPECTRUM = (
    "Normalised spectral ratio of the item kernel matrix against the arity, on all ratings: 0 if "
    "all items are identical to the kernel, 1 if no two have anything in common. The ring on the "
    "left is the mDNF kernel."
)
_TIME = (
    "Seconds for the disjunctive kernel matrix of all items at the paper’s arity, then for the "
    "weights and full rankings of the test users of a fold. The shortest of five times, or of all "
    "folds. Compilation is not included."
)
_PROTOCOL = (
    "Users are split into five folds. The users of a fold train with the earlier half of their "
    "ratings and are tested on the later half; users with fewer than five ratings always train. "
    "Candidates are all items with a training rating, except the user’s own. AUC counts strictly "
    "higher scores only. The ranker’s regularisation is 0.1."
)
_FOOTER = (
    "All numbers are in `tables/` beside this page as CSV, Markdown and LaTeX, all figures in "
    "`figures/` as SVG and PNG. M. Polato and F. Aiolli. Boolean kernels for collaborative "
    "filtering in top-N item recommendation. Neurocomputing, 2018."
)


def write_reproduction(found: Reproduction, out: str | Path, command: str = "") -> Path:
    """Write the page and, beside it, ``tables/`` and ``figures/``; return the path of the page."""
    readings = _readings(found)
    figures = [_arity_plots(each) for each in found.sets]
    curves = [each[0] for each in figures if len(each) > 1]
    spectra = [each[-1] for each in figures]
    sections = [
        Section("results", "Results", _RESULTS, _results(found)),
        _differences_section(found),
        *([Section("readings", "Other readings", _READINGS, readings)] if readings else []),
        *([Section("auc", "AUC against arity", _AUC, [Figures(curves)])] if curves else []),
        Section("spectrum", "Expressiveness", _SPECTRUM, [Figures(spectra)]),
        Section("time", "Time", _TIME, [Figures([_times(found)])]),
        made_section(command, _made(found), found.machine, _PROTOCOL),
    ]
    lead = _LEAD.format(len(found.sets), len(PAPER))
    page = Page("The paper’s experiments, reproduced", lead, sections, _FOOTER)
    return write_page(page, tables(found), Path(out) / "report.html")


def tables(found: Reproduction) -> list[Table]:
    """Return all numbers of the page."""
    parts = (results_table, _readings_table, _arities_table, _times_table)
    return [part(found) for part in parts]


def results_table(found: Reproduction) -> Table:
    """Return our results and the paper's, a row per data set and kernel."""
    rows = [
        (
            each.paper.title,
            row.kernel,
            row.means["auc"],
            row.deviations["auc"],
            *row.paper,
            row.difference,
            "yes" if row.far else "no",
            row.means["map@10"],
            row.means["ndcg@10"],
        )
        for each in found.sets
        for row in each.rows
    ]
    columns = [
        Column("data set"),
        Column("kernel"),
        *_BESIDE,
        Column("beyond two deviations", marks="difference"),
        Column("mAP@10", ".4f"),
        Column("nDCG@10", ".4f"),
    ]
    return Table("Results beside the paper's", columns, rows, "results")


def _readings_table(found: Reproduction) -> Table:
    rows: list[tuple[Any, ...]] = []
    for each in found.sets:
        for reading, evaluations in each.readings:
            for column, ours in evaluations.items():
                mean, deviation = ours.means[reading.metric], ours.deviations[reading.metric]
                paper = each.paper.figures[column]
                name = each.paper.title, reading.title, each.paper.kernel(column)
                rows.append((*name, mean, deviation, *paper, mean - paper.auc))
    columns = [Column("data set"), Column("reading"), Column("kernel"), *_BESIDE]
    return Table("Other readings of the protocol", columns, rows, "readings")


def _arities_table(found: Reproduction) -> Table:
    rows: list[tuple[Any, ...]] = []
    for each in found.sets:
        for curve in each.curves:
            empty = [None] * len(curve.arities)
            measured = (curve.means or empty, curve.deviations or empty)
            points = zip(curve.arities, *measured, curve.ratios, strict=True)
            rows += [(each.paper.title, curve.family, *point) for point in points]
        dnf = each.evaluations["monotone_dnf"]
        name = each.paper.title, "monotone_dnf", None
        rows.append((*name, dnf.means["auc"], dnf.deviations["auc"], each.ratio))
    columns = {"data set": "", "kernel": "", "arity": "d", "AUC": ".4f", "deviation": ".4f"}
    columns |= {"normalised spectral ratio": ".6f"}
    return Table.of("AUC and expressiveness against the arity", columns, rows, name="arities")


def _times_table(found: Reproduction) -> Table:
    rows: list[tuple[Any, ...]] = []
    for each in found.sets:
        users, items = each.split.data.shape
        rows.append(
            (each.paper.title, items, users, each.paper.kernel("disjunctive"), *each.timing)
        )
    columns = {"data set": "", "items": "d", "users": "d", "kernel": ""}
    columns |= {f"{part} (s)": ".3f" for part in _PARTS}
    return Table.of("Time for the disjunctive kernel", columns, rows, name="times")


def _results(found: Reproduction) -> list[Table]:
    results = results_table(found)
    return [
        replace(
            results.where({"data set": each.paper.title}).emphasise_max("AUC"),
            title=each.paper.title,
            note=_size(each),
        )
        for each in found.sets
    ]


def _size(each: SetResult) -> str:
    users, items = each.split.data.shape
    folds = "one fold" if len(each.split) == 1 else f"{len(each.split)} folds"
    excerpt = f" This is not the whole set, which has {each.expected}." if each.expected else ""
    return (
        f"{users:,} users, {items:,} items, {each.split.data.size:,} ratings; "
        f"{_test_users(each.evaluations)} in {folds}.{excerpt}"
    )


def _test_users(evaluations: Mapping[str, Evaluation]) -> str:
    return f"{sum(len(fold.users) for fold in evaluations['linear'].folds):,} test users"


def _differences_section(found: Reproduction) -> Section:
    """Return the section on results far from the paper's, grouped by reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in found.sets:
        for row in (row for row in each.rows if row.far):
            group = each.paper.title, each.paper.reason(row.column)
            text = f"{row.kernel} {row.difference:+.4f}".replace("-", "−")
            groups.setdefault(group, []).append(text)
    far = {f"{title}: {', '.join(rows)}": reason for (title, reason), rows in groups.items()}
    blocks: list[Block] = [Entries(far)] if far else []
    blocks += [
        Note(f"**{each.paper.title}**: {each.paper.reason('')}")
        for each in found.sets
        if len(each.split) == 1
    ]
    blocks += [Note(f"**{paper.title}** was not measured. {why}") for paper, why in found.missing]
    text = "" if far else "No result differs by more than two of the paper’s deviations."
    return Section("differences", "Differences and reasons", text, blocks)


def _readings(found: Reproduction) -> list[Table]:
    readings = _readings_table(found)
    return [
        replace(
            readings.where({"data set": each.paper.title, "reading": reading.title}),
            title=f"{each.paper.title}: {reading.title}",
            note=_test_users(evaluations),
        )
        for each in found.sets
        for reading, evaluations in each.readings
    ]


def _made(found: Reproduction) -> dict[str, str]:
    entries = {"seed": str(found.seed)}
    for each in found.sets:
        unseen = sum(fold.unseen_items for fold in each.evaluations["linear"].folds)
        left_out = f"; {unseen:,} test ratings of items without training ratings are left out"
        entries[each.paper.title] = f"`{each.split!r}`{left_out if unseen else ''}"
    return entries


def _arity_plots(each: SetResult) -> list[Plot]:
    best = each.paper.arity, each.paper.figures["disjunctive"].auc
    points = {"paper’s best": best}, {"mDNF": (1.0, each.ratio)}
    return arity_plots(each.curves, f"{each.paper.title}: ", f"-{each.paper.dataset}", points)


def _times(found: Reproduction) -> Plot:
    bars = {}
    for each in found.sets:
        name = f"{each.paper.title}\n{len(each.split.data.items):,} items"
        bars[name] = dict(zip(_PARTS, each.timing, strict=True))
    return Plot("time", "Seconds by data set", bars_figure(bars, x_label="seconds"))
