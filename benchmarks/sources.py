"""Time and memory of reading two million events: SQL and Arrow streams beside Parquet.

    BOOLRANK_POSTGRES=postgresql://... python benchmarks/sources.py

Every run is a process of its own, in turns; the best of five counts. Memory is the peak of the
process above what it held with all libraries loaded. Prints ratios to Parquet of the same events,
with ids that are whole numbers, and that are text. Without the variable PostgreSQL is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from boolrank import Interactions
from boolrank._memory import peak_memory
from boolrank.data.database import Database, SqlTable

_EVENTS, _USERS, _ITEMS = 2_000_000, 200_000, 50_000
_ROUNDS = 5
_TABLE = "boolrank_benchmark"


def main() -> None:
    """Measure, and print."""
    postgres = os.environ.get("BOOLRANK_POSTGRES")
    print("ids    source       seconds  of Parquet's speed  peak memory")
    for ids in ("whole", "text"):
        with TemporaryDirectory() as folder:
            places = {"parquet": folder, "arrow": folder, "sqlite": f"sqlite:///{folder}/events.db"}
            places |= {"postgresql": postgres} if postgres else {}
            frame = _events(ids)
            frame.write_parquet(Path(folder, "events.parquet"))
            for place in places.values():
                if "://" in place:
                    _drop(place)
                    SqlTable(place, _TABLE).write(frame.with_columns(_sql_time(place)))
            runs: dict[str, list[dict[str, float]]] = {name: [] for name in places}
            for _ in range(_ROUNDS):
                for name, place in places.items():
                    runs[name].append(_apart(name, place))
            if postgres:
                _drop(postgres)
        base = min(run["seconds"] for run in runs["parquet"])
        for name, found in runs.items():
            seconds = min(run["seconds"] for run in found)
            memory = min(run["memory"] for run in found)
            print(f"{ids:6} {name:12} {seconds:7.2f} {base / seconds:19.2f} {memory:9.0f} MB")


def _events(ids: str) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    users = rng.integers(0, _USERS, _EVENTS)
    items = np.floor(_ITEMS * rng.random(_EVENTS) ** 2).astype(np.int64)
    times = np.datetime64("2026-01-01", "us") + rng.integers(0, 31_536_000, _EVENTS).astype("m8[s]")
    frame = pl.DataFrame({"user_id": users, "item_id": items, "time": times})
    texts = [pl.format(f"{name[:4]}-{{}}", pl.col(name)) for name in frame.columns[:2]]
    named = dict(zip(frame.columns, texts, strict=False))
    return frame if ids == "whole" else frame.with_columns(**named)


def _sql_time(place: str) -> pl.Expr:
    """SQLite has no type of times: they are seconds there."""
    return pl.col("time").dt.epoch("s") if place.startswith("sqlite") else pl.col("time")


def _drop(place: str) -> None:
    with Database(place).cursor(write=True) as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {_TABLE}")
        cursor.connection.commit()


def _apart(name: str, place: str) -> dict[str, float]:
    # By the environment, which others cannot read as they can the arguments: it has a password.
    done = subprocess.run(
        [sys.executable, __file__, name],
        env=os.environ | {"BOOLRANK_PLACE": place},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _read(name: str) -> None:
    """Read once, after a small warm-up that imports and connects, and print time and memory."""
    place = os.environ["BOOLRANK_PLACE"]
    few = pl.DataFrame({"user_id": ["a", "b"], "item_id": ["x", "y"]})
    Interactions.from_frame(few.to_arrow().to_reader())
    if "://" in place:
        Interactions.from_sql("select 1 as user_id, 2 as item_id", place)
    before, start = peak_memory() or 0, time.perf_counter()
    if name == "parquet":
        found = Interactions.from_files(Path(place, "events.parquet"))
    elif name == "arrow":
        import pyarrow.dataset as ds

        scanner = ds.dataset(Path(place, "events.parquet")).scanner(batch_size=65_536)
        found = Interactions.from_frame(scanner.to_reader())
    else:
        found = Interactions.from_sql(f"select * from {_TABLE}", place)  # noqa: S608
    seconds = time.perf_counter() - start
    if found.readings[0].rows != _EVENTS:
        raise SystemExit(f"{name} has {found.readings[0].rows} rows")
    print(json.dumps({"seconds": seconds, "memory": ((peak_memory() or 0) - before) / 1e6}))


if __name__ == "__main__":
    _read(*sys.argv[1:]) if sys.argv[1:] else main()
