"""``boolrank similar``: the items most similar to an item, by a saved model."""

from __future__ import annotations

from pathlib import Path

from ..data.vocabulary import plain_id
from ..models import load_model
from ..table import Column, Table
from ._inputs import parse_item
from ._output import Output, say


def similar(
    folder: Path, items: list[str], *, n: int = 10, where: str | None = None, output: Output
) -> None:
    """Print the items most similar to each item, which is an id or a title.

    The model defines similarity; for kernels, 1 = identical and 0 = unrelated.
    """
    fitted = load_model(folder)
    known = [parse_item(fitted, text) for text in items]
    found = fitted.similar_items([key for key, _ in known], n=n, where=where).to_dict()
    if not found["rank"]:
        say("note: there are no other items")
    found |= {name: list(map(plain_id, found[name])) for name in ("item", "similar")}
    columns = [
        Column("item", "s", style="group", wrap="middle"),
        Column("rank", "d"),
        Column("similar", "s", wrap="middle"),
        *[Column("title", "s", wrap="middle") for _ in range("title" in found)],
        Column("similarity", ".6g"),
    ]
    heading = "" if fitted.item_table is None else ", ".join(name for _, name in known)
    rows = list(zip(*found.values(), strict=True))
    output.show(Table(heading and f"Similar to {heading}", columns, rows))
