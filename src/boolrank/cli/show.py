"""``boolrank show``: describe a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..models import model_info
from ..table import Column, Table
from ._output import Output


def show(folder: Path, *, output: Output) -> None:
    """Show the kind, parameters, counts, creation time, data fingerprint and hash of a model.

    If `boolrank fit` chose the model, the settings that were tried follow.
    """
    info = model_info(folder)
    columns = [Column("", style="name", wrap="never"), Column(" ", wrap="fold")]
    shown = {name: value for name, value in info.items() if name not in ("choice", "table")}
    shown["parameters"] = ", ".join(f"{name}={each}" for name, each in info["parameters"].items())
    if info["table"] is not None:
        kinds = (f"{name} ({kind})" for name, kind in info["table"]["columns"].items())
        shown["item table"] = f"{info['table']['rows']:,} rows; {', '.join(kinds)}"
    tables = [Table(str(folder), columns, list(shown.items()))]
    if info["choice"] is not None:
        tables.append(_settings(info["choice"]))
    output.show(*tables, records=[info])


def _settings(choice: dict[str, Any]) -> Table:
    metric = str(choice.get("metric"))
    columns = [Column("setting", style="name", wrap="fold"), Column(metric, ".4f")]
    columns += [Column("seconds", ".1f"), Column("error", wrap="fold")]
    rows = [
        (each.get("model"), each.get("value"), each.get("seconds"), each.get("error"))
        for each in choice.get("settings", [])
    ]
    return Table("", columns, rows, note=str(choice.get("reason")))
