"""Events on the command line: files, or a data set by its name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from ._output import console

if TYPE_CHECKING:
    from ..interactions import Interactions

__all__ = ["Inputs", "read_inputs"]

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT",
        help="CSV, TSV, Parquet or JSON-lines files, or globs of them, with a row per event; "
        "or the name of a data set (see `boolrank datasets`).",
        show_default=False,
    ),
]


def read_inputs(inputs: Sequence[str], **options: str | None) -> Interactions:
    """Interactions from files, or of a data set where the one input is its name and no file's."""
    from ..data import DATASETS, is_dataset, load_dataset
    from ..interactions import Interactions

    name = inputs[0]
    if len(inputs) == 1 and is_dataset(name) and not Path(name).exists():
        given = [f"--{option}" for option, value in options.items() if value is not None]
        if given:
            raise InputError(
                f"{name} is a data set with columns of its own: leave out {' and '.join(given)}, "
                "or give its file"
            )
        return load_dataset(name)
    try:
        events = Interactions.from_files(*inputs, **options)
    except InputError as error:
        near = get_close_matches(name, DATASETS, n=1, cutoff=0.75)
        if near and len(inputs) == 1 and not Path(name).exists():
            error.add_note(f"there is a data set {near[0]!r}, if you meant that")
        raise
    _note_ratings(inputs, **options)
    return events


def _note_ratings(inputs: Sequence[str], *, positive: str | None, **columns: str | None) -> None:
    """Say that ratings count whatever their value, where nothing else was asked for."""
    from ..columns import find_columns
    from ..files import expand, scan_file

    rating = find_columns(list(scan_file(expand(inputs)[0]).schema), **columns)["rating"]
    if positive is None and rating is not None:
        text = f"note: every row counts, whatever its {rating!r}; --positive '>= 4' takes some"
        console(stderr=True).print(text, markup=False, soft_wrap=True)
