"""``boolrank show``, ``similar`` and ``explain``: questions about a saved model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ..data.vocabulary import plain_id
from ..errors import ParameterError
from ..kernels.rules import Rules
from ..models import KernelRanker, Recommender, load_model, model_info
from ..table import Column, Table, counted
from ._inputs import parse_ids, parse_item, read_ids
from ._output import Output, ranked_lists, say


def show(folder: Path, *, output: Output) -> None:
    """Show the kind, parameters, counts, creation time, data fingerprint and hash of a model.

    If `boolrank fit` chose the model, the settings that were tried follow.
    """
    info = model_info(folder)
    columns = [Column("", style="name", wrap="never"), Column(" ", wrap="fold")]
    shown = {name: value for name, value in info.items() if name not in ("choice", "table")}
    shown["parameters"] = ", ".join(f"{name}={each}" for name, each in info["parameters"].items())
    if info["table"] is not None:
        kinds = (f"{name} ({kind})" for name, kind in info["table"]["columns"].items())
        shown["item table"] = f"{counted(info['table']['rows'], 'row')}; {', '.join(kinds)}"
    tables = [Table(str(folder), columns, list(shown.items()))]
    choice = info["choice"]
    if choice is not None:
        columns = [
            Column("model", heading="setting", style="name", wrap="fold"),
            Column("value", ".4f", heading=str(choice.get("metric"))),
            Column("seconds", ".1f"),
            Column("error", wrap="fold"),
        ]
        rows = [[each.get(column.name) for column in columns] for each in choice["settings"]]
        tables.append(Table("", columns, rows, note=str(choice.get("reason"))))
    output.show(*tables, records=[info])


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
    heading = "" if fitted.item_table is None else ", ".join(name for _, name in known)
    output.show(ranked_lists(heading and f"Similar to {heading}", found))


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
    whom, asked = (ids[0], ids[1:]) if profile is None else (profile, ids)
    item, called = parse_item(fitted, asked[0]) if asked else (None, "")
    known: Any
    if profile is None:
        known = fitted.interactions.users.parsed(whom)
    else:
        texts, table = read_ids(profile, "profile"), fitted.item_table
        known = parse_ids(fitted.interactions.items, texts, "profile", table=table)
    if rules:
        if not isinstance(fitted, KernelRanker):
            problem = f"{type(fitted).__name__} has no rules"
            raise ParameterError(problem, hint="fit --model kernel-ranker", parameter="rules")
        rules_of = partial(fitted.rules_profile, unknown="ignore")
        found = (fitted.rules if profile is None else rules_of)(known, item, n or 10)
        title = f"Rules for {called} and {whom}" if asked else f"Rules for {whom}"
        _show_rules(title, found, fitted, output)
        return
    reasons = partial(fitted.explain_profile, unknown="ignore")
    parts = (fitted.explain if profile is None else reasons)(known, item)
    if not parts:
        say(f"note: {whom} has no history and gets popular items, without reasons")
    items, table = fitted.interactions.items, fitted.item_table
    titles = None if table is None else table.titles_of(items.find([own for own, _ in parts]))
    rows: list[tuple[Any, ...]] = [
        (plain_id(own), None if titles is None else titles[k], add)
        for k, (own, add) in enumerate(parts)
    ]
    rest = [] if n is None else [add for _, add in parts[n:]]
    shown = [*rows[:n], *([(f"{len(rest):,} more", "", sum(rest))] if rest else [])]
    shown.append(("score", "", sum(add for _, add in parts)))
    columns = [
        Column("item", "s", "because of", style="name", wrap="middle"),
        Column("title", "s", wrap="middle"),
        Column("adds", ".6f"),
    ]
    why = Table(f"Why {called} for {whom}", columns, shown, strong=frozenset({len(shown) - 1}))
    why = why.without(["title"] if titles is None else [])
    output.show(why, records=why.records()[: len(rows[:n])])


def _show_rules(title: str, found: Rules, model: Recommender, output: Output) -> None:
    items, table = model.interactions.items, model.item_table
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
    output.show(Table(title, columns, rows), records=records)
    if found.share is not None:
        say(f"the rules add up to {found.share:.1%} of the score {found.score:.6f}")
    if found.rules:
        say(f"fidelity: {found.fidelity:.3f} (AUC of the rules for the first tenth of the items)")
    if not found.exact:
        say("note: the search was not exhaustive; other rules may add more")
