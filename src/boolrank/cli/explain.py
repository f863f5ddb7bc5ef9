"""``boolrank explain``: what items of a user, or rules, add to the score of an item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..data.vocabulary import plain_id
from ..errors import ParameterError
from ..models import KernelRanker, load_model
from ..table import Column, Table
from ._inputs import parse_ids, parse_item, read_ids
from ._output import Output, say

_RULES = 10


def explain(
    folder: Path,
    ids: list[str] | None = None,
    *,
    profile: str | None = None,
    rules: bool = False,
    n: int | None = None,
    output: Output,
) -> None:
    """Print how much each item of a user adds to the score of an item, the largest first.

    Items are ids or titles. The parts add up to the score. With --n, the last row of a table is the
    sum of the others. With --rules, print the formulas of the kernel that add most; for a user
    without an item, those that add most to all scores.
    """
    ids, most = ids or [], 2 if profile is None else 1
    if len(ids) != most and not (rules and len(ids) == most - 1):
        raise ParameterError(
            f"expected {'USER ITEM' if most == 2 else 'ITEM'}, not {' '.join(ids)!r}",
            hint="write `explain MODEL USER ITEM` or `explain MODEL --profile ID,ID ITEM`",
        )
    fitted = load_model(folder)
    users, items, table = fitted.interactions.users, fitted.interactions.items, fitted.item_table
    whom, asked = (ids[0], ids[1:]) if profile is None else (profile, ids)
    item, called = parse_item(fitted, asked[0]) if asked else (None, "")
    if rules:
        _show_rules(fitted, whom, profile, item, called, n, output)
        return
    if profile is None:
        parts = fitted.explain(users.parsed(whom), item)
    else:
        parts = fitted.explain_profile(_known(fitted, profile), item, unknown="ignore")
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


def _known(fitted: Any, profile: str) -> list[Any]:
    items, table = fitted.interactions.items, fitted.item_table
    texts = read_ids(profile, "profile")
    return parse_ids(items, texts, "profile", strict=False, fate="ignored", table=table)


def _show_rules(
    fitted: Any,
    whom: str,
    profile: str | None,
    item: Any,
    called: str,
    n: int | None,
    output: Output,
) -> None:
    if not isinstance(fitted, KernelRanker):
        raise ParameterError(
            f"{type(fitted).__name__} has no rules",
            hint="fit --model kernel-ranker",
            parameter="rules",
        )
    items, table = fitted.interactions.items, fitted.item_table
    if profile is None:
        user = fitted.interactions.users.parsed(whom)
        found = fitted.rules(user, item, n or _RULES)
    else:
        found = fitted.rules_profile(_known(fitted, profile), item, n or _RULES, unknown="ignore")
    rows, records = list[tuple[Any, ...]](), list[dict[str, Any]]()
    for rule in found.rules:
        own = [plain_id(each) for each in rule.satisfied]
        titles = None if table is None else table.titles_of(items.find(rule.satisfied))
        shown = own if titles is None else list(titles)
        some = ", ".join(str(each) for each in shown[:2]) + (", ..." if len(own) > 2 else "")
        rows.append((rule.formula, rule.adds, rule.support, rule.positive, some))
        keys = "rule", "adds", "items", "own", "because_of"
        records.append(dict(zip(keys, (*rows[-1][:4], own), strict=True)))
    columns = [
        Column("rule", "s", style="name"),
        Column("adds", "+.3g"),
        Column("items"),
        Column("own"),
        Column("because_of", "s", "such as", wrap="middle"),
    ]
    title = f"Rules for {whom}" if item is None else f"Rules for {called} and {whom}"
    output.show(Table(title, columns, rows), records=records)
    if found.share is not None:
        say(f"the rules add up to {found.share:.1%} of the score {found.score:.6f}")
    if found.rules:
        say(f"fidelity: {found.fidelity:.3f} (AUC of the rules for the first tenth of the items)")
    if not found.exact:
        say("note: the search was not exhaustive; other rules may add more")
