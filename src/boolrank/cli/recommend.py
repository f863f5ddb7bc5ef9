"""``boolrank recommend``: the best items for users or profiles, from a saved model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..models import Recommendations, Recommender, load_model
from ..studies.cache import whole_file
from ..table import Column, Table
from ._inputs import known_ids, plain_id, read_ids, read_profiles
from ._options import given
from ._output import Output, console
from ._work import Work, check_output

if TYPE_CHECKING:
    import polars as pl

_MAX_USERS = 10  # in a table on a terminal, if all users are asked for
_MAX_ROWS = 10_000  # in a table

# Functions that write a frame, by the ending of the file.
WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": lambda frame, path: frame.write_parquet(path),
    ".csv": lambda frame, path: frame.write_csv(path),
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
}


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
    strict: bool = False,
    out: Path | None = None,
    threads: int | None = None,
    output: Output,
) -> None:
    """Recommend items to all users, to some users, or to profiles (lists of items).

    Unknown users get popular items, as do users without events; unknown items are ignored. Both
    are reported on stderr.
    """
    work = Work()
    chosen = given({"users": users, "profile": profile, "profiles": profiles})
    _check_options(chosen, out, output)
    with work.status("Opening"):
        fitted = load_model(folder, n_threads=threads)
    options: dict[str, Any] = {"n": n, "exclude_seen": not include_seen}
    items = fitted.interactions.items
    for name, text in given({"candidates": candidates, "exclude": exclude}).items():
        ids = known_ids(items, read_ids(text, name), name, strict=strict)
        options[name] = list(ids.values())
    by_profile = not chosen.keys() <= {"users"}
    whom = "profiles" if by_profile else "users"
    wanted = (_profiles if by_profile else _users)(fitted, chosen, strict=strict)
    shown = wanted
    if out is None and output.is_table:
        shown = _for_people(wanted, min(n, len(items)), whom, everybody=not chosen)
    method = (
        fitted.recommend_profiles if by_profile else partial(fitted.recommend, unknown="popular")
    )
    names = (whom[:-1], "rank", "item", "score", "popular")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    done = 0
    for batch in work.batches(shown, "Recommending"):
        _append(columns, method(batch, **options), done)
        done += len(batch)
    if out is not None:
        _write(columns, out)
        work.done(f"{out}: {len(columns['item']):,} rows for {done:,} {whom}")
        return
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    output.show(_table(columns), records=rows)
    rest = len(wanted) - done
    more = f", {rest:,} more with --out, --json or --csv" if rest else ""
    work.done(f"{done:,} {whom}{more}", beside_data=True)


def _check_options(chosen: dict[str, str], out: Path | None, output: Output) -> None:
    if len(chosen) > 1:
        names = " and ".join(f"--{name}" for name in chosen)
        raise ParameterError(f"{names} exclude each other", hint="give one of them")
    if out is not None:
        if not output.is_table:
            raise ParameterError(
                "--out writes a file and prints neither --json nor --csv",
                hint="leave one of them out",
            )
        check_output(out, WRITERS)


def _users(fitted: Recommender, chosen: dict[str, str], *, strict: bool) -> list[Any]:
    users = fitted.interactions.users
    if not chosen:
        return list(users)
    texts = read_ids(chosen["users"], "users")
    known = known_ids(users, texts, "users", strict=strict, fate="get popular items")
    return [known.get(text, text) for text in texts]


def _profiles(fitted: Recommender, chosen: dict[str, str], *, strict: bool) -> list[Any]:
    ((name, text),) = chosen.items()
    lists = read_profiles(text) if name == "profiles" else [read_ids(text, name)]
    texts = [text for each in lists for text in each]
    known = known_ids(fitted.interactions.items, texts, name, strict=strict)
    return [[known[text] for text in each if text in known] for each in lists]


def _for_people(wanted: list[Any], n: int, whom: str, *, everybody: bool) -> list[Any]:
    """Return those whom a table shows; raise if it would be too long."""
    if everybody and console().is_terminal:
        return wanted[:_MAX_USERS]
    if len(wanted) * n > _MAX_ROWS:
        raise ParameterError(
            f"{len(wanted) * n:,} rows are too many for a table",
            hint=f"add --out, --json or --csv, or name fewer {whom}",
        )
    return wanted


def _append(columns: dict[str, list[Any]], found: Recommendations, done: int) -> None:
    """Append recommendations to the columns; profiles are numbered from 1."""
    whom, ranks, items, *rest = found.to_dict().values()
    whom = [done + 1 + each if found.users is None else plain_id(each) for each in whom]
    values = (whom, ranks, map(plain_id, items), *rest)
    for column, more in zip(columns.values(), values, strict=True):
        column.extend(more)


def _write(columns: dict[str, list[Any]], path: Path) -> None:
    import polars as pl

    types = {"rank": pl.Int32, "score": pl.Float64, "popular": pl.Boolean}
    frame = pl.DataFrame(columns, schema_overrides=types)
    with whole_file(path) as fresh:
        WRITERS[path.suffix.lower()](frame, fresh)


def _table(columns: dict[str, list[Any]]) -> Table:
    notes = ["popular: no history" if each else "" for each in columns["popular"]]
    shown = [
        Column(next(iter(columns)), "s", style="group"),
        Column("rank", "d"),
        Column("item", "s"),
        Column("score", ".6g"),
        Column("popular", heading=" ", shown=any(notes)),
    ]
    return Table("", shown, list(zip(*list(columns.values())[:-1], notes, strict=True)))
