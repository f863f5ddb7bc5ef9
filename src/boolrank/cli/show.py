"""``boolrank show``: describe a saved model."""

from __future__ import annotations

from pathlib import Path

from ..models import model_info
from ..table import Column, Table
from ._output import Output


def show(folder: Path, *, output: Output) -> None:
    """Show the kind, parameters, counts, creation time, data fingerprint and hash of a model."""
    info = model_info(folder)
    columns = [Column("", style="name", wrap="never"), Column(" ", wrap="fold")]
    rows = [(name, _text(value)) for name, value in info.items()]
    output.show(Table(str(folder), columns, rows), records=[info])


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={part}" for name, part in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
