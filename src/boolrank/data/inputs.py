"""Interactions and published splits by the name of a data set, or from files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Unpack

from ..checks import near_name
from ..errors import InputError, ParameterError
from ..table import counted
from .catalogue import DATASETS
from .conditions import EventFilters
from .dataset import Dataset
from .interactions import Interactions
from .protocols import published_folds
from .splits import Split
from .synthetic import synthetic

_FILTERS = EventFilters.__annotations__
_SYNTHETIC = re.compile(r"synthetic(?::(\d+)x(\d+)x(\d+)(?::(\d+))?)?")


def load_dataset(
    name: str,
    folder: str | Path | None = None,
    *,
    file_order: bool | None = None,
    **filters: Unpack[EventFilters],
) -> Interactions:
    """Return the interactions of a named data set on this machine.

    The name is one of ``boolrank datasets``, or ``synthetic:USERSxITEMSxINTERACTIONS:SEED``, the
    last parts optional. The folder of all data sets is by default ``BOOLRANK_DATA``, or in the
    user's cache. In ``file_order``, the numbers of the rows are the times; by default they are for
    sets without times that the paper orders so. The filters are those of
    `Interactions.from_frame`; synthetic data have none.

    >>> load_dataset("synthetic:300x200x2000")
    Interactions: 300 users x 200 items, 2,000 interactions
    >>> load_dataset("movielens")
    Traceback (most recent call last):
    boolrank.errors.ParameterError: there is no data set 'movielens'; did you mean 'movielens-1m'?
    """
    made = _SYNTHETIC.fullmatch(name)
    if made is None:
        return find_dataset(name).load(folder, file_order=file_order, **filters)
    for each in filters:
        raise ParameterError(f"synthetic data have no {each}", hint="leave it out", parameter=each)
    return synthetic(*(int(number) for number in made.groups() if number is not None))


def find_dataset(name: str) -> Dataset:
    """Return a data set of the catalogue, or raise with a similar name as hint."""
    if name not in DATASETS:
        hint = near_name(name, [*DATASETS, "synthetic:USERSxITEMSxINTERACTIONS"])
        raise ParameterError(f"there is no data set {name!r}", hint=hint, parameter="name")
    return DATASETS[name]


def is_name(inputs: Sequence[str]) -> bool:
    """Return True if the only input is the name of a data set and not of a file."""
    # A folder may have the name: data sets are in folders with their names.
    return (
        len(inputs) == 1
        and (inputs[0] in DATASETS or _SYNTHETIC.fullmatch(inputs[0]) is not None)
        and not Path(inputs[0]).is_file()
    )


def load_inputs(
    inputs: Sequence[str],
    folder: str | Path | None = None,
    file_order: bool | None = None,
    **columns: Any,
) -> Interactions:
    """Return interactions from files or globs, or of the data set that the only input names.

    The parameters are those of `load_dataset`, the columns and filters of
    `Interactions.from_files`, ``k_core``, that of `Interactions.k_core`, and ``database``, for
    which the only input is a query.
    """
    if (k := columns.pop("k_core", None)) is not None:
        return load_inputs(inputs, folder, file_order, **columns).k_core(k)
    if file_order and columns.get("time") is not None:
        raise ParameterError(
            "the order of the file and a column of times exclude each other",
            hint="leave out one of them",
            parameter="time",
        )
    single = inputs if "database" in columns else [each for each in inputs if is_name([each])]
    if single and len(inputs) > 1:
        problem = f"{single[0]!r} cannot be read together with other inputs"
        raise ParameterError(problem, hint="give a data set or a query alone")
    if "database" in columns:
        return Interactions.from_sql(inputs[0], file_order=bool(file_order), **columns)
    if single:
        filters = {name: columns.pop(name) for name in _FILTERS if name in columns}
        for given in (name for name, value in columns.items() if value is not None):
            raise InputError(
                f"{inputs[0]} is a data set with columns of its own",
                hint=f"leave out {given}, or give its file",
                parameter=given,
            )
        return load_dataset(inputs[0], folder, file_order=file_order, **filters)
    try:
        return Interactions.from_files(*inputs, file_order=bool(file_order), **columns)
    except InputError as error:
        near = get_close_matches(inputs[0], DATASETS, n=1) if len(inputs) == 1 else []
        if near and not Path(inputs[0]).exists():
            error.hint = f"there is a data set {near[0]!r}; for a file, {error.hint}"
        raise


def load_published(
    inputs: Sequence[str], folder: str | Path | None = None, **columns: Any
) -> Split:
    """Return the published split of a data set, or of pairs of files, training and test."""
    if "k_core" in columns:
        problem = "a published split is used as it is"
        raise ParameterError(problem, hint="leave out k_core", parameter="k_core")
    if is_name(inputs):
        known = [name for name, dataset in DATASETS.items() if len(dataset.files) == 2]
        if inputs[0] not in known:
            raise ParameterError(
                f"{inputs[0]} has no published split",
                hint=f"use {', '.join(known)}, or files in pairs, training and test",
            )
        train, test = DATASETS[inputs[0]].load_parts(folder)
        return published_folds((train, test))
    if not inputs or len(inputs) % 2:
        files = counted(len(inputs), "file")
        raise ParameterError(
            f"published folds are pairs of files, training and test, not {files}",
            hint="give two for each fold",
        )
    parts = [load_inputs([name], folder, False, **columns) for name in inputs]
    # Each file was typed on its own: if ids are text in one, they are text in all.
    for side in ("users", "items"):
        if len({isinstance(getattr(part, side)[0], str) for part in parts}) == 2:
            parts = [_with_text(part, side) for part in parts]
    return published_folds(*zip(parts[::2], parts[1::2], strict=True))


def _with_text(part: Interactions, side: str) -> Interactions:
    """Return the same interactions with the ids of one side as text."""
    ids = {"users": part.users.names(part.rows.numbers), "items": part.items.names(part.indices)}
    return Interactions.from_pairs(**ids | {side: list(map(str, ids[side]))}, time=part.time)
