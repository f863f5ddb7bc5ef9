"""``boolrank similar``: the items most similar to an item, by a saved model."""

from __future__ import annotations

from pathlib import Path

from ..data.vocabulary import plain_id
from ..models import load_model
from ..table import Column, Table
from ._output import Output, say


def similar(folder: Path, items: list[str], *, n: int = 10, output: Output) -> None:
    """Print the items most similar to each item.

    The model defines similarity; for kernels, 1 = identical and 0 = unrelated.
    """
    fitted = load_model(folder)
    ids = [fitted.interactions.items.parsed(text) for text in items]
    columns = [
        Column("item", "s", style="group", wrap="middle"),
        Column("rank", "d"),
        Column("similar", "s", wrap="middle"),
        Column("similarity", ".6g"),
    ]
    rows = list(zip(*fitted.similar_items(ids, n=n).to_dict().values(), strict=True))
    if not rows:
        say("note: the model has no other items")
    output.show(Table("", columns, [tuple(map(plain_id, row[:3])) + row[3:] for row in rows]))
