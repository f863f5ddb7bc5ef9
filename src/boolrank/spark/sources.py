"""Files and tables of events as Spark frames, for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from ..data.columns import find_columns
from ..data.conditions import MISSING, Condition
from ..errors import InputError, ParameterError

# Endings with the format of Spark's readers and their options.
_TEXT = {"header": "true", "escape": '"', "mode": "FAILFAST"}
_FORMATS: dict[str, tuple[str, dict[str, str]]] = {
    ".csv": ("csv", _TEXT),
    ".tsv": ("csv", _TEXT | {"sep": "\t"}),
    ".json": ("json", {}),
    ".jsonl": ("json", {}),
    ".orc": ("orc", {}),
    ".parquet": ("parquet", {}),
}


def read(session: SparkSession, inputs: Sequence[str], given: Mapping[str, Any]) -> DataFrame:
    """Return the users and items of events in files, folders or tables of one kind.

    ``given`` has names of columns, and ``positive`` for the ratings that count. As in files read
    without Spark, ids are whole numbers if all of a column are, and text otherwise.
    """
    roles = {role: given.get(role) for role in ("user", "item", "rating")}
    for name in given.keys() - roles.keys() - {"positive"}:
        raise ParameterError(
            f"{name} goes without Spark",
            hint="select the events in Spark, and call boolrank.spark.fit",
            parameter=name,
        )
    kinds = {Path(each.rstrip("/")).suffix.lower() for each in inputs}
    if len(kinds) > 1:
        raise InputError("the inputs are of several kinds", hint="give files of one kind")
    kind, options = _FORMATS.get(kinds.pop(), ("parquet", {}))
    try:
        frame = session.read.options(**options).format(kind).load(list(inputs))
        columns = find_columns(frame.columns, given.get("positive"), **roles)
        if given.get("positive"):
            condition = Condition.parse(given["positive"])
            rating = f.col(f"`{columns['rating']}`")
            number = rating if isinstance(condition.value, str) else rating.cast("double")
            frame = frame.where(condition(number))
        frame = frame.select(
            *(frame[f"`{columns[role]}`"].alias(role) for role in ("user", "item"))
        )
        return _typed(frame) if kind == "csv" else frame
    except PySparkException as error:
        raise InputError(
            f"Spark cannot read {inputs[0]}: {str(error).partition(chr(10))[0]}",
            hint="name files or folders that all machines see",
        ) from None


def _typed(frame: DataFrame) -> DataFrame:
    """Return ids without blanks around them; as numbers where all are written as such."""
    texts = {role: f.trim(f.col(role)) for role in ("user", "item")}
    texts = {role: f.when(~text.isin(*MISSING), text) for role, text in texts.items()}
    numbers = {role: f.expr(f"try_cast({role} as bigint)") for role in texts}
    clean = frame.select(*(text.alias(role) for role, text in texts.items()))
    whole = [
        f.every(f.coalesce(number.cast("string") == f.col(role), f.col(role).isNull()))
        for role, number in numbers.items()
    ]
    found = dict(zip(numbers, clean.select(*whole).first() or (), strict=True))
    chosen = [numbers[role] if found[role] else f.col(role) for role in numbers]
    return clean.select(*(column.alias(role) for column, role in zip(chosen, numbers, strict=True)))
