"""``boolrank explain``: how much each item of a user adds to the score of an item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..data.vocabulary import plain_id
from ..errors import ParameterError
from ..models import load_model
from ..table import Column, Table
from ._inputs import parse_ids, parse_item, read_ids
from ._output import Output, say


def explain(
    folder: Path,
    ids: list[str],
    *,
    profile: str | None = None,
    n: int | None = None,
    output: Output,
) -> None:
    """Print how much each item of a user adds to the score of an item, the largest first.

    Items are ids or titles. The parts add up to the score. With --n, the last row of a table is the
    sum of the others.
    """
    if len(ids) != (2 if profile is None else 1):
        raise ParameterError(
            f"expected {'USER ITEM' if profile is None else 'ITEM'}, not {' '.join(ids)!r}",
            hint="write `explain MODEL USER ITEM` or `explain MODEL --profile ID,ID ITEM`",
        )
    fitted = load_model(folder)
    users, items, table = fitted.interactions.users, fitted.interactions.items, fitted.item_table
    whom, (item, called) = profile or ids[0], parse_item(fitted, ids[-1])
    if profile is None:
        parts = fitted.explain(users.parsed(whom), item)
    else:
        texts = read_ids(profile, "profile")
        known = parse_ids(items, texts, "profile", strict=False, fate="ignored", table=table)
        parts = fitted.explain_profile(known, item, unknown="ignore")
    if not parts:
        say(f"note: {whom} has no history and gets popular items, without reasons")
    titles = None if table is None else table.titles_of(items.find([own for own, _ in parts]))
    named = ["item", "adds"] if titles is None else ["item", "title", "adds"]
    rows: list[tuple[Any, ...]] = [
        (plain_id(own), *([] if titles is None else [titles[k]]), part)
        for k, (own, part) in enumerate(parts)
    ]
    records = [dict(zip(named, row, strict=True)) for row in rows[:n]]
    rest = [] if n is None else [row[-1] for row in rows[n:]]
    gap = [""] * (len(named) - 2)
    shown = rows[:n] + ([(f"{len(rest):,} more", *gap, sum(rest))] if rest else [])
    shown.append(("score", *gap, sum(row[-1] for row in rows)))
    columns = [
        Column("item", "s", "because of", style="name", wrap="middle"),
        *[Column("title", "s", wrap="middle") for _ in gap],
        Column("adds", ".6f"),
    ]
    strong = frozenset({len(shown) - 1})
    output.show(Table(f"Why {called} for {whom}", columns, shown, strong=strong), records=records)
