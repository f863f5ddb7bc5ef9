"""``boolrank recommend``: the best items for users or profiles, from a saved model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.database import SqlTable
from ..data.vocabulary import plain_id
from ..errors import ParameterError
from ..models import Recommendations, load_model, model_info
from ..models.selection import parse_limits
from ..report.cautions import concentration
from ..table import counted
from ._inputs import at_most_one, given, parse_ids, parse_items, read_ids, read_profiles
from ._output import Output, Work, check_file, ranked_lists, say
from ._parts import WRITERS, Parts

if TYPE_CHECKING:
    import polars as pl

_MAX_USERS = 10  # in a table, if all users are asked for
_MAX_ROWS = 10_000  # in a table
_BATCH = 1_000  # users of a part of the result
_LIMITS = ("candidates", "exclude", "where")  # options that leave items out


def recommend(
    folder: Path,
    *,
    users: str | None = None,
    profile: str | None = None,
    profiles: str | None = None,
    n: int = 10,
    include_seen: bool = False,
    candidates: str | None = None,
    exclude: str | None = None,
    where: str | None = None,
    per: list[str] | None = None,
    diversity: float = 0.0,
    strict: bool = False,
    out: Path | None = None,
    to: str | None = None,
    sql_table: str = "recommendations",
    threads: int | None = None,
    output: Output,
) -> None:
    """Recommend items to all users, to some users, or to profiles (lists of items).

    Unknown users get popular items, as do users without events; unknown items are ignored. Both
    are reported on stderr. Items are ids or titles; --where and --per use the columns of the item
    table of the model. A file or table is written as a whole or not at all; the rows of a table
    that exists are replaced. A file is made of parts, so that a killed command continues.
    """
    work = Work()
    chosen = given({"users": users, "profile": profile, "profiles": profiles})
    at_most_one(chosen)
    target = _target(out, to, sql_table, output)
    with work.status("Opening"):
        fitted = load_model(folder, n_threads=threads)
    data, known_items = fitted.interactions, partial(parse_items, fitted, strict=strict)
    options: dict[str, Any] = {"n": n, "exclude_seen": not include_seen, "diversity": diversity}
    options |= given({"where": where, "per": parse_limits(per) if per else None})
    for name, text in given({"candidates": candidates, "exclude": exclude}).items():
        options[name] = known_items(read_ids(text, name), name)
    if chosen.keys() <= {"users"}:
        whom, method = "user", partial(fitted.recommend, unknown="popular")
        wanted = list(data.users)
        if users is not None:
            texts, fate = read_ids(users, "users"), "get popular items"
            wanted = parse_ids(data.users, texts, "users", strict=strict, fate=fate)
    else:
        whom, method = "profile", partial(fitted.recommend_profiles, unknown="ignore")
        ((name, text),) = chosen.items()
        lists = read_profiles(text) if name == "profiles" else [read_ids(text, name)]
        ids = iter(known_items(list(chain(*lists)), name))
        wanted = [list(islice(ids, len(each))) for each in lists]
    shown, rows = len(wanted), len(wanted) * min(n, len(data.items))
    if target is None and output.is_table:
        if not chosen:
            shown = min(shown, _MAX_USERS)
        elif rows > _MAX_ROWS:
            hint = f"add --out, --json or --csv, or name fewer {whom}s"
            raise ParameterError(f"{rows:,} rows are too many for a table", hint=hint)
    key, rank = [model_info(folder)["hash"], options, whom, wanted], partial(method, **options)
    opened = Parts.open(target, key) if isinstance(target, Path) else nullcontext()
    with work.counter("Recommending") as count, opened as stored:
        parts, empty = _ranked(whom, rank, wanted[:shown], stored, count, frames=target is not None)
        if stored is not None:
            stored.join(len(parts), safe=output.safe_csv)
    _note_empty(whom, empty, options)
    if not chosen and (caution := concentration(fitted)) is not None:
        say(f"note: {caution} boolrank fit without --model tries others")
    if target is not None:
        rows = sum(parts) if isinstance(target, Path) else _write(parts, target)
        work.done(f"{target}: {counted(rows, 'row')} for {counted(shown, whom)}")
        return
    columns = {name: list(chain(*(part[name] for part in parts))) for name in parts[0]}
    note = "* popular items, because there is no history" if any(columns["popular"]) else ""
    output.show(ranked_lists("", columns, note))
    if shown < len(wanted):
        to_do = "--out FILE, --csv or --json gives all, --users some"
        say(f"note: these are the first {shown} of {len(wanted):,} users; {to_do}")
    work.done(f"{shown:,} {whom}s", beside_data=True)


def _ranked(
    whom: str,
    rank: Callable[[list[Any]], Recommendations],
    wanted: list[Any],
    stored: Parts | None,
    count: Callable[[int, int], None],
    *,
    frames: bool,
) -> tuple[list[Any], list[Any]]:
    """Return the parts of a result, or the lengths of stored ones, and users without items."""
    parts, empty = list[Any](), list[Any]()
    for number, start in enumerate(range(0, max(len(wanted), 1), _BATCH)):
        batch = wanted[start : start + _BATCH]
        part: Any = None if stored is None else stored.get(number)
        if part is None:
            part = _columns(whom, rank(batch), start)
            # Frames hold numbers and text without a Python object for each.
            part = _frame(part) if frames else part
            if stored is not None:
                stored.put(number, part)
        some = set(part[whom])
        names = batch if whom == "user" else range(start + 1, start + len(batch) + 1)
        empty += [name for name in map(plain_id, names) if name not in some]
        parts.append(part if stored is None else len(part))
        count(start + len(batch), len(wanted))
    return parts, empty


def _target(
    out: Path | None, to: str | None, sql_table: str, output: Output
) -> Path | SqlTable | None:
    """Return the file or the table to write; raise if there are two, or if it is not writable."""
    at_most_one([*given({"to": to, "out": out}), *output.formats])
    if to is not None:  # fail now rather than after the work
        table = SqlTable(to, sql_table)
        with table.database.cursor(write=True):
            return table
    if out is not None:
        check_file(out, WRITERS)
    return out


def _note_empty(whom: str, empty: list[Any], options: dict[str, Any]) -> None:
    """Print users without items, and the reason."""
    if not empty:
        return
    more = f" and {len(empty) - 1:,} more" if len(empty) > 1 else ""
    limits = " or ".join(f"--{name}" for name in _LIMITS if name in options)
    rest = f"{limits} leaves out the others" if limits else "there are no others"
    own = "own items are left out (--include-seen adds them), and "
    own = own if options["exclude_seen"] else ""
    say(f"note: no items are left for {whom} {empty[0]}{more}: {own}{rest}")


def _columns(whom: str, found: Recommendations, done: int) -> dict[str, list[Any]]:
    """Return recommendations as columns; profiles are numbered from 1."""
    ids, *rest = found.to_dict().items()
    whose = [done + 1 + each if found.users is None else plain_id(each) for each in ids[1]]
    columns = {whom: whose, **dict(rest)}
    return columns | {"item": list(map(plain_id, columns["item"]))}


def _frame(columns: dict[str, list[Any]]) -> pl.DataFrame:
    import polars as pl

    types: dict[str, Any] = {"rank": pl.Int32, "score": pl.Float64, "popular": pl.Boolean}
    types |= {"title": pl.String} if "title" in columns else {}
    return pl.DataFrame(columns, schema_overrides=types)


def _write(parts: list[pl.DataFrame], target: SqlTable) -> int:
    """Write all rows to a table, and return their number."""
    import polars as pl

    frame = pl.concat(parts, how="vertical_relaxed")  # parts without rows have no types
    # In PostgreSQL, user is whoever is connected.
    target.write(frame.rename({"user": "user_id", "item": "item_id"}, strict=False))
    return len(frame)
