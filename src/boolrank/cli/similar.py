"""``boolrank similar``: the items nearest to an item, by the kernel of a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._inputs import known_ids, plain
from ._options import Model, Number
from ._output import NAME, NUMBER, AsCsv, AsJson, new_table, print_records

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["similar"]


def similar(
    model: Model,
    items: Annotated[list[str], typer.Argument(metavar="ITEM", help="Ids of items.")],
    *,
    n: Number = 10,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print the items that are nearest to each item, by the kernel: 1 is alike, 0 has nothing."""
    from ..models import load_model

    ranker = load_model(model)
    ids = known_ids(ranker.interactions.items, items)
    found = ranker.similar_items(ids, n=n)
    records = [
        {"item": plain(item), "rank": rank, "similar": plain(other), "similarity": value}
        for item, others, values in zip(ids, found.lists(), found.scores.tolist(), strict=True)
        for rank, (other, value) in enumerate(zip(others, values, strict=False), 1)
    ]
    print_records(
        records,
        lambda: _table(records),
        columns=("item", "rank", "similar", "similarity"),
        as_json=as_json,
        as_csv=as_csv,
    )


def _table(records: list[dict[str, Any]]) -> Table:
    table = new_table({"item": NAME, "rank": NUMBER, "similar": {}, "similarity": NUMBER})
    for r in records:
        first = str(r["item"]) if r["rank"] == 1 else ""
        table.add_row(first, f"{r['rank']}", str(r["similar"]), f"{r['similarity']:.6g}")
    return table
