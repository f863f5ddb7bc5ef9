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

[[models]]
model = "popularity"             # any other than the kernel ranker, by name

[columns]                        # of files, where their names do not tell
user = "customer"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..data.inputs import is_name
from ..errors import BoolrankError, InputError
from ..models.spec import RANKER, ModelSpec, RankerSpec, usual_params
from .arities import family, parse_arities
from .experiment import Experiment

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
    "model": ((str,), '"popularity"'),
    "kernel": ((str,), '"disjunctive(8)"'),
    "arities": ((str, int), '"1:150"'),
}
# What a parameter may be, by what it is by default.
_LIKE: dict[type, tuple[type, ...]] = {
    bool: (bool,),
    float: (int, float),
    int: (int, float),
    str: (str,),
    type(None): (bool, float, int, str),
}


@dataclass(frozen=True)
class _Source:
    """A TOML file, for messages that say where in it something is wrong."""

    path: Path
    text: str
    inside: str = ""

    def at(self, *keys: str) -> str:
        """The file, the line of the first key that stands in one line alone, and the table."""
        where = str(self.path)
        for key in keys:
            form = rf"""\s*(?:\[+\s*)?["']?{re.escape(key)}["']?\s*[\]=]"""
            lines = enumerate(self.text.split("\n"), start=1)
            found = [number for number, line in lines if re.match(form, line)]
            if len(found) == 1:
                where += f", line {found[0]}"
                break
        return f"{where}: {self.inside}" if self.inside else where


def read_experiment(path: str | Path) -> Experiment:
    r"""The experiment in a TOML file. Files that it names are looked for beside it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "small.toml")
    ...     lines = 'data = "synthetic:60x30x600"', "[[models]]", 'kernel = "linear"'
    ...     written = path.write_text("\n".join(lines))
    ...     read_experiment(path).models == (RankerSpec("linear"),)
    True
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"the experiment {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"the experiment {path} is not TOML: {error}; correct that line") from None
    source = _Source(path, text)
    _check(content, _KEYS, source, _NEEDED)
    inputs = [content["data"]] if isinstance(content["data"], str) else content["data"]
    for key, values in (
        ("data", inputs),
        ("metrics", content.get("metrics", [])),
        ("columns", content.get("columns", {}).values()),
    ):
        for value in values:
            if not isinstance(value, str):
                raise InputError(
                    f"{source.at(key)}: {key}: each is text in quotation marks, not {value!r}"
                )
    if not is_name(inputs):
        inputs = [str(path.parent / Path(name).expanduser()) for name in inputs]
    models: list[ModelSpec] = []
    for number, table in enumerate(content["models"], start=1):
        models += _models(table, replace(source, inside=f"models, number {number}"))
    try:
        plain = [model.to_dict() for model in models]
        return Experiment.from_dict(content | {"data": inputs, "models": plain})
    except BoolrankError as error:
        # Messages name the key that they are about; those of tables tell more than the table's.
        keys = [*content.get("split", {}), *content.get("columns", {}), *content]
        named = [key for key in keys if key in re.findall(r"\w+", str(error))]
        raise InputError(f"{source.at(*named)}: {error}") from None


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
    tables = [(f"[{name}]\n", content.pop(name)) for name in ("split", "columns")]
    tables += [("[[models]]\n", model) for model in content.pop("models")]
    parts = [("", content), *tables]
    return "\n".join(head + _lines(table) for head, table in parts if table)


def _models(table: Any, source: _Source) -> list[ModelSpec]:
    if not isinstance(table, dict):
        raise InputError(f'{source.at()}: write it as [[models]] and below kernel = "linear"')
    try:
        usual = usual_params(table.get("model", RANKER))
    except BoolrankError as error:
        raise InputError(f"{source.at('model')}: {error}") from None
    keys = {key: (_LIKE[type(value)], json.dumps(value)) for key, value in usual.items()}
    known = {key: _MODEL_KEYS[key] for key in _MODEL_KEYS if key == "model" or "kernel" in usual}
    _check(table, known | keys | known, source, () if "model" in table else ("kernel",))
    given = dict(table)
    name = given.pop("model", None)
    try:
        if "arities" in given:
            arities = parse_arities(str(given.pop("arities")))
            kernels = family(given.get("kernel", usual["kernel"]), arities)
            tables = [given | {"kernel": kernel} for kernel in kernels]
        else:
            tables = [given]
        if name is None:
            return [RankerSpec(**each) for each in tables]
        return [ModelSpec(name, each) for each in tables]
    except BoolrankError as error:
        raise InputError(f"{source.at()}: {error}") from None


def _check(
    table: Mapping[str, Any],
    known: Mapping[str, tuple[tuple[type, ...], str]],
    source: _Source,
    needed: tuple[str, ...],
) -> None:
    for key, value in table.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            raise InputError(f"{source.at(key)}: there is no key {key!r}; {hint}")
        types, form = known[key]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise InputError(f"{source.at(key)}: {key} is written as {form}, not {value!r}")
    for key in needed:
        if not table.get(key):
            raise InputError(f"{source.at()}: {key} is missing; write it as {known[key][1]}")


def _lines(table: Mapping[str, Any]) -> str:
    """A line for each key. JSON has the same form of values, but for this control character."""
    texts = {key: json.dumps(value, ensure_ascii=False) for key, value in table.items()}
    return "".join(f"{key} = {text}\n" for key, text in texts.items()).replace("\x7f", "\\u007f")
