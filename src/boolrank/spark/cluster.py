"""Spark sessions and jobs: checks before the work, and errors of executors as errors of boolrank.

Executors and driver share the folder of a `Job`, the future model. Tasks write files into it under
names of their own, and tell the driver which; files of attempts that failed are never looked at.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray
from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from .. import errors
from .._version import __version__
from ..errors import BoolrankError, InputError, MatrixTooLargeError
from ..storage.disk_array import sync
from ..storage.job import Job

Batches = Iterator[pa.RecordBatch]
# Errors of tasks cross Java as text: JSON behind this word.
_MARK = "boolrank-error:"
# Pattern in an error of Spark: the error of boolrank, its message and its hint.
_CAUSES = {
    "PYTHON_VERSION_MISMATCH|different minor version": (
        InputError,
        "driver and executors have different Python versions",
        "set PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON to the same version",
    ),
    "OutOfMemoryError|MemoryError|exit code 137|OOM|Python worker exited unexpectedly": (
        MatrixTooLargeError,
        "an executor was killed, or ran out of memory",
        "give more partitions, or raise spark.executor.memoryOverhead",
    ),
}


def start(master: str) -> SparkSession:
    """Return a session, a new one unless there is one already."""
    if master.startswith("local"):  # by default, Spark takes whatever python3 is on the path
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        builder = SparkSession.builder.master(master).appName("boolrank")
        for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
            builder = builder.config(name, "false")
        session: SparkSession = builder.getOrCreate()
    except (PySparkException, Py4JJavaError, OSError) as error:
        cause = getattr(error, "java_exception", None) or str(error).strip()
        raise InputError(
            f"Spark did not start: {str(cause).partition(chr(10))[0]}",
            hint="check the address of the master; install Java 17 or newer, or set JAVA_HOME",
            parameter="master",
        ) from None
    session.sparkContext.setLogLevel("ERROR")
    return session


def unseen(folder: str | Path) -> InputError:
    """Return the error of a machine that does not see the folder of the model."""
    return InputError(
        f"{platform.node()} does not see what other machines have in {folder}",
        hint="name a folder that all of them share, under the same path",
        parameter="path",
    )


def task() -> Any:
    """Return Spark's description of the task that this is."""
    return TaskContext.get()


def fresh(name: str) -> str:
    """Return a name that no other attempt of a task uses."""
    return f"{name}-{task().taskAttemptId()}"


def put(job: Job, name: str, first: int, values: NDArray[Any]) -> None:
    """Write values into an array from a place on; other tasks write other parts of it."""
    array = job.array(name, values.dtype.name)
    array[first : first + len(values)] = values
    sync(array.path)


def check_folder(job: Job) -> None:
    """Raise in a task that does not see the folder of the driver."""
    if not job.file("probe").is_file():
        raise unseen(job.path)


def gather(frame: DataFrame, work: Callable[[Batches], dict[str, Any]]) -> list[dict[str, Any]]:
    """Run a task on each partition, and return their short answers."""
    with _translated():
        answers = frame.mapInArrow(partial(_answer, work), "answer string").collect()
    return [json.loads(row[0]) for row in answers]


def _answer(work: Callable[[Batches], dict[str, Any]], batches: Batches) -> Batches:
    with _marked():
        text = json.dumps(work(batches))
    yield pa.RecordBatch.from_pydict({"answer": [text]})


def each(session: SparkSession, count: int, work: Callable[[int], dict[str, Any]]) -> list[Any]:
    """Run a task for each number below ``count``, and return their answers."""
    return gather(session.range(0, count, 1, count), partial(_numbered, work))


def _numbered(work: Callable[[int], dict[str, Any]], batches: Batches) -> dict[str, Any]:
    (number,) = (k for batch in batches for k in batch.column(0).to_pylist())
    return work(number)


def streamed(work: Callable[[Batches], Batches], batches: Batches) -> Batches:
    """Yield batches of a task for `DataFrame.mapInArrow`; use as ``partial(streamed, work)``."""
    with _marked():
        yield from work(batches)


@contextmanager
def _marked() -> Iterator[None]:
    """Raise errors of boolrank with their parts as text, which reaches the driver."""
    try:
        yield
    except BoolrankError as error:
        parts = [type(error).__name__, error.message, error.hint, error.parameter]
        raise RuntimeError(f"{_MARK}{json.dumps(parts)}") from None


@contextmanager
def _translated() -> Iterator[None]:
    """Raise errors of executors as errors of boolrank, where the cause is known."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        marked = re.search(rf"{_MARK}(\[.*\])", text)
        if marked:
            kind, message, hint, parameter = json.loads(marked[1])
            raise getattr(errors, kind)(message, hint=hint, parameter=parameter) from None
        for pattern, (made, message, hint) in _CAUSES.items():
            if re.search(pattern, text):
                raise made(message, hint=hint) from error
        raise


def check_executors(session: SparkSession, job: Job, tasks: int) -> None:
    """Raise unless executors see the folder and have the same versions as the driver."""
    job.file("probe").touch()
    for answer in each(session, tasks, partial(_probe, job)):
        if answer["boolrank"] != __version__:
            raise InputError(
                f"executors have boolrank {answer['boolrank']}, the driver has {__version__}",
                hint="install the same version on every machine",
            )
        if not job.file(answer["file"]).is_file():
            raise unseen(job.path)


def _probe(job: Job, _: int) -> dict[str, Any]:
    check_folder(job)
    name = fresh("seen")
    job.file(name).touch()
    return {"boolrank": __version__, "file": name}
