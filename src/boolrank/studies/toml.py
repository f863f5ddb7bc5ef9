"""Experiments as TOML files. Only data and a model are required:

data = "movielens-1m"            # or files: ["ratings.csv"], relative to this file
metrics = ["auc", "ndcg@10"]
seed = 0

[split]
protocol = "paper"
folds = 5

[[models]]
kernel = "disjunctive"           # the model is kernel-ranker if no other is named
arities = "1:150"                # one model for each
reg = 0.1

[[models]]
model = "popularity"

[columns]                        # of files, if their names do not tell
user = "customer"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..data.vocabulary import near_name
from ..errors import BoolrankError, InputError, ParameterError, ParameterTypeError
from ..models.spec import ModelSpec
from .arity import family, parse_arities
from .experiment import Experiment

__all__ = ["read_experiment", "to_toml"]

_KEYS = ("data", "seed", "metrics", "split", "columns", "models")


def read_experiment(path: str | Path) -> Experiment:
    r"""Read an experiment from a TOML file. Files that it names are relative to it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "small.toml")
    ...     lines = 'data = "synthetic:60x30x600"', "[[models]]", 'model = "popularity"'
    ...     written = path.write_text("\n".join(lines))
    ...     read_experiment(path).models == (ModelSpec("popularity"),)
    True
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"the experiment {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the experiment {path} is not TOML: {error}") from None
    try:
        return _experiment(content, path.parent)
    except BoolrankError as error:
        where = f"{path}{_line(text, error.parameter)}"
        raise InputError(f"{where}: {error.message}", hint=error.hint) from None


def _experiment(content: dict[str, Any], folder: Path) -> Experiment:
    for key in content:
        if key not in _KEYS:
            raise ParameterError(f"no key {key!r}", hint=near_name(key, _KEYS), parameter=key)
    for key in ("data", "models"):
        if not content.get(key):
            raise ParameterError(f"{key} is missing")
    models: list[dict[str, Any]] = []
    for number, table in enumerate(content["models"], start=1):
        try:
            models += [spec.to_dict() for spec in _models(table)]
        except BoolrankError as error:
            message = f"models, number {number}: {error.message}"
            raise InputError(message, hint=error.hint, parameter=error.parameter) from None
    return Experiment.from_dict(content | {"models": models}).anchored(folder)


def _models(table: Any) -> list[ModelSpec]:
    if not isinstance(table, dict) or not table.keys() & {"model", "kernel"}:
        raise ParameterTypeError(f'kernel = "linear" or model = "ease" is missing in {table!r}')
    given = {"model": "kernel-ranker"} | table
    if "arities" not in given:
        return [ModelSpec.from_dict(given)]
    kernels = family(str(given.get("kernel")), parse_arities(str(given.pop("arities"))))
    return [ModelSpec.from_dict(given | {"kernel": kernel}) for kernel in kernels]


def _line(text: str, key: str) -> str:
    """Return the line of a key as text, if exactly one line has it."""
    form = rf"""\s*(?:\[+\s*)?["']?{re.escape(key)}["']?\s*[\]=]"""
    lines = enumerate(text.split("\n"), start=1)
    found = [number for number, line in lines if key and re.match(form, line)]
    return f", line {found[0]}" if len(found) == 1 else ""


def to_toml(experiment: Experiment) -> str:
    """Return an experiment as the text of a TOML file.

    >>> models = (ModelSpec("popularity"),)
    >>> print(to_toml(Experiment(("filmtrust",), models, metrics=("auc",))))
    data = ["filmtrust"]
    seed = 0
    metrics = ["auc"]
    <BLANKLINE>
    [split]
    protocol = "paper"
    <BLANKLINE>
    [[models]]
    model = "popularity"
    <BLANKLINE>
    """
    content = experiment.to_dict()
    tables = [(f"[{name}]\n", content.pop(name)) for name in ("split", "columns")]
    tables += [("[[models]]\n", model) for model in content.pop("models")]
    parts = [("", content), *tables]
    return "\n".join(head + _lines(table) for head, table in parts if table)


def _lines(table: Mapping[str, Any]) -> str:
    """Return a line per key. JSON writes values as TOML does, except for one control character."""
    texts = {key: json.dumps(value, ensure_ascii=False) for key, value in table.items()}
    return "".join(f"{key} = {text}\n" for key, text in texts.items()).replace("\x7f", "\\u007f")
