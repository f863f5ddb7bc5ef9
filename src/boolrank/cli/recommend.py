"""``boolrank recommend``: the best items for users or profiles, from a saved model.

A file is written from part files beside it: bounded memory, and a killed run continues.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.archives import check_name
from ..data.database import SqlTable
from ..data.vocabulary import plain_id
from ..errors import ParameterError
from ..models import Recommendations, load_model, model_info
from ..models.selection import parse_limits
from ..report.cautions import concentration
from ..storage.job import Job
from ..storage.output import check_output, unwritable, whole_file
from ..table import FORMULA, counted
from ._inputs import given, parse_ids, read_ids, read_profiles
from ._options import at_most_one
from ._output import Output, counter, done, ranked_lists, say, status

if TYPE_CHECKING:
    import polars as pl

_MAX_USERS = 10  # in a table, if all users are asked for
_BATCH = 1_000  # users of a part of the result
_LIMITS = ("candidates", "exclude", "where")  # options that leave items out

# Functions that write a lazy frame, by the ending of the file.
WRITERS = {".parquet": "sink_parquet", ".csv": "sink_csv", ".jsonl": "sink_ndjson"}


class Parts:
    """Numbered parts of a result, in Parquet files of a job; `Parts.open` makes them."""

    def __init__(self, target: Path, job: Job) -> None:
        self.target, self._job = target, job

    @staticmethod
    @contextmanager
    def open(target: Path, key: Any) -> Iterator[Parts]:
        """Hold a hidden folder beside the target, which is removed unless the run is interrupted.

        The key determines the result.
        """
        folder = target.with_name(f".{target.name}-parts")
        with Job.open(folder, json.dumps(key, default=str), shown=target) as job:
            yield Parts(target, job)
            shutil.rmtree(folder)

    def get(self, number: int) -> pl.DataFrame | None:
        """Return a part that was written before."""
        import polars as pl

        known = number < self._job.state.get("parts", 0)
        return pl.read_parquet(self._path(number), glob=False) if known else None

    def put(self, number: int, frame: pl.DataFrame) -> None:
        """Write the part behind those that are known."""
        with self._reported():
            frame.write_parquet(self._path(number))
        self._job.commit(self._path(number), parts=number + 1)

    def join(self, count: int, *, safe: bool) -> None:
        """Write all parts into the target. With ``safe``, formulas in CSV are marked as text."""
        import polars as pl

        scans = [pl.scan_parquet(self._path(number), glob=False) for number in range(count)]
        frame = pl.concat(scans, how="vertical_relaxed")  # parts without rows have no types
        ending = self.target.suffix.lower()
        if safe and ending == ".csv":
            frame = frame.with_columns(pl.col(pl.String).str.replace(FORMULA, "'$1"))
        with self._reported(), whole_file(self.target) as fresh:
            getattr(frame, WRITERS[ending])(fresh)

    def _path(self, number: int) -> Path:
        return self._job.file(f"part-{number}")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Raise errors of writing as errors about the target."""
        import polars as pl

        try:
            yield
        except OSError as error:
            raise unwritable(self.target, error) from None
        except pl.exceptions.PolarsError as error:
            raise unwritable(self.target, str(error).rpartition("error: ")[2]) from None


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
    table of the model. A file or table is written as a whole or not at all; the rows of an
    existing table are replaced. A file is written in parts, so that a killed command continues.
    """
    chosen = given({"users": users, "profile": profile, "profiles": profiles})
    at_most_one(chosen)
    target = _target(out, to, sql_table, output)
    with status("Opening"):
        fitted = load_model(folder, n_threads=threads)
    data, table = fitted.interactions, fitted.item_table
    known_items = partial(parse_ids, data.items, strict=strict, table=table)
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
    shown = len(wanted)
    if target is None and output.is_table and not chosen:
        shown = min(shown, _MAX_USERS)
    key, rank = [model_info(folder)["hash"], options, whom, wanted], partial(method, **options)
    opened = Parts.open(target, key) if isinstance(target, Path) else nullcontext()
    with counter("Recommending") as count, opened as stored:
        parts, empty = _ranked(whom, rank, wanted[:shown], stored, count, frames=target is not None)
        if stored is not None:
            stored.join(len(parts), safe=output.safe_csv)
    _note_empty(whom, empty, options)
    if not chosen and (caution := concentration(fitted)) is not None:
        say(f"note: {caution} boolrank fit without --model tries others")
    if target is not None:
        rows = sum(parts) if isinstance(target, Path) else _write(parts, target)
        done(f"{target}: {counted(rows, 'row')} for {counted(shown, whom)}")
        return
    columns = {name: list(chain(*(part[name] for part in parts))) for name in parts[0]}
    note = "* popular items, because there is no history" if any(columns["popular"]) else ""
    output.show(ranked_lists("", columns, note))
    if shown < len(wanted):
        to_do = "--out FILE, --csv or --json gives all, --users some"
        say(f"note: these are the first {shown} of {len(wanted):,} users; {to_do}")
    done(counted(shown, whom), beside_data=True)


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
        if out.suffix.lower() not in WRITERS:
            hint = f"name a file in {', '.join(WRITERS)}"
            raise ParameterError(f"{out} has no known file type", hint=hint)
        check_name(out)
        check_output(out, is_file=True)
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
