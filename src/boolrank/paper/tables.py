"""All numbers of the reproduction as tables: those of the page, and of the files beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..report.tables import Table

if TYPE_CHECKING:
    from .results import Reproduction

__all__ = ["readings_table", "results_table", "tables"]

_BESIDE = {
    "AUC": ".4f",
    "deviation": ".4f",
    "paper's AUC": ".4f",
    "paper's deviation": ".4f",
    "difference": "+.4f",
}


def tables(found: Reproduction) -> list[Table]:
    """All numbers of the page."""
    return [results_table(found), readings_table(found), _arities(found), _times(found)]


def results_table(found: Reproduction) -> Table:
    """Ours beside the paper's, a row for each data set and kernel."""
    rows = [
        (
            each.paper.title,
            row.kernel,
            row.means["auc"],
            row.deviations["auc"],
            row.paper,
            row.paper_deviation,
            row.difference,
            "yes" if row.far else "no",
            row.means["map@10"],
            row.means["ndcg@10"],
        )
        for each in found.sets
        for row in each.rows
    ]
    columns = {
        "data set": "",
        "kernel": "",
        **_BESIDE,
        "beyond two deviations": "",
        "mAP@10": ".4f",
        "nDCG@10": ".4f",
    }
    return Table("results", "Results beside the paper's.", columns, rows)


def readings_table(found: Reproduction) -> Table:
    """The same by other readings of the protocol."""
    rows = [
        (
            each.paper.title,
            reading.title,
            row.kernel,
            reading.means[row.column],
            reading.deviations[row.column],
            row.paper,
            row.paper_deviation,
            reading.means[row.column] - row.paper,
        )
        for each in found.sets
        for reading in each.readings
        for row in each.rows
    ]
    columns = {
        "data set": "",
        "reading": "",
        "kernel": "",
        **_BESIDE,
    }
    return Table("readings", "Other readings of the protocol.", columns, rows)


def _arities(found: Reproduction) -> Table:
    rows: list[tuple[Any, ...]] = [
        (
            each.paper.title,
            curve.family,
            arity,
            curve.means[k] if curve.means else None,
            curve.deviations[k] if curve.means else None,
            curve.ratios[k],
        )
        for each in found.sets
        for curve in each.curves
        for k, arity in enumerate(curve.arities)
    ]
    rows += [
        (
            each.paper.title,
            "monotone_dnf",
            None,
            row.means["auc"],
            row.deviations["auc"],
            each.ratio,
        )
        for each in found.sets
        for row in each.rows
        if row.column == "monotone_dnf"
    ]
    columns = {
        "data set": "",
        "kernel": "",
        "arity": "d",
        "AUC": ".4f",
        "deviation": ".4f",
        "normalised spectral ratio": ".6f",
    }
    return Table("arities", "AUC and expressiveness against the arity.", columns, rows)


def _times(found: Reproduction) -> Table:
    rows = [
        (
            each.paper.title,
            each.items,
            each.users,
            each.paper.kernel("disjunctive"),
            each.timing.overlaps,
            each.timing.matrix,
            each.timing.rank,
        )
        for each in found.sets
    ]
    columns = {
        "data set": "",
        "items": "d",
        "users": "d",
        "kernel": "",
        "overlaps (s)": ".3f",
        "kernel matrix (s)": ".3f",
        "ranking a fold (s)": ".3f",
    }
    return Table("times", "Time for the disjunctive kernel.", columns, rows)
