"""``boolrank similar``: the items most similar to an item, by a saved model."""

from __future__ import annotations

from pathlib import Path

from ..models import load_model
from ..table import Column, Table
from ._inputs import parse_ids, plain_id
from ._output import Output


def similar(folder: Path, items: list[str], *, n: int = 10, output: Output) -> None:
    """Print the items most similar to each item.

    The model defines similarity; for kernels, 1 = identical and 0 = unrelated.
    """
    fitted = load_model(folder)
    found = fitted.similar_items(parse_ids(fitted.interactions.items, items), n=n).to_dict()
    columns = [
        Column("item", "s", style="group"),
        Column("rank", "d"),
        Column("similar", "s"),
        Column("similarity", ".6g"),
    ]
    rows = [
        (plain_id(item), rank, plain_id(other), value)
        for item, rank, other, value in zip(*found.values(), strict=True)
    ]
    output.show(Table("", columns, rows))
