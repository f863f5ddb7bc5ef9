"""Options and arguments that verbs share, each declared once: one name and one help everywhere.

And what was given of them, as a dictionary or as the words of a command.

``--json`` and ``--csv`` stand in ``_output.py``, beside what they do.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from . import _complete
from ._errors import as_option

__all__ = [
    "Families",
    "Folder",
    "Inputs",
    "Item",
    "Kernel",
    "Kernels",
    "Least",
    "Metrics",
    "Model",
    "Models",
    "NegativeWeight",
    "Number",
    "NumberOrAll",
    "Order",
    "Positive",
    "Rating",
    "Reg",
    "Seconds",
    "Seed",
    "Threads",
    "Time",
    "Trials",
    "User",
    "command_text",
    "given",
]

_BY_NAME = "found by its name if not given."

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help="CSV, TSV, Parquet or JSON-lines files, or globs of them, with a row per event; "
        "or the name of a data set (see `boolrank datasets`).",
        show_default=False,
        autocompletion=_complete.sets,
    ),
]
User = Annotated[str | None, typer.Option(help=f"Column of users; {_BY_NAME}")]
Item = Annotated[str | None, typer.Option(help=f"Column of items; {_BY_NAME}")]
Rating = Annotated[str | None, typer.Option(help=f"Column of ratings; {_BY_NAME}")]
Time = Annotated[str | None, typer.Option(help=f"Column of times; {_BY_NAME}")]
Positive = Annotated[
    str | None, typer.Option(help="Which ratings count, such as '>= 4'; all rows otherwise.")
]

# One kernel, several, and several without their arity.
_KERNEL = "Kernel expression, see `boolrank kernels`"
Kernel = Annotated[
    str | None,
    typer.Option(help=f"{_KERNEL}; default disjunctive(8).", autocompletion=_complete.kernels),
]
Kernels = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        help=f"{_KERNEL}; again for each further model.",
        show_default=False,
        autocompletion=_complete.kernels,
    ),
]
Families = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        help="Family of kernels, such as disjunctive or 'threshold(2, {})'; again for each "
        "further one; default disjunctive.",
        show_default=False,
        autocompletion=_complete.kernels,
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="Any other model by name, such as popularity or 'ease(reg=500)'; again for each "
        "further one.",
        show_default=False,
        autocompletion=_complete.models,
    ),
]
Trials = Annotated[
    int | None,
    typer.Option(min=0, help="Sets of parameters that a model may try; default 30, 0 tries none."),
]
Seconds = Annotated[
    float | None,
    typer.Option(help="For all trials of a model together; no limit if not given."),
]
Reg = Annotated[
    float | None, typer.Option(help="How evenly a user's items share the weight; default 0.1.")
]
NegativeWeight = Annotated[
    float | None,
    typer.Option(help="How much an item's nearness to all counts against it; default 1.0."),
]

# How data are split, and what is measured.
Order = Annotated[
    str | None,
    typer.Option(
        help="What of a user trains: by time, by file, or random.",
        autocompletion=_complete.orders,
    ),
]
Least = Annotated[int | None, typer.Option(help="How many events a test user has at least.")]
Metrics = Annotated[
    str | None,
    typer.Option(
        help="Metrics as name,name@k,...; the text above has the default.",
        autocompletion=_complete.metrics,
    ),
]

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that `boolrank fit` wrote.")]
_NUMBER = typer.Option("--n", min=1, help="How many items, at most.")
Number = Annotated[int, _NUMBER]
NumberOrAll = Annotated[int | None, _NUMBER]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of all that is random; default 0.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads; all if not given.")]
Folder = Annotated[
    Path | None,
    typer.Option(
        help="Folder with a folder for each data set; BOOLRANK_DATA or the cache if not given.",
        show_default=False,
    ),
]


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def command_text(verb: str, inputs: Sequence[str], options: Mapping[str, Any]) -> str:
    """What to type for a verb with the options that have a value; those that are True have none.

    >>> command_text("fit", ["my file.csv"], {"negative_weight": 2.0, "seed": None, "here": True})
    "boolrank fit 'my file.csv' --negative-weight 2.0 --here"
    """
    words = ["boolrank", verb, *inputs]
    for name, value in given(options).items():
        words += [as_option(name)] if value is True else [as_option(name), str(value)]
    return shlex.join(words)
