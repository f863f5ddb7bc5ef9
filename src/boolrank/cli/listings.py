"""``boolrank models``, ``kernels`` and ``datasets``: the names that other commands take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

import typer

from ..data import DATASETS, Dataset, data_folder, fetch_dataset, find_dataset
from ..kernels import KERNELS, Kernel
from ..models import MODELS
from ..table import Column, Table
from ._output import Output, say, status

_PRINTED = ("users", "items", "interactions", "density")
_LETTERS = (
    "n variables; x and z are active in the two vectors, c in both, u = x + z - c in either; the "
    "vectors agree on s = n - x - z + 2c. d: arity or max_arity, t: satisfied, w: weight. "
    "C(a, b): binomial coefficient."
)


def kernels(*, output: Output) -> None:
    """List the kernels: name, formula, and parameters with their ranges."""
    records = [describe(kernel) for kernel in KERNELS.values()]
    rows = []
    for each in records:
        ranges = (f"{p['name']}: {p['range']}" for p in each["parameters"])
        rows.append((each["signature"], each["formula"], "\n".join(ranges)))
    columns = [Column("kernel", style="name"), Column("value"), Column("parameters", style="dim")]
    output.show(Table("", columns, rows, note=_LETTERS), records=records)


def describe(kernel: type[Kernel]) -> dict[str, Any]:
    """Return the name, class, signature, formula and parameters of a kernel, ready for JSON."""
    parameters, inside = [], []
    for each in fields(kernel):  # type: ignore[arg-type]  # every kernel is a dataclass
        needed = each.default is MISSING
        default = None if needed else each.default
        about = {"name": each.name, "required": needed, "default": default}
        parameters.append(about | {"range": each.metadata.get("range", "any")})
        inside.append(each.name if needed else f"{each.name}={default!r}")
    return {
        "name": kernel.name,
        "class": kernel.__name__,
        "signature": f"{kernel.name}({', '.join(inside)})" if inside else kernel.name,
        "formula": getattr(kernel, "formula", ""),
        "parameters": parameters,
    }


def models(*, output: Output) -> None:
    """List the models: parameters with defaults and ranges, abilities and extra.

    Use a model as --model NAME or --model 'NAME(parameter=value, ...)'. `tune` and `compare` search
    the parameters that have a search range.
    """
    records, about, rows = [], [], []
    for name, entry in MODELS.items():
        parameters = [
            {
                "name": each.name,
                "default": each.default,
                "allowed": each.allowed,
                "search": None if each.search is None else str(each.search),
            }
            for each in entry.parameters
            if not each.technical
        ]
        record = {
            "name": name,
            "about": entry.about,
            "parameters": parameters,
            "abilities": list(entry.abilities),
            "extra": entry.extra or None,
        }
        records.append(record)
        about.append((name, entry.about, ", ".join(entry.abilities), entry.extra))
        rows += [(name, *each.values()) for each in parameters]
    first = Column("model", style="group", wrap="never")
    more = [Column(title, "s") for title in ("parameter", "default", "allowed", "search")]
    output.show(
        Table("Models", [first, Column("about"), Column("abilities"), Column("extra")], about),
        Table("Parameters", [first, *more], rows),
        records=records,
    )


def datasets(context: typer.Context, *, output: Output) -> None:
    """List the named data sets: counts, licence, citation, and whether they are on this machine.

    Each name can be used in place of files. "paper" tells whether the paper's first table has the
    same counts (=) or not (≠). Data sets are in the folder BOOLRANK_DATA, or in the user's cache.
    """
    if context.invoked_subcommand is not None:
        return
    records, rows, notes = [], [], []
    for each in DATASETS.values():
        here, density = each.is_here(), each.size.density
        about = {
            "name": each.name,
            "title": each.title,
            **each.size._asdict(),
            "density": density,
            "here": here,
            "folder": str(each.folder()),
            "paper": dict(zip(_PRINTED, each.printed, strict=True)) if each.printed else None,
        }
        texts = ("differs", "licence", "citation", "page", "by_hand")
        about |= {name: getattr(each, name) for name in texts}
        records.append(about | {"addresses": [file.address for file in each.downloads]})
        share = f"{density:.2%}" if density >= 0.01 else f"{100 * density:.2g}%"
        paper = ("≠" if each.differs else "=") if each.printed else ""
        state = "yes" if here else "no"
        rows.append((each.name, *each.size, share.replace("%", " %"), paper, state))
        notes += [(each.name, *note) for note in _notes(each, here=here)]
    formats = dict.fromkeys(_PRINTED[:3], ",d") | {"density": "f", "paper": "s", "here": "s"}
    columns = [Column("data set", style="name", wrap="never")]
    columns += [Column(name, form, wrap="never") for name, form in formats.items()]
    below = [Column("", style="group", wrap="never"), Column(" ", style="dim")]
    below.append(Column("  ", wrap="fold"))
    note = "Synthetic data of any size: synthetic:USERSxITEMSxINTERACTIONS[:SEED]"
    tables = Table("", columns, rows), Table("", below, notes, note=note)
    output.show(*tables, records=records)
    if output.is_table:
        say(f"Data sets are in {data_folder()}")


def _notes(dataset: Dataset, *, here: bool) -> Iterator[tuple[str, str]]:
    yield "title", dataset.title
    if dataset.printed and dataset.differs:
        users, items, ratings, density = dataset.printed
        counts = f"{users} users, {items} items, {ratings} ratings, {density}"
        yield "paper", f"prints {counts}; {dataset.differs}"
    yield "licence", dataset.licence
    yield "cite", dataset.citation
    if not here:
        fetch = f"boolrank datasets fetch {dataset.name}" if dataset.downloads else ""
        yield "get it", dataset.by_hand or fetch or f"see {dataset.page}"


def fetch(name: str) -> None:
    """Download a data set from its official address.

    Published checksums are verified. Archives are not unpacked: data sets are read from them.
    """
    dataset = find_dataset(name)
    with status(f"Fetching {name}") as tell:

        def progress(file: str, done: int, total: int | None) -> None:
            tell(f"{file}: {done / 1e6:,.1f} MB" + (f" of {total / 1e6:,.1f}" if total else ""))

        fetched = fetch_dataset(dataset, progress=progress)
    if not fetched:
        say(f"{name} is already in {dataset.folder()}")
    for path in fetched:
        say(f"{path}: {path.stat().st_size:,} bytes")
    say(f"Licence: {dataset.licence}")
    say(f"Please cite: {dataset.citation}")
