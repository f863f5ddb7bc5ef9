"""The page of a reproduction, its tables and its figures."""

from __future__ import annotations

from dataclasses import replace
from itertools import product, zip_longest
from pathlib import Path
from typing import Any

from ..data.inputs import find_dataset
from ..report.figures import Plot, arity_plots
from ..report.page import Block, Entries, Figures, Note, Page, Section, made, write_page
from ..report.tables import COST_COLUMNS, COSTS, costs
from ..table import Column, Table
from .published import COLUMNS, PAPER
from .reproduce import Reproduction, SetResult

_FAR = 2.0  # differences of more than this many of the paper's deviations are marked
_RANKING = ("mAP@10", "nDCG@10")  # metrics that the paper does not have

_LEAD = (
    "Boolean kernels for collaborative filtering (Polato and Aiolli, 2018): five kernels on {} of "
    "the paper’s {} data sets, our results beside the published ones. Where the two differ by more "
    "than two of the paper’s standard deviations, the page says so and gives the known reasons."
)
_RESULTS = (
    "Means over folds ± standard deviation. The highest AUC of a set is bold. Differences of more "
    "than two of the paper’s deviations are marked. The paper has no mAP@10 and nDCG@10."
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
    results = results_table(found)
    main = []
    for each in found.sets:
        title = each.paper.title
        part = results.where({"data set": title})
        aucs = [row["AUC"] for row in part.records()]
        strong = frozenset({aucs.index(max(aucs))})
        main.append(replace(part, title=title, note=_size(each), strong=strong))
    figures = [_arity_plots(each) for each in found.sets]
    curves = [each[0] for each in figures if len(each) > 1]
    spectra = [each[-1] for each in figures]
    about = made(command, _made(found), found.machine)
    sections = [
        Section("results", "Results", _RESULTS, main),
        _differences_section(found, results),
        *([Section("auc", "AUC against arity", _AUC, [Figures(curves)])] if curves else []),
        Section("spectrum", "Expressiveness", _SPECTRUM, [Figures(spectra)]),
        Section("made", "How this was made", _PROTOCOL, [about]),
    ]
    lead = _LEAD.format(len(found.sets), len(PAPER))
    page = Page("The paper’s experiments, reproduced", lead, sections, _FOOTER)
    return write_page(page, [results, arities_table(found)], Path(out) / "report.html")


def results_table(found: Reproduction) -> Table:
    """Return our results and the paper's, a row per data set and kernel."""
    rows = []
    for each, column in product(found.sets, COLUMNS):
        kernel, paper = each.paper.kernels[column], each.paper.figures[column]
        ours = each.evaluations[kernel]
        auc, deviation = ours.means["auc"], ours.deviations["auc"]
        gap = auc - paper.auc
        far = abs(gap) > _FAR * paper.deviation
        others = (ours.means[name.lower()] for name in _RANKING)
        values = (auc, deviation, *paper, gap, far, *others, *costs(ours))
        rows.append((each.paper.title, kernel, *values))
    columns = [
        Column("data set"),
        Column("kernel"),
        Column("AUC", ".4f"),
        Column("deviation", ".4f", under="AUC", template="±\u00a0{}"),
        Column("paper's AUC", ".4f"),
        Column("paper's deviation", ".4f", under="paper's AUC", template="±\u00a0{}"),
        Column("difference", "+.4f"),
        Column("beyond two deviations", marks="difference"),
        *(Column(name, ".4f") for name in _RANKING),
        *COST_COLUMNS,
    ]
    table = Table("Results beside the paper's", columns, rows, "results")
    measured = any(row[-1] is not None for row in rows)
    return table if measured else table.without(COSTS)


def arities_table(found: Reproduction) -> Table:
    """Return AUC and spectral ratio by data set, kernel and arity."""
    rows: list[tuple[Any, ...]] = []
    for each in found.sets:
        for curve in each.curves:
            points = zip_longest(curve.arities, curve.means, curve.deviations, curve.ratios)
            rows += [(each.paper.title, curve.family, *point) for point in points]
        dnf = each.evaluations["monotone_dnf"]
        name = each.paper.title, "monotone_dnf", None
        rows.append((*name, dnf.means["auc"], dnf.deviations["auc"], each.ratio))
    columns = {"data set": "", "kernel": "", "arity": "d", "AUC": ".4f", "deviation": ".4f"}
    columns |= {"normalised spectral ratio": ".6f"}
    return Table.of("AUC and expressiveness against the arity", columns, rows, name="arities")


def _size(each: SetResult) -> str:
    data, known = each.split.data, find_dataset(each.paper.dataset).size
    here, whole = (
        f"{users:,} users, {items:,} items, {ratings:,} ratings"
        for users, items, ratings in ((*data.shape, data.size), known)
    )
    excerpt = f" This is not the whole set, which has {whole}." if here != whole else ""
    if each.source != each.paper.dataset:
        excerpt = f" These are results on {each.source}, not on the data of the paper."
    folds = "one fold" if len(each.split) == 1 else f"{len(each.split)} folds"
    users = sum(len(fold.users) for fold in each.evaluations["linear"].folds)
    return f"{here}; {users:,} test users in {folds}.{excerpt}"


def _differences_section(found: Reproduction, results: Table) -> Section:
    """Return the section on results far from the paper's, grouped by reason."""
    sets = {each.paper.title: each for each in found.sets}
    groups: dict[tuple[str, str], list[str]] = {}
    for row in results.records():
        if row["beyond two deviations"]:
            title, kernel = row["data set"], row["kernel"]
            reason = sets[title].paper.reason(kernel.partition("(")[0])
            text = f"{kernel} {row['difference']:+.4f}".replace("-", "−")
            groups.setdefault((title, reason), []).append(text)
    far = {f"{title}: {', '.join(rows)}": reason for (title, reason), rows in groups.items()}
    blocks: list[Block] = [Entries(far)] if far else []
    blocks += [
        Note(f"**{title}**: {each.paper.reason('')}")
        for title, each in sets.items()
        if len(each.split) == 1
    ]
    blocks += [Note(f"**{paper.title}** was not measured. {why}") for paper, why in found.missing]
    text = "" if far else "No result differs by more than two of the paper’s deviations."
    return Section("differences", "Differences and reasons", text, blocks)


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
