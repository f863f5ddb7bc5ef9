"""``boolrank explain``: how much each item of a user adds to the score of an item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..models import Recommender, load_model
from ..table import Column, Table
from ._inputs import known_ids, parse_ids, plain_id, read_ids
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
    parts = _parts(load_model(folder), ids, profile)
    whom = ids[0] if profile is None else profile
    if not parts:
        say(f"note: {whom} has no history and gets popular items, without reasons")
    rows, rest = parts[:n], [] if n is None else [part for _, part in parts[n:]]
    records = [{"item": item, "adds": part} for item, part in rows]
    if rest:
        rows.append((f"{len(rest):,} more", sum(rest)))
    columns = [Column("item", "s", "because of", style="name"), Column("adds", ".6f")]
    footer = ("score", sum(part for _, part in parts))
    output.show(Table(f"Why {ids[-1]} for {whom}", columns, rows, footer=footer), records=records)


def _parts(fitted: Recommender, ids: list[str], profile: str | None) -> list[tuple[Any, float]]:
    items = fitted.interactions.items
    (item,) = parse_ids(items, ids[-1:])
    if profile is None:
        (user,) = parse_ids(fitted.interactions.users, ids[:1])
        parts = fitted.explain(user, item)
    else:
        known = known_ids(items, read_ids(profile, "profile"), "profile", strict=False)
        parts = fitted.explain_profile(list(known.values()), item)
    return [(plain_id(own), part) for own, part in parts]
