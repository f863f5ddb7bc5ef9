"""``boolrank datasets``: the named data sets and how to get them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ..data import DATASETS, Dataset, Size, data_folder, fetch_dataset, find_dataset
from ..table import Column, Table
from ._output import Output, say
from ._work import Work

_COUNTS = ("users", "items", "interactions")
_PRINTED = (*_COUNTS, "density")


def datasets(
    context: typer.Context, *, check: bool = False, data: Path | None = None, output: Output
) -> None:
    """List the named data sets: counts, licence, citation, and whether they are on this machine.

    Each name can be used in place of files. "paper" tells whether the paper's first table has the
    same counts (=) or not (≠). Data sets are in the folder BOOLRANK_DATA, or in the user's cache.
    """
    if context.invoked_subcommand is not None:
        return
    records = []
    for dataset in DATASETS.values():
        counted = None
        if check and dataset.is_here(data):
            with Work().status(f"Reading {dataset.name}"):
                events = dataset.load(data)
                counted = Size(*events.shape, events.size)
        records.append(describe(dataset, data, counted))
    output.show(_table(records), _notes_table(records), records=records)
    if output.is_table:
        say(f"Data sets are in {data_folder(data)}")


def fetch(name: str, *, data: Path | None = None) -> None:
    """Download a data set from its official address.

    Published checksums are verified. Archives are not unpacked: data sets are read from them.
    """
    dataset = find_dataset(name)
    with Work().status(f"Fetching {name}") as tell:

        def progress(file: str, done: int, total: int | None) -> None:
            tell(f"{file}: {done / 1e6:,.1f} MB" + (f" of {total / 1e6:,.1f}" if total else ""))

        fetched = fetch_dataset(dataset, data, progress)
    if not fetched:
        say(f"{name} is already in {dataset.folder(data)}")
    for path in fetched:
        say(f"{path}: {path.stat().st_size:,} bytes")
    say(f"Licence: {dataset.licence}")
    say(f"Please cite: {dataset.citation}")


def describe(dataset: Dataset, folder: Path | None, counted: Size | None) -> dict[str, Any]:
    """Return what is known about a data set, ready for JSON.

    >>> from boolrank.data import DATASETS
    >>> describe(DATASETS["jester"], None, None)["users"]
    24430
    """
    return {
        "name": dataset.name,
        "title": dataset.title,
        **dataset.size._asdict(),
        "density": dataset.size.density,
        "time": dataset.time,
        "here": dataset.is_here(folder),
        "folder": str(dataset.folder(folder)),
        "counted": None if counted is None else counted._asdict(),
        "as_known": None if counted is None else counted == dataset.size,
        "paper": dict(zip(_PRINTED, dataset.printed, strict=True)) if dataset.printed else None,
        "differs": dataset.differs,
        "remark": dataset.remark,
        "licence": dataset.licence,
        "citation": dataset.citation,
        "page": dataset.page,
        "addresses": [download.address for download in dataset.downloads],
        "by_hand": dataset.by_hand,
    }


def _table(records: list[dict[str, Any]]) -> Table:
    states = {None: "yes", True: "counted", False: "differs"}
    rows = []
    for record in records:
        size = Size(*((record["counted"] or record)[name] for name in _COUNTS))
        density = 100 * size.density
        share = f"{density:.2g} %" if density < 1 else f"{density:.2f} %"
        paper = "" if record["paper"] is None else "≠" if record["differs"] else "="
        here = states[record["as_known"]] if record["here"] else "no"
        rows.append((record["name"], *size, share, paper, here))
    formats = dict.fromkeys(_COUNTS, ",d") | {"density": "f", "paper": "s", "here": "s"}
    columns = [Column("data set", style="name", wrap="never")]
    columns += [Column(name, form, wrap="never") for name, form in formats.items()]
    return Table("", columns, rows)


def _notes_table(records: list[dict[str, Any]]) -> Table:
    rows = [(record["name"], *note) for record in records for note in _notes(record)]
    names = [Column("", style="group", wrap="never"), Column(" ", style="dim")]
    note = "Synthetic data of any size: synthetic:USERSxITEMSxINTERACTIONS[:SEED]"
    return Table("", [*names, Column("  ", wrap="fold")], rows, note=note)


def _notes(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "title", record["title"]
    if record["as_known"] is False:
        known = ", ".join(f"{record[name]:,} {name}" for name in _COUNTS)
        yield "counted", f"not the published {known}; this is a part of it, or damaged"
    if record["paper"] is not None and record["differs"]:
        users, items, ratings, density = record["paper"].values()
        counts = f"{users} users, {items} items, {ratings} ratings, {density}"
        yield "paper", f"prints {counts}; {record['differs']}"
    if record["remark"]:
        yield "note", record["remark"]
    yield "licence", record["licence"]
    yield "cite", record["citation"]
    if not record["here"]:
        yield "get it", record["by_hand"] or f"boolrank datasets fetch {record['name']}"
