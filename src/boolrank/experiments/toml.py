"""Experiments as TOML files. Only data and a model are needed; all keys are here:

data = "movielens-1m"            # or files: ["ratings.csv"], beside the TOML file
metrics = ["auc", "ndcg@10"]
seed = 0

[split]
protocol = "paper"
folds = 5

[[models]]
kernel = "linear"

[[models]]
kernel = "disjunctive"
arities = "1:150"                # one model for each
reg = 0.1

[columns]                        # of files, where their names do not tell
user = "customer"
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..data.inputs import is_name
from ..errors import BoolrankError, InputError
from .arities import family, parse_arities
from .experiment import Experiment, RankerSpec

__all__ = ["read_experiment", "to_toml"]

# Each key of the file, what it holds, and how to write it.
_KEYS: dict[str, tuple[tuple[type, ...], str]] = {
    "data": ((str, list), '"movielens-1m" or ["ratings.csv"]'),
    "seed": ((int,), "0"),
    "metrics": ((list,), '["auc", "ndcg@10"]'),
    "split": ((dict,), 'a table [split] with protocol = "paper"'),
    "columns": ((dict,), 'a table [columns] with user = "customer"'),
    "models": ((list,), 'tables [[models]] with kernel = "linear"'),
}
_NEEDED = ("data", "models")
_MODEL_KEYS: dict[str, tuple[tuple[type, ...], str]] = {
    "kernel": ((str,), '"disjunctive(8)"'),
    "arities": ((str, int), '"1:150"'),
    "reg": ((int, float), "0.1"),
    "negative_weight": ((int, float), "1.0"),
}


def read_experiment(path: str | Path) -> Experiment:
    r"""The experiment in a TOML file. Files that it names are looked for beside it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "small.toml")
    ...     lines = 'data = "synthetic:60x30x600"', "[[models]]", 'kernel = "linear"'
    ...     written = path.write_text("\n".join(lines))
    ...     read_experiment(path).models
    (RankerSpec(kernel='linear', reg=0.1, negative_weight=1.0),)
    """
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"the experiment {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the experiment {path} is not TOML: {error}; correct that line") from None
    _check(content, _KEYS, f"{path}", _NEEDED)
    inputs = [content["data"]] if isinstance(content["data"], str) else content["data"]
    _check_texts(inputs, f"{path}: data")
    _check_texts(content.get("metrics", []), f"{path}: metrics")
    _check_texts(content.get("columns", {}).values(), f"{path}: columns")
    if not is_name(inputs):
        inputs = [str(path.parent / name) for name in inputs]
    models: list[RankerSpec] = []
    for number, table in enumerate(content["models"], start=1):
        models += _models(table, f"{path}: models, number {number}")
    try:
        plain = [asdict(model) for model in models]
        return Experiment.from_dict(content | {"data": inputs, "models": plain})
    except BoolrankError as error:
        raise InputError(f"{path}: {error}") from None


def to_toml(experiment: Experiment) -> str:
    """An experiment as the text of a TOML file; `read_experiment` gives it back.

    >>> print(to_toml(Experiment(("filmtrust",), (RankerSpec("linear"),), metrics=("auc",))))
    data = ["filmtrust"]
    seed = 0
    metrics = ["auc"]
    <BLANKLINE>
    [split]
    protocol = "paper"
    <BLANKLINE>
    [[models]]
    kernel = "linear"
    reg = 0.1
    negative_weight = 1.0
    <BLANKLINE>
    """
    content = experiment.to_dict()
    tables = {name: content.pop(name) for name in ("split", "columns")}
    models = content.pop("models")
    parts = [content]
    heads = [""]
    for name, table in tables.items():
        if table:
            parts.append(table)
            heads.append(f"[{name}]\n")
    parts += models
    heads += ["[[models]]\n"] * len(models)
    return "\n".join(head + _lines(part) for head, part in zip(heads, parts, strict=True))


def _models(table: Any, where: str) -> list[RankerSpec]:
    if not isinstance(table, dict):
        raise InputError(f'{where}: write it as [[models]] and below kernel = "linear"')
    _check(table, _MODEL_KEYS, where, ("kernel",))
    given = dict(table)
    kernel = given.pop("kernel")
    arities = given.pop("arities", None)
    try:
        kernels = [kernel] if arities is None else family(kernel, parse_arities(str(arities)))
        return [RankerSpec(each, **given) for each in kernels]
    except BoolrankError as error:
        raise InputError(f"{where}: {error}") from None


def _check(
    table: Mapping[str, Any],
    known: Mapping[str, tuple[tuple[type, ...], str]],
    where: str,
    needed: tuple[str, ...],
) -> None:
    for key, value in table.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise InputError(f"{where}: there is no key {key!r}; {hint}")
        types, form = known[key]
        if not isinstance(value, types) or isinstance(value, bool):
            raise InputError(f"{where}: {key} is written as {form}, not {value!r}")
    for key in needed:
        if not table.get(key):
            raise InputError(f"{where}: {key} is missing; write it as {known[key][1]}")


def _check_texts(values: Any, where: str) -> None:
    for value in values:
        if not isinstance(value, str):
            raise InputError(f"{where}: each is text in quotation marks, not {value!r}")


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items())


def _value(value: Any) -> str:
    """A value as TOML has it: JSON has the same form, for text without control characters."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
