"""Spark writes the folders and gives the lists that one machine does, bit for bit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from boolrank import Interactions, ItemKNN, load_dataset, load_model
from boolrank.errors import (
    BoolrankError,
    DatasetNotFoundError,
    InputError,
    MissingExtraError,
    ModelFileError,
    ParameterError,
)
from boolrank.models import model_info, parse_model

pytest.importorskip("pyspark", reason="the extra spark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

from boolrank import spark
from boolrank.spark import cluster
from boolrank.storage.job import Job

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")


_ORDER = [("user", "ascending"), ("rank", "ascending")]


@pytest.fixture(scope="module")
def session() -> Any:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = spark.start("local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def data() -> Interactions:
    return load_dataset("synthetic:400x300x5000")


def frame(session: Any, data: Interactions, folder: Path, kind: type = int) -> Any:
    """Events in another order, some of them several times."""
    import polars as pl

    events = data.to_frame()
    events = pl.concat([events, events.head(500)]).sample(fraction=1.0, shuffle=True, seed=0)
    types = {int: pl.Int64, str: pl.String, float: pl.Float64, Decimal: pl.Decimal(38, 0)}
    events = events.select(pl.all().cast(types[kind]))
    events.write_parquet(folder / "events.parquet")
    return session.read.parquet(str(folder / "events.parquet"))


def check_same(session: Any, data: Interactions, model: str, partitions: int, folder: Path) -> None:
    """Compare folders and lists of both engines."""
    events = frame(session, data, folder)
    spark.fit(events, folder / "spark", model=model, partitions=partitions)
    local = parse_model(model).make(2).fit(data)
    local.save(folder / "local")
    assert model_info(folder / "spark")["hash"] == model_info(folder / "local")["hash"]
    lists = spark.recommend(events, folder / "spark", 20).toArrow().sort_by(_ORDER).to_pydict()
    assert lists == local.recommend(n=20).to_dict()


@pytest.mark.parametrize(
    ("partitions", "model"),
    [
        (1, "kernel-ranker"),
        (2, "kernel-ranker(kernel=tanimoto)"),
        (7, "kernel-ranker(kernel=conjunctive(2), user_exponent=0.5)"),
        (7, "item-knn(output_exponent=0.3)"),
        (2, "item-knn(neighbours=5, user_exponent=1)"),
        (2, "spectral-ranker(rank=8)"),
        (2, "kernel-ease(storage=sparse)"),
        (3, "kernel-ranker(kernel=tanimoto, user_exponent=0.5, activity_cap=12)"),
        (2, "item-knn(neighbours=5, activity_cap=12)"),
    ],
)
def test_models_equal_those_of_one_machine(
    session: Any, data: Interactions, partitions: int, model: str, tmp_path: Path
) -> None:
    check_same(session, data, model, partitions, tmp_path)


@pytest.mark.parametrize("model", ["kernel-ranker", "kernel-ranker(kernel=monotone_dnf)"])
def test_sparse_counts_equal_those_of_one_machine(session: Any, model: str, tmp_path: Path) -> None:
    check_same(session, load_dataset("synthetic:300x2000x3000"), model, 3, tmp_path)


@pytest.mark.parametrize(
    ("name", "partitions", "model"),
    [("movielens-1m", 2, "kernel-ranker"), ("gowalla", 7, "kernel-ranker")],
)
def test_on_real_sets_folders_and_lists_are_the_same(
    session: Any, name: str, partitions: int, model: str, data_dir: Path, tmp_path: Path
) -> None:
    try:
        real = load_dataset(name, data_dir)
    except DatasetNotFoundError:
        pytest.skip(f"{name} is not in BOOLRANK_DATA")
    ids = real.users.ids[real.rows.numbers], real.items.ids[real.indices]
    check_same(session, Interactions.from_pairs(*ids), model, partitions, tmp_path)


@pytest.mark.parametrize("kind", [str, float, Decimal])
def test_ids_of_all_types_are_those_of_one_machine(
    session: Any, data: Interactions, kind: type, tmp_path: Path
) -> None:
    large = 10**25 if kind is Decimal else 0  # past 64 bits
    wide = "cast(concat('1', lpad(cast(user as string), 25, '0')) as decimal(38, 0))"
    who = wide if large else "user"
    events = frame(session, data, tmp_path, kind).selectExpr(f"{who} as who", "item as x")
    spark.fit(events, tmp_path / "spark", user="who", item="x", model="item-knn", partitions=3)
    made = str if kind is str else int
    users = [made(user) + (large or made()) for user in data.to_frame()["user"]]
    ids = users, [made(item) for item in data.to_frame()["item"]]
    ItemKNN().fit(Interactions.from_pairs(*ids)).save(tmp_path / "local")
    assert model_info(tmp_path / "spark")["hash"] == model_info(tmp_path / "local")["hash"]
    lists = spark.recommend(events, tmp_path / "spark", 3, user="who").sort("user", "rank")
    some = load_model(tmp_path / "local").recommend(n=3).to_dict()
    assert [made(row["item"]) for row in lists.collect()] == some["item"]


def test_a_user_with_very_many_items_is_cut_by_ranges(session: Any, tmp_path: Path) -> None:
    users = np.concatenate([np.zeros(3000, int), np.arange(1, 2000)])
    items = np.concatenate([np.arange(3000), np.arange(1, 2000)])
    check_same(session, Interactions.from_pairs(users, items), "item-knn", 4, tmp_path)


def test_ranges_of_items_that_no_counted_user_has_are_empty(session: Any, tmp_path: Path) -> None:
    users = np.concatenate([np.zeros(50, int), np.arange(1, 41), np.arange(1, 41)])
    items = np.concatenate([np.arange(50), np.full(40, 50), 51 + np.arange(40) % 10])
    model = "item-knn(activity_cap=10)"
    check_same(session, Interactions.from_pairs(users, items), model, 3, tmp_path)


ERRORS = [
    ({"user": "nobody"}, "item-knn", InputError, "no column 'nobody'"),
    ({}, "item-knn(recency=3)", ParameterError, "recency"),
    ({}, "ease", ParameterError, "Ease cannot be fitted on Spark"),
    ({}, "kernel-ranker(kernel=linear + linear[genres])", ParameterError, "tags"),
    ({"user": "missing"}, "item-knn", InputError, "no id in the column 'missing'"),
    ({"item": "half"}, "item-knn", InputError, "no id in the column 'half'"),
    ({"item": "huge"}, "item-knn", InputError, "no id in the column 'huge'"),
    ({"item": "day"}, "item-knn", ModelFileError, "type date cannot be saved"),
    ({"partitions": 0}, "item-knn", ParameterError, "partitions"),
    ({"user": "few"}, "item-knn(activity_cap=1)", InputError, "every user has"),
]


@pytest.mark.parametrize(("options", "model", "kind", "text"), ERRORS)
def test_errors_say_what_is_wrong_and_leave_nothing(
    session: Any, options: dict[str, Any], model: str, kind: type, text: str, tmp_path: Path
) -> None:
    columns = ["id as user", "id as item", "if(id = 3, null, id) as missing", "id / 2 as half"]
    columns += ["id % 3 as few", "exp(400.0 * id) as huge"]
    events = session.range(9).selectExpr(*columns, "current_date() as day")
    with pytest.raises(kind, match=text):
        spark.fit(events, tmp_path / "model", model=model, **options)
    assert not (tmp_path / "model").exists()


def test_no_events_are_an_error(session: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no interactions"):
        spark.fit(session.range(0).selectExpr("id as user", "id as item"), tmp_path / "model")


def test_a_failed_fit_leaves_the_old_model(
    session: Any, data: Interactions, tmp_path: Path
) -> None:
    ItemKNN().fit(data).save(tmp_path / "model")
    before = sorted(tmp_path.rglob("*"))
    events = session.range(9).selectExpr("if(id = 3, null, id) as user", "id as item")
    with pytest.raises(InputError, match="no id"):
        spark.fit(events, tmp_path / "model", model="item-knn")
    assert sorted(tmp_path.rglob("*")) == before
    load_model(tmp_path / "model")


def test_an_executor_that_does_not_see_the_folder_says_so(session: Any, tmp_path: Path) -> None:
    wrong = pytest.raises(InputError, match=r"does not see .*elsewhere; name a folder that all")
    with Job.open(tmp_path / "model", "key") as job, wrong:
        job.path = tmp_path / "elsewhere"
        cluster.each(session, 2, partial(cluster._probe, job))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", "Python versions"),
        ("java.lang.OutOfMemoryError: Java heap space", "ran out of memory"),
    ],
)
def test_known_errors_of_executors_are_explained(said: str, text: str) -> None:
    from pyspark.errors import PySparkRuntimeError

    with pytest.raises(BoolrankError, match=text), cluster._translated():
        raise PySparkRuntimeError(said)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for name in [name for name in sys.modules if name.startswith("boolrank.spark")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r"boolrank\[spark\]"):
        import_module("boolrank.spark")


_START = """
import sys
from boolrank import spark
from boolrank.errors import InputError
try:
    spark.start(sys.argv[1])
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("master", "hidden"), [("nonsense://host", {}), ("local", {"PATH": "", "JAVA_HOME": ""})]
)
def test_a_wrong_master_and_a_missing_java_are_named(master: str, hidden: dict[str, str]) -> None:
    command, env = [sys.executable, "-c", _START, master], os.environ | hidden
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    said = "Spark did not start: .*; check the address of the master; install Java 17"
    assert re.search(said, done.stdout)


def test_lists_take_the_options_of_models(session: Any, data: Interactions, tmp_path: Path) -> None:
    model = ItemKNN().fit(data)
    model.save(tmp_path / "model")
    users = [data.users[0], -7]
    frame = session.createDataFrame([(user,) for user in [*users, users[0]]], "user int")
    options = {"exclude_seen": False, "unknown": "popular"}
    found = spark.recommend(frame, tmp_path / "model", 4, **options)
    assert found.columns == ["user", "rank", "item", "score", "popular"]
    expected = model.recommend(users, 4, **options).to_frame().sort("user", "rank").rows()
    assert [tuple(row) for row in found.sort("user", "rank").collect()] == expected
    with pytest.raises(Exception, match="there is no user -7"):
        spark.recommend(frame, tmp_path / "model", 4).collect()
    with pytest.raises(InputError, match="users of the model are int64"):
        spark.recommend(frame.selectExpr("cast(user as string) as user"), tmp_path / "model")


_KILLED = """
import os, sys, threading, time, signal
from pathlib import Path
from boolrank import spark

def workers():
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark" in (each / "cmdline").read_bytes() and str(session) in ancestors(each):
                yield int(each.name)
        except OSError:
            pass

def ancestors(each):
    found = []
    while each.name != "0":
        found.append(each.name)
        each = Path("/proc", (each / "stat").read_text().rpartition(")")[2].split()[1])
    return found[1:]

def kill():
    seen = 0
    while seen < 3:
        # A worker is a child of the daemon, which is a child of the JVM.
        some = [w for w in workers() if len(ancestors(Path(f"/proc/{w}"))) > depth]
        if some and any(folder.glob("events-*-items.*")):
            os.kill(some[-1], signal.SIGKILL)
            seen += 1
            time.sleep(1)
        time.sleep(0.01)

master, source, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
started = spark.start(master)
session = os.getpid()
depth = len(ancestors(Path("/proc/self").resolve())) + 2
threading.Thread(target=kill, daemon=True).start()
spark.fit(started.read.parquet(source), folder, model="item-knn", partitions=4)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="finds workers through /proc")
@pytest.mark.parametrize("master", ["local[2,8]", "local[2]"])
def test_killed_workers_are_replaced_or_nothing_is_left(
    session: Any, data: Interactions, master: str, tmp_path: Path
) -> None:
    frame(session, data, tmp_path)
    command = [sys.executable, "-c", _KILLED, master, str(tmp_path / "events.parquet")]
    done = subprocess.run(
        [*command, str(tmp_path / "model")], capture_output=True, text=True, check=False
    )
    if master == "local[2]":  # one attempt per task
        assert done.returncode
        assert "killed" in done.stderr.splitlines()[-1]
        assert not (tmp_path / "model").exists()
        return
    assert not done.returncode, done.stderr[-3000:]
    ItemKNN().fit(data).save(tmp_path / "local")
    assert model_info(tmp_path / "model")["hash"] == model_info(tmp_path / "local")["hash"]


def test_the_command_line_fits_on_spark(data: Interactions, tmp_path: Path) -> None:
    events = data.to_frame().rename({"user": "user_id"})
    events.with_columns(stars=(events["item"] % 5)).write_csv(tmp_path / "events.csv")
    words = ["fit", tmp_path / "events.csv", "--positive", ">= 1", "--model", "item-knn"]
    boolrank = [sys.executable, "-m", "boolrank", *map(str, words), "--out"]
    for out, more in (("spark", ["--engine", "spark", "--master", "local[2]"]), ("local", [])):
        done = subprocess.run(
            [*boolrank, str(tmp_path / out), *more], capture_output=True, text=True, check=False
        )
        assert not done.returncode, done.stderr
    assert model_info(tmp_path / "spark")["hash"] == model_info(tmp_path / "local")["hash"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--engine", "spark"], "needs a model"),
        (["--engine", "dask"], "engine must be 'local' or 'spark', not 'dask'"),
        (["--master", "yarn"], "engine must be 'spark', not 'local'"),
        (["--engine", "spark", "--items", "x.csv"], "--items exclude each other"),
    ],
)
def test_options_that_do_not_go_together(run: Any, words: list[str], text: str) -> None:
    code, _, said = run("fit", "events.csv", "--out", "model", *words)
    assert code == 2
    assert text in said
