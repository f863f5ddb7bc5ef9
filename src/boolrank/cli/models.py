"""``boolrank models``: all models with their parameters."""

from __future__ import annotations

from ..models import MODELS
from ..table import Column, Table
from ._output import Output


def models(*, output: Output) -> None:
    """List the models: parameters with defaults and ranges, abilities, extra and reference.

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
            "reference": entry.reference or None,
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
