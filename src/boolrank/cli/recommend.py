"""``boolrank recommend``: the best items of users, from a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ParameterError
from ._inputs import listed_ids, plain
from ._options import Model, Number, Threads
from ._output import NAME, NUMBER, AsCsv, AsJson, console, new_table, print_records
from ._work import Work, check_output, write_frame

if TYPE_CHECKING:
    from rich.table import Table

    from ..models.recommendations import Recommendations

__all__ = ["recommend"]

_SHOWN = 10  # of all users, on a terminal
_MOST_ROWS = 10_000  # of a table: more are for programs, which want another form


def recommend(
    model: Model,
    *,
    users: Annotated[
        str | None, typer.Option(help="Ids as id,id,... or @file, one a line; all if not given.")
    ] = None,
    n: Number = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Items that the user has touched, too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File for the result: .parquet, .csv or .jsonl.")
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Print or write the best items of users: of everybody, or of some.

    A row has the user, the rank, the item, its score, and whether the item is there for its
    popularity alone, because the user has no history.
    """
    from ..models import load_model

    work = Work()
    if out is not None:
        if as_json or as_csv:
            raise ParameterError(
                "--out writes a file, and prints neither --json nor --csv; leave out one of them"
            )
        check_output(out)
    with work.step("Opening"):
        ranker = load_model(model, n_threads=threads)
    everybody = ranker.interactions.users
    wanted = list(everybody) if users is None else listed_ids(everybody, users)
    shown, note = wanted, ""
    if out is None and not (as_json or as_csv):
        rows = min(n, len(ranker.interactions.items))
        shown, note = _for_people(wanted, rows, everybody=users is None)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("user", "rank", "item", "score", "popular")
    }
    for batch in work.batches(shown, "Recommending"):
        _append(columns, ranker.recommend(batch, n=n, exclude_seen=not include_seen))
    if out is not None:
        import polars as pl

        types = {"rank": pl.Int32, "score": pl.Float64, "popular": pl.Boolean}
        write_frame(pl.DataFrame(columns, schema_overrides=types), out)
        work.done(f"{out}: {len(columns['item']):,} rows for {len(shown):,} users")
        return
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    print_records(
        records, lambda: _table(records), columns=list(columns), as_json=as_json, as_csv=as_csv
    )
    work.done(f"{len(shown):,} users{note}", beside_data=True)


def _for_people(wanted: list[Any], n: int, *, everybody: bool) -> tuple[list[Any], str]:
    """Whom a table shows, and what to say of the others."""
    if everybody and console().is_terminal and len(wanted) > _SHOWN:
        more = f", {len(wanted) - _SHOWN:,} more with --out, --json or --csv"
        return wanted[:_SHOWN], more
    if len(wanted) * n > _MOST_ROWS:
        raise ParameterError(
            f"{len(wanted) * n:,} rows are too many for a table; add --out, --json or --csv, or "
            "name some --users"
        )
    return wanted, ""


def _append(columns: dict[str, list[Any]], found: Recommendations) -> None:
    for name, values in found.to_dict().items():
        columns[name] += map(plain, values) if name in ("user", "item") else values


def _table(records: list[dict[str, Any]]) -> Table:
    table = new_table({"user": NAME, "rank": NUMBER, "item": {}, "score": NUMBER, "": {}})
    for r in records:
        first = str(r["user"]) if r["rank"] == 1 else ""
        why = "popular: no history" if r["popular"] else ""
        table.add_row(first, f"{r['rank']}", str(r["item"]), f"{r['score']:.6g}", why)
    return table
