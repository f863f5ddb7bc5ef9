"""Models on Spark: executors write the arrays of a folder, or map it once to rank users."""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa
from pyspark.sql import DataFrame

from ..checks import whole
from ..counts.counting import is_dense
from ..counts.overlaps import Overlaps, prefers_dense
from ..data.columns import find_columns
from ..errors import InputError, ModelFileError
from ..models import load_model
from ..models.disk_fit import check_scales
from ..models.fitted import Fitted
from ..models.item_knn import ItemKNN
from ..models.kernel_ranker import KernelRanker
from ..models.model_folder import save_model
from ..models.recommender import Recommender
from ..models.scorer import Scorer
from ..models.simplex_scorer import SimplexScorer
from ..models.spec import ModelSpec, parse_model
from ..storage.folder import read_about
from ..storage.job import Job
from .cluster import Batches, check_executors, streamed, unseen
from .events import id_column, number_items, stage
from .pairs import count, kernel_values, rows_scorer, similarities

# By the type of ids in the folder: that in Spark, and functions from and to it.
_TYPES: dict[str, tuple[str, Any, Any]] = {
    "int64": ("bigint", None, None),
    "str": ("string", None, None),
    "UUID": ("string", UUID, str),
    "int": ("decimal(38,0)", int, Decimal),
}


def fit(
    frame: DataFrame,
    path: str | Path,
    *,
    user: str | None = None,
    item: str | None = None,
    model: str | ModelSpec = "kernel-ranker",
    partitions: int | None = None,
) -> None:
    """Fit a model on the events of a frame, and write it into a folder.

    The folder equals that of a fit without Spark, byte for byte but for the date.

    Parameters
    ----------
    frame : has a row per event; repeated events count once
    path : folder for the model, which all machines see under this name
    user, item : columns; by default those with usual names
    model : kernel-ranker, item-knn, spectral-ranker or kernel-ease, with parameters
    partitions : number of tasks; by default the number of cores. More need less memory each
    """
    spec = parse_model(model) if isinstance(model, str) else model
    checked, exponent = spec.make().checked(), float(spec.params.get("user_exponent", 0.0))
    check_scales(checked, "on Spark")
    session = frame.sparkSession
    cores = session.sparkContext.defaultParallelism
    n = whole("", "partitions", cores if partitions is None else partitions, 1)
    with Job.open(path, uuid4().hex, resumes=False) as job:
        check_executors(session, job, n)
        cap = spec.params.get("activity_cap")
        events = number_items(session, stage(frame, user, item, job, n, cap, exponent))
        nearest, items = None, events.items
        if isinstance(checked, ItemKNN) and (checked.neighbours or items) < items - 1:
            nearest = checked
        bounds = count(session, events, n, nearest)
        data, overlaps = events.interactions(), events.overlaps(pairs=nearest is None)
        steps = float(events.activity.astype(float) ** 2 @ events.numbers)
        if nearest is None and is_dense(*data.shape, steps, exponent):
            overlaps = replace(
                overlaps, dense=overlaps.filled(), indptr=None, columns=None, counts=None
            )
        scorer: Scorer | None = None
        if isinstance(checked, KernelRanker) and _is_compressed(overlaps):
            matrix = kernel_values(session, checked.kernel_for(data.shape[0]), events, n)
            weights = checked.reg, checked.negative_weight
            scorer = SimplexScorer(matrix, *weights, overlaps.degrees)
        elif nearest is not None:
            scorer = rows_scorer(job, "pairs-counts", overlaps.degrees)
        elif isinstance(checked, ItemKNN):
            scorer = similarities(session, checked, events, bounds)
        if scorer is None:
            checked.fit(data, overlaps)
        else:
            kept = overlaps if checked.keeps_overlaps else None
            checked.restore(Fitted(checked.get_params(), data, scorer, kept, time.time()))
        save_model(checked, job.path, lock=False)


def _is_compressed(overlaps: Overlaps) -> bool:
    """Return whether the pairs of a kernel matrix are those that share users."""
    heavy = overlaps.weighting is not None and 2 * overlaps.sizes.max() > overlaps.total
    dense = overlaps.dense is not None or prefers_dense(overlaps.items, overlaps.pairs)
    return not dense and not heavy


def recommend(
    frame: DataFrame,
    path: str | Path,
    n: int = 10,
    *,
    user: str | None = None,
    partitions: int | None = None,
    verify: bool = True,
    **options: Any,
) -> DataFrame:
    """Return a frame with the n best items of each user: user, rank, item, score, popular.

    Parameters
    ----------
    frame : has a column of users; each gets one list, however often it occurs
    path : folder of a model, which all machines see under this name
    user : the column; by default the one with a usual name
    partitions : number of tasks; four per core by default
    verify : whether the driver checks every byte of the folder first
    options : those of `Recommender.recommend`, such as ``exclude_seen`` and ``unknown="popular"``
    """
    folder = str(Path(path).absolute())
    cores = frame.sparkSession.sparkContext.defaultParallelism
    tasks = whole("", "partitions", 4 * cores if partitions is None else partitions, 1)
    load_model(folder, verify)
    about = read_about(folder)
    kinds = {role: _TYPES[about["ids"][f"{role}s"]][0] for role in ("user", "item")}
    name = str(find_columns(frame.columns, user=user)["user"])
    ids = frame.select(id_column(frame, name, "user").alias("user"))
    found = ids.schema["user"].dataType.simpleString()
    if (found == "string") != (kinds["user"] == "string"):
        raise InputError(
            f"users of the model are {about['ids']['users']}, and the column {name!r} has {found}",
            hint="cast the column",
            parameter="user",
        )
    wanted = ids.selectExpr(f"cast(user as {kinds['user']}) as user").repartition(tasks, "user")
    title = "" if about["table"] is None else ", title string"
    schema = f"user {kinds['user']}, rank int, item {kinds['item']}{title}, score double"
    work = partial(_lists, folder, about["hash"], about["ids"], n, options)
    return wanted.distinct().mapInArrow(partial(streamed, work), f"{schema}, popular boolean")


def _lists(
    folder: str,
    content: str,
    kinds: dict[str, str],
    n: int,
    options: dict[str, Any],
    batches: Batches,
) -> Batches:
    """Yield the lists of batches of users."""
    model, restore = _opened(folder, content), _TYPES[kinds["users"]][1]
    types = {"rank": pa.int32(), "score": pa.float64(), "popular": pa.bool_(), "title": pa.string()}
    plain = {role: _TYPES[kinds[f"{role}s"]][2] for role in ("user", "item")}
    for batch in filter(len, batches):
        if batch.column(0).null_count:
            raise InputError("some users are null", hint="drop rows without one")
        ids = batch.column(0).to_pylist()
        found = model.recommend(list(map(restore, ids)) if restore else ids, n, **options).to_dict()
        for role, convert in plain.items():
            found[role] = list(map(convert, found[role])) if convert else found[role]
        arrays = [pa.array(values, types.get(name)) for name, values in found.items()]
        yield pa.RecordBatch.from_arrays(arrays, list(found))


@lru_cache(maxsize=1)  # a worker process runs many tasks, and maps the folder once
def _opened(folder: str, content: str) -> Recommender:
    if not Path(folder).is_dir():
        raise unseen(folder)
    model = load_model(folder, verify=False, n_threads=1)
    if read_about(folder)["hash"] != content:
        raise ModelFileError(f"{folder} was replaced meanwhile", hint="ask for the lists again")
    return model
