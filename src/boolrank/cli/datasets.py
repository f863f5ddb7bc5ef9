"""``boolrank datasets``: the named data sets, what is known of them, and how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import _complete
from ._options import Folder
from ._output import NAME, NUMBER, AsCsv, AsJson, console, new_table, print_records, say

if TYPE_CHECKING:
    from rich.table import Table

    from ..data import Dataset, Size

__all__ = ["datasets", "describe", "fetch"]


def datasets(
    context: typer.Context,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Read those on this machine, and count.")
    ] = False,
    folder: Folder = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """List the named data sets: counts, licence, citation, and whether they are on this machine.

    Each name can stand for the files that other commands read. The column "paper" says whether the
    paper's first table prints the same counts; where it does not, what it prints and why stand
    below. Data lie in the folder that BOOLRANK_DATA names, or else in the user's cache.
    """
    if context.invoked_subcommand is not None:
        return
    from ..data import DATASETS, Size, data_folder

    records = []
    for dataset in DATASETS.values():
        counted = None
        if check and dataset.is_here(folder):
            with console(stderr=True).status(f"Reading {dataset.name} …"):
                counted = Size.of(dataset.load(folder))
        records.append(describe(dataset, folder, counted))
    print_records(records, lambda: _table(records), as_json=as_json, as_csv=as_csv)
    if not (as_json or as_csv):
        _print_notes(records)
        say(f"Data sets lie in {data_folder(folder)}")


def fetch(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Name of a data set.", autocompletion=_complete.sets),
    ],
    *,
    folder: Folder = None,
) -> None:
    """Download a data set from its official address.

    A download that was cut off, or stopped with Ctrl-C, goes on where it ended. The checksum is
    compared where one is published. Nothing is unpacked: sets are read from their archives.
    """
    from ..data import fetch_dataset, find_dataset

    dataset = find_dataset(name)
    with _bar() as progress:
        fetched = fetch_dataset(dataset, folder, progress)
    if not fetched:
        say(f"{name} is already in {dataset.folder(folder)}")
    for path in fetched:
        say(f"{path}: {path.stat().st_size:,} bytes")
    say(f"Licence: {dataset.licence}")
    say(f"Please cite: {dataset.citation}")


def describe(dataset: Dataset, folder: Path | None, counted: Size | None) -> dict[str, Any]:
    """What is known of a data set, flat and ready for JSON.

    >>> from boolrank.data import DATASETS
    >>> describe(DATASETS["jester"], None, None)["users"]
    24430
    """
    size = dataset.size
    paper = {} if dataset.printed is None else asdict(dataset.printed)
    differs = paper.pop("differs", "")
    return {
        "name": dataset.name,
        "title": dataset.title,
        "users": size.users,
        "items": size.items,
        "interactions": size.interactions,
        "density": size.density,
        "time": dataset.time,
        "here": dataset.is_here(folder),
        "folder": str(dataset.folder(folder)),
        "counted": None if counted is None else asdict(counted),
        "as_known": None if counted is None else counted == size,
        "paper": paper or None,
        "differs": differs,
        "remark": dataset.remark,
        "licence": dataset.licence,
        "citation": dataset.citation,
        "page": dataset.page,
        "addresses": [download.address for download in dataset.downloads],
        "by_hand": dataset.by_hand,
    }


_STATE = {None: "yes", True: "counted", False: "differs"}


def _table(records: list[dict[str, Any]]) -> Table:
    whole = {"no_wrap": True}
    columns = {"data set": NAME | whole}
    columns |= dict.fromkeys(("users", "items", "interactions", "density"), NUMBER | whole)
    table = new_table(columns | {"paper": {"justify": "center"} | whole, "here": whole})
    table.padding = (0, 1, 0, 0)  # so that it fits into 80 columns
    for record in records:
        counts = record["counted"] or record
        density = 100 * counts["interactions"] / (counts["users"] * counts["items"])
        paper = "" if record["paper"] is None else "≠" if record["differs"] else "="
        table.add_row(
            record["name"],
            *(f"{counts[key]:,}" for key in ("users", "items", "interactions")),
            f"{density:.2g} %" if density < 1 else f"{density:.2f} %",
            paper,
            _STATE[record["as_known"]] if record["here"] else "no",
        )
    return table


def _print_notes(records: list[dict[str, Any]]) -> None:
    """What does not fit into the table, a block for each data set."""
    from rich.text import Text

    out = console()
    for record in records:
        out.print(Text.assemble((record["name"], "cyan"), f"  {record['title']}"))
        for head, text in _notes(record):
            out.print(Text.assemble((f"  {head}: ", "dim"), text))
    out.print("A made-up set of any size: synthetic, or synthetic:USERSxITEMSxINTERACTIONS[:SEED]")


def _notes(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if record["as_known"] is False:
        known = ", ".join(f"{record[key]:,} {key}" for key in ("users", "items", "interactions"))
        yield "counted", f"not what is distributed, which has {known}; a part of it, or damaged"
    if record["paper"] is not None and record["differs"]:
        paper = record["paper"]
        printed = f"{paper['users']} users, {paper['items']} items, {paper['interactions']} ratings"
        yield "paper", f"prints {printed}, {paper['density']}; {record['differs']}"
    if record["remark"]:
        yield "note", record["remark"]
    yield "licence", record["licence"]
    yield "cite", record["citation"]
    if not record["here"]:
        yield "get it", record["by_hand"] or f"boolrank datasets fetch {record['name']}"


@contextmanager
def _bar() -> Iterator[Any]:
    """A progress bar on stderr, as a function of file, bytes so far and bytes in all."""
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    messages = console(stderr=True)
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(
        *columns, TimeRemainingColumn(), console=messages, disable=not messages.is_terminal
    ) as bar:
        tasks: dict[str, Any] = {}

        def progress(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done, total=total)

        yield progress
