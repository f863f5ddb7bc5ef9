"""``boolrank explain``: how much each item of a user adds to the score of an item."""

from __future__ import annotations

from pathlib import Path

from ..data.vocabulary import plain_id
from ..errors import ParameterError
from ..models import load_model
from ..table import Column, Table
from ._inputs import parse_ids, read_ids
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

    The parts add up to the score. With --n, the last row of a table is the sum of the others.
    """
    if len(ids) != (2 if profile is None else 1):
        raise ParameterError(
            f"expected {'USER ITEM' if profile is None else 'ITEM'}, not {' '.join(ids)!r}",
            hint="write `explain MODEL USER ITEM` or `explain MODEL --profile ID,ID ITEM`",
        )
    fitted = load_model(folder)
    users, items = fitted.interactions.users, fitted.interactions.items
    whom, item = profile or ids[0], items.parsed(ids[-1])
    if profile is None:
        parts = fitted.explain(users.parsed(whom), item)
    else:
        texts = read_ids(profile, "profile")
        known = parse_ids(items, texts, "profile", strict=False, fate="ignored")
        parts = fitted.explain_profile(known, item, unknown="ignore")
    if not parts:
        say(f"note: {whom} has no history and gets popular items, without reasons")
    rows = [(plain_id(own), part) for own, part in parts]
    records = [{"item": own, "adds": part} for own, part in rows[:n]]
    rest = [] if n is None else [part for _, part in rows[n:]]
    shown = rows[:n] + ([(f"{len(rest):,} more", sum(rest))] if rest else [])
    shown.append(("score", sum(part for _, part in rows)))
    columns = [
        Column("item", "s", "because of", style="name", wrap="middle"),
        Column("adds", ".6f"),
    ]
    strong = frozenset({len(shown) - 1})
    output.show(Table(f"Why {ids[-1]} for {whom}", columns, shown, strong=strong), records=records)
