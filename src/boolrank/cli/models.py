"""``boolrank models``: all models with their parameters."""

from __future__ import annotations

from typing import Any

from ..models import MODELS
from ..models.registry import ModelEntry
from ..table import Column, Table
from ._output import Output


def models(*, output: Output) -> None:
    """List the models: parameters with defaults and ranges, abilities, extra and reference.

    Use a model as --model NAME or --model 'NAME(parameter=value, ...)'. `tune` and `compare` search
    the parameters that have a search range.
    """
    records = [describe_model(entry) for entry in MODELS.values()]
    about = [
        (each["name"], each["about"], ", ".join(each["abilities"]), each["extra"] or "")
        for each in records
    ]
    rows = [
        (each["name"], *parameter.values()) for each in records for parameter in each["parameters"]
    ]
    name = Column("model", style="group", wrap="never")
    columns = [
        name,
        *(Column(title, "s") for title in ("parameter", "default", "allowed", "search")),
    ]
    output.show(
        Table("Models", [name, Column("about"), Column("abilities"), Column("extra")], about),
        Table("Parameters", columns, rows),
        records=records,
    )


def describe_model(entry: ModelEntry) -> dict[str, Any]:
    """Return the name, parameters, abilities, extra and reference of a model, ready for JSON."""
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
    return {
        "name": entry.name,
        "about": entry.about,
        "parameters": parameters,
        "abilities": list(entry.abilities),
        "extra": entry.extra or None,
        "reference": entry.reference or None,
    }
