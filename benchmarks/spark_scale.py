"""Spark on two cores: the same folders and lists as without it, its time, and that of MLlib's ALS.

    python benchmarks/spark_scale.py [same|time|als|killed]

``same`` compares folders and lists for three kernels, both sets and 1, 2 and 7 partitions, from
shuffled and repeated events; ``time`` a fit of Gowalla with one in memory; ``als`` fit and 20 items
for all users with ALS of rank 64 and 15 iterations in the same session, whose time includes items
that users have already; ``killed`` kills workers of a fit. Without a name all of them run.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from boolrank import Interactions, load_dataset, load_model, spark
from boolrank.data import DATASETS
from boolrank.errors import BoolrankError
from boolrank.models import model_info, parse_model

warnings.filterwarnings("ignore", category=FutureWarning)  # of pyspark, about pandas 3
KERNELS = ("disjunctive(8)", "tanimoto", "conjunctive(2)")
PARTITIONS = (1, 2, 7)
MODELS = ("kernel-ranker", "item-knn(user_exponent=1, output_exponent=-0.2)")
_TOP = 20
_ORDER = [("user", "ascending"), ("rank", "ascending")]


def main() -> None:
    """Run the parts that are asked for, and print a line for each figure."""
    parts = {"same": same, "time": times, "als": als, "killed": killed}
    for name in sys.argv[1:] or parts:
        master = "local[2,8]" if name == "killed" else "local[2]"
        start = time.perf_counter()
        session = spark.start(master)
        print(f"{name}: session in {time.perf_counter() - start:.1f} s", flush=True)
        with TemporaryDirectory(dir=".") as folder:
            for line in parts[name](session, Path(folder).absolute()):
                print(f"{name}: {line}", flush=True)
        session.stop()


def events(session: Any, data: Interactions, folder: Path) -> Any:
    """Write events in another order, every tenth of them twice."""
    import polars as pl

    frame = data.to_frame().select("user", "item")
    frame = pl.concat([frame, frame.gather_every(10)]).sample(fraction=1.0, shuffle=True, seed=0)
    frame.write_parquet(folder / "events.parquet")
    return session.read.parquet(str(folder / "events.parquet"))


def same(session: Any, folder: Path) -> Iterator[str]:
    """Compare folders by their hashes, and lists by every score."""
    for name in ("movielens-1m", "gowalla"):
        data = plain(load_dataset(name))
        frame = events(session, data, folder)
        for kernel in KERNELS:
            model = f"kernel-ranker(kernel={kernel})"
            parse_model(model).make(2).fit(data).save(folder / "local")
            expected = load_model(folder / "local").recommend(n=_TOP).to_dict()
            content = model_info(folder / "local")["hash"]
            for n in PARTITIONS:
                spark.fit(frame, folder / "spark", model=model, partitions=n)
                alike = model_info(folder / "spark")["hash"] == content
                lists = spark.recommend(frame, folder / "spark", _TOP, partitions=n).toArrow()
                equal = lists.sort_by(_ORDER).to_pydict() == expected
                yield f"{name}, {kernel}, {n} partitions: folder {alike}, lists {equal}"


def plain(data: Interactions) -> Interactions:
    """Return interactions without times."""
    ids = data.users.ids[data.rows.numbers], data.items.ids[data.indices]
    return Interactions.from_pairs(*ids)


def times(session: Any, folder: Path) -> Iterator[str]:
    """Time the second of two fits in memory and on Spark; both read and save."""
    data = plain(load_dataset("gowalla"))
    frame = events(session, data, folder)
    for model in MODELS:
        for _ in range(2):
            start = time.perf_counter()
            read = Interactions.from_files(folder / "events.parquet")
            parse_model(model).make(2).fit(read).save(folder / "local")
            local = time.perf_counter() - start
        for _ in range(2):
            start = time.perf_counter()
            spark.fit(frame, folder / "spark", model=model)
            there = time.perf_counter() - start
        yield f"{model}: {there:.1f} s on Spark, {local:.1f} s without: {there / local:.1f} times"


def als(session: Any, folder: Path) -> Iterator[str]:
    """Fit, list 20 items for all users, and measure on the public split of Gowalla."""
    from pyspark.ml.recommendation import ALS

    train, test = DATASETS["gowalla"].load_parts()
    frame = events(session, train, folder)
    for model in MODELS:
        start = time.perf_counter()
        spark.fit(frame, folder / "spark", model=model)
        fitted = time.perf_counter()
        lists = spark.recommend(frame, folder / "spark", _TOP)
        lists.write.parquet(str(folder / model), mode="overwrite")
        done = time.perf_counter()
        found = load_model(folder / "spark").recommend(n=_TOP)
        places = train.items.find(found.items.ravel().tolist()).reshape(found.items.shape)
        yield _row(model, fitted - start, done - fitted, quality(train, test, places))
    rated = frame.distinct().selectExpr("int(user)", "int(item)", "1.0 as rating").cache()
    rated.count()
    learner = ALS(rank=64, maxIter=15, implicitPrefs=True, userCol="user", itemCol="item", seed=0)
    start = time.perf_counter()
    factors = learner.fit(rated)
    users, items = (_factors(each) for each in (factors.userFactors, factors.itemFactors))
    fitted = time.perf_counter()
    lists = factors.recommendForAllUsers(_TOP)
    lists.write.parquet(str(folder / "als"), mode="overwrite")
    done = time.perf_counter()
    known, best = items[train.items.ids], np.empty((len(train.users), _TOP), np.int64)
    for user, row in enumerate(users[train.users.ids]):
        scores = known @ row
        scores[train.rows.row(user)] = -np.inf
        some = np.argpartition(-scores, _TOP)[:_TOP]
        best[user] = some[np.argsort(-scores[some], kind="stable")]
    yield _row("MLlib's ALS", fitted - start, done - fitted, quality(train, test, best))


def _factors(frame: Any) -> np.ndarray:
    rows = frame.collect()
    out = np.zeros((1 + max(row.id for row in rows), len(rows[0].features)), np.float32)
    for row in rows:
        out[row.id] = row.features
    return out


def _row(name: str, fit: float, rank: float, found: tuple[float, float]) -> str:
    recall, ndcg = found
    return f"{name}: fit {fit:.1f} s, lists {rank:.1f} s, recall {recall:.4f}, nDCG {ndcg:.4f}"


def quality(train: Interactions, test: Interactions, best: np.ndarray) -> tuple[float, float]:
    """Return the means of recall@20 and nDCG@20 over users with test items."""
    users, items = train.users.find(test.users), train.items.find(test.items)
    gains = 1 / np.log2(np.arange(2, _TOP + 2))
    recall, ndcg = [], []
    for k in range(len(test.users)):
        wanted = items[test.rows.row(k)]
        hits = np.isin(best[users[k]], wanted)
        recall.append(hits.sum() / len(wanted))
        ndcg.append(gains[hits].sum() / gains[: len(wanted)].sum())
    return float(np.mean(recall)), float(np.mean(ndcg))


def killed(session: Any, folder: Path) -> Iterator[str]:
    """Kill Python workers of a fit, one a second; Spark repeats their tasks."""
    data = plain(load_dataset("gowalla"))
    frame, kills, done = events(session, data, folder), 0, threading.Event()
    parse_model("item-knn").make(2).fit(data).save(folder / "local")

    def kill() -> None:
        nonlocal kills
        while not done.wait(1.0) and kills < 5:
            some = workers()
            if some:
                os.kill(some[0], signal.SIGKILL)
                kills += 1

    threading.Thread(target=kill, daemon=True).start()
    try:
        spark.fit(frame, folder / "spark", model="item-knn", partitions=7)
        alike = model_info(folder / "spark")["hash"] == model_info(folder / "local")["hash"]
        yield f"{kills} workers killed; the fit is complete and the same: {alike}"
    except BoolrankError as error:
        yield f"{kills} workers killed; {error}; folder exists: {(folder / 'spark').exists()}"
    finally:
        done.set()


def workers() -> list[int]:
    """Return the Python workers of this process: children of the daemon below its JVM."""
    parents, daemons = {}, set()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            if b"pyspark.daemon" in (each / "cmdline").read_bytes():
                daemons.add(int(each.name))
        except OSError:
            continue

    def is_ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and is_ours(parents[pid]))

    return sorted(pid for pid in daemons if parents[pid] in daemons and is_ours(pid))


if __name__ == "__main__":
    main()
