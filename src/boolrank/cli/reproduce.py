"""``boolrank reproduce``: the paper's experiments, run again, beside its figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _complete
from ._options import Seed, Threads, command_text
from ._output import NAME, NUMBER, AsCsv, AsJson, new_table, print_records
from ._work import Work

if TYPE_CHECKING:
    from rich.table import Table

    from ..paper.reproduce import Reproduction

__all__ = ["reproduce"]


def reproduce(
    *,
    datasets: Annotated[
        str | None,
        typer.Option(
            help="Names as name,name,...; all of the paper's that are here if not given.",
            autocompletion=_complete.paper_sets,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the page, tables, figures and results.")
    ] = Path("reproduction"),
    sweep: Annotated[
        bool, typer.Option(help="Measure AUC against the arity too, which takes longest.")
    ] = True,
    arities: Annotated[
        str | None,
        typer.Option(
            help="Arities of both sweeps, such as 1:150; some up to 150 (disjunctive) and 16 "
            "(conjunctive) if not given.",
        ),
    ] = None,
    seed: Seed = None,
    threads: Threads = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Run the paper's experiments, and write a page with our figures beside the paper's.

    Into the folder go report.html, which needs nothing else, tables/ (CSV, Markdown, LaTeX) and
    figures/ (SVG, PNG). Results are kept there as they come: stopped and started again, the run
    goes on where it was. Data sets come first: see `boolrank datasets`.
    """
    from ..models.spec import split_commas
    from ..paper.page import check_report, write_reproduction
    from ..paper.reproduce import CONJUNCTIVE, DISJUNCTIVE
    from ..paper.reproduce import reproduce as run
    from ..studies import parse_arities

    work = Work()
    check_report()
    both = None if arities is None else parse_arities(arities)
    with work.teller() as told:
        found = run(
            out,
            None if datasets is None else split_commas(datasets),
            sweep=sweep,
            disjunctive=both or DISJUNCTIVE,
            conjunctive=both or CONJUNCTIVE,
            seed=seed or 0,
            n_threads=threads,
            progress=told,
        )
    options = {"no_sweep": None if sweep else True, "arities": arities, "seed": seed or None}
    command = command_text("reproduce", [], {"datasets": datasets} | options)
    with work.step("Writing the page"):
        page = write_reproduction(found, out, command)
    records = _records(found)
    print_records(records, lambda: _table(records), as_json=as_json, as_csv=as_csv)
    for paper, why in found.missing:
        work.say(f"{paper.title} was left out: {why}")
    work.done(f"{page}")


def _records(found: Reproduction) -> list[dict[str, Any]]:
    from ..paper.page import results_table

    return [
        {name.replace(" ", "_").replace("'s", ""): value for name, value in row.items()}
        for row in results_table(found).records()
    ]


def _table(records: list[dict[str, Any]]) -> Table:
    # On a narrow terminal figures break at their deviation; names are not cut.
    whole = {"no_wrap": True}
    columns: dict[str, Any] = {"data set": {"overflow": "fold"}, "kernel": NAME | whole}
    columns |= {"ours": NUMBER, "paper": NUMBER}
    columns |= dict.fromkeys(("difference", "mAP@10", "nDCG@10"), NUMBER | whole)
    table = new_table(columns, title="AUC beside the paper's")
    last = None
    for row in records:
        deviation = "" if row["deviation"] is None else f" ± {row['deviation']:.4f}"
        far = "  *" if row["beyond_two_deviations"] == "yes" else "   "
        table.add_row(
            row["data_set"] if row["data_set"] != last else "",
            row["kernel"],
            f"{row['AUC']:.4f}{deviation}",
            f"{row['paper_AUC']:.4f} ± {row['paper_deviation']:.4f}",
            f"{row['difference']:+.4f}{far}",
            f"{row['mAP@10']:.4f}",
            f"{row['nDCG@10']:.4f}",
        )
        last = row["data_set"]
    table.caption = "* more than two of the paper's deviations: the page says what is known of why"
    table.caption_justify = "left"
    return table
