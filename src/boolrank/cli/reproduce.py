"""``boolrank reproduce``: the paper's experiments beside its figures."""

from __future__ import annotations

from pathlib import Path

from ..models.spec import split_commas
from ..studies import parse_arities
from ._inputs import command_text, given
from ._output import Output, done, say, status


def reproduce(
    *,
    datasets: str | None = None,
    out: Path = Path("reproduction"),
    sweep: bool = True,
    costs: bool = False,
    arities: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    output: Output,
) -> None:
    """Run the paper's experiments, and write a page with our figures beside the paper's.

    The folder gets report.html, tables/ (CSV, Markdown, LaTeX) and figures/ (SVG, PNG). A stopped
    run continues when the same command is run again. Get the data sets first: `boolrank datasets`.
    netflix=ratings.csv among the data sets measures a file, or another set, in the place of one.
    """
    from ..paper.page import results_table, write_reproduction
    from ..paper.reproduce import reproduce as run

    names = split_commas(datasets) if datasets else ()
    options = given({"arities": parse_arities(arities) if arities else None, "seed": seed})
    with status() as tell:
        found = run(
            out, names, sweep=sweep, costs=costs, **options, n_threads=threads, progress=tell
        )
    shown = {"datasets": datasets, "no_sweep": not sweep or None, "costs": costs or None}
    command = command_text("reproduce", [], shown | {"arities": arities, "seed": seed or None})
    with status("Writing the page"):
        page = write_reproduction(found, out, command)
    output.show(results_table(found))
    for paper, why in found.missing:
        say(f"{paper.title} was left out: {why}")
    done(f"{page}")
