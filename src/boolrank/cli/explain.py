"""``boolrank explain``: which of a user's items speak for another one, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._inputs import known_ids, plain
from ._options import Model, NumberOrAll
from ._output import NAME, NUMBER, AsCsv, AsJson, new_table, print_records, say

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["explain"]


def explain(
    model: Model,
    user: Annotated[str, typer.Argument(metavar="USER", help="Id of a user.")],
    item: Annotated[str, typer.Argument(metavar="ITEM", help="Id of an item.")],
    *,
    n: NumberOrAll = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print how much each of the user's items adds to the score of an item, the largest first.

    The parts add up to the score. With --n, only so many are printed, and a table has the others
    in one row.
    """
    from ..models import load_model

    ranker = load_model(model)
    (user_id,) = known_ids(ranker.interactions.users, [user])
    (item_id,) = known_ids(ranker.interactions.items, [item])
    records = [{"item": plain(own), "adds": part} for own, part in ranker.explain(user_id, item_id)]
    if not records:
        say(f"{user} has no history: what is recommended there is popular, and has no reasons")
    title = f"Why {item} for {user}"
    print_records(
        records[:n],
        lambda: _table(title, records, n),
        columns=("item", "adds"),
        as_json=as_json,
        as_csv=as_csv,
    )


def _table(title: str, records: list[dict[str, Any]], n: int | None) -> Table:
    total = sum(r["adds"] for r in records)
    columns = {
        "because of": NAME | {"footer": "score"},
        "adds": NUMBER | {"footer": f"{total:.6f}"},
    }
    table = new_table(columns, title=title)
    table.show_footer = True
    for r in records[:n]:
        table.add_row(str(r["item"]), f"{r['adds']:.6f}")
    rest = [] if n is None else records[n:]
    if rest:
        table.add_row(f"{len(rest):,} more", f"{sum(r['adds'] for r in rest):.6f}")
    return table
