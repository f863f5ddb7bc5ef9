"""Events on the command line: files, or a data set by its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

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
    from ..data.inputs import load_inputs

    return load_inputs(inputs, None, **options)
