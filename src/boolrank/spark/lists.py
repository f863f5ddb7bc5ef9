"""Lists for the users of a Spark frame, from a model folder that every worker maps once."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ..checks import whole
from ..data.columns import find_columns
from ..errors import InputError, ModelFileError
from ..models import load_model
from ..models.recommender import Recommender
from ..storage.folder import read_about
from .cluster import Batches, check_packages, count_cores, streamed, unseen
from .events import id_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# By the type of ids in the folder: that in Spark, and functions from and to it.
_TYPES: dict[str, tuple[str, Any, Any]] = {
    "int64": ("bigint", None, None),
    "str": ("string", None, None),
    "UUID": ("string", UUID, str),
    "int": ("decimal(38,0)", int, Decimal),
}


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
    check_packages()
    folder, cores = str(Path(path).absolute()), count_cores(frame)
    tasks = whole("", "partitions", 4 * cores if partitions is None else partitions, 1)
    load_model(folder, verify)
    about = read_about(folder)
    kinds = {role: _TYPES[about["ids"][f"{role}s"]][0] for role in ("user", "item")}
    names = [*(each for each in frame.columns if each != "item"), "item"]
    name = str(find_columns(names, user=user, item="item")["user"])
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
    import pyarrow as pa

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
