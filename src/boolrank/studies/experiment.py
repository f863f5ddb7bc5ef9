"""Experiments: models, metrics, data and split as a value, and as a TOML file.

Equal experiments give equal results, bit for bit with any number of threads; on another machine the
last digits may differ.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from inspect import signature
from pathlib import Path
from typing import Any, cast

from ..checks import known_name, whole
from ..data.database import Database
from ..data.inputs import is_name, load_inputs, load_published
from ..data.protocols import SPLITS, check_split, make_split, usual_order
from ..data.splits import Split
from ..errors import BoolrankError, InputError, ParameterError, ParameterTypeError
from ..evaluation.folds import DEFAULT_METRICS
from ..evaluation.metrics import parse_metrics
from ..models.spec import ModelSpec
from .arity import family, parse_arities

# The protocol for data that are split already.
PUBLISHED = "published"
_KEYS = ("data", "seed", "metrics", "split", "columns", "models")
# The order by time, or a random one if there are no times.
USUAL = "usual"
# Options of `load_inputs`.
_NUMBERS = ("k_core", "min_count")
_COLUMNS = (
    *("user", "item", "rating", "time", "positive", "database"),
    *("since", "until", "last", *_NUMBERS),
)


@dataclass(frozen=True)
class Experiment:
    """Models, metrics, data and split. Metrics are names: functions cannot be written to a file.

    Attributes
    ----------
    data : the name of a data set, or files; with the protocol ``"published"``, files in pairs
    protocol : one of `SPLITS`, or ``"published"``
    split : parameters of the protocol other than the seed; the order may also be ``"file"``, in
        which the row numbers of the files stand for time, or ``"usual"``, by time if possible
    columns : the columns and filters of files, see `Interactions.from_files`, ``k_core``, and
        ``database``, for which data is a query; passwords are not written

    >>> Experiment(("filmtrust",), (ModelSpec("popularity"),), split={"folds": 3}).metrics[:3]
    ('auc', 'map@10', 'ndcg@10')
    """

    data: tuple[str, ...]
    models: tuple[ModelSpec, ...] = ()
    protocol: str = "paper"
    split: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = DEFAULT_METRICS
    seed: int = 0
    columns: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        data, columns = cast("Any", self.data), cast("Any", self.columns)
        data = (data,) if isinstance(data, str) else data
        are_models = all(isinstance(each, ModelSpec) for each in self.models)
        _check("data", data and _are_texts(data), data, '["ratings.csv"]')
        _check("metrics", _are_texts(self.metrics), self.metrics, '["auc", "ndcg@10"]')
        _check("columns", isinstance(columns, Mapping), columns, 'user = "customer"')
        _check("split", isinstance(self.split, Mapping), self.split, "folds = 5")
        _check("models", are_models, self.models, "[ModelSpec('popularity')]")
        _check_keys("column option", columns, _COLUMNS)
        split = {name: _plain(name, value) for name, value in self.split.items()}
        if "seed" in split:
            hint = "put it beside data, not into split"
            raise ParameterError("seed is not a split parameter", hint=hint, parameter="seed")
        if self.protocol == PUBLISHED and split:
            raise ParameterError(f"a published split has no parameter {next(iter(split))!r}")
        if self.protocol != PUBLISHED:
            check_split(str(self.protocol), split)
        checked = {
            "data": tuple(data),
            "models": tuple(dict.fromkeys(self.models)),
            "split": split,
            "metrics": tuple(map(str, parse_metrics(self.metrics))),
            "seed": whole("", "seed", self.seed, low=0),
            "columns": {name: _column(name, value) for name, value in columns.items()},
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def load_split(self, folder: str | Path | None = None) -> Split:
        """Read the data and split them; for the folder of data sets see `load_dataset`."""
        if self.protocol == PUBLISHED:
            return load_published(self.data, folder, **self.columns)
        parameters = signature(SPLITS[self.protocol]).parameters
        given = dict(self.split) | ({"seed": self.seed} if "seed" in parameters else {})
        in_file_order = given.get("order") == "file"
        # The paper's protocol takes the order of rows for unknown times; a race should not.
        stand_in = None if self.protocol != "hold_out" else False
        data = load_inputs(self.data, folder, in_file_order or stand_in, **self.columns)
        if "order" in parameters:
            order = "time" if in_file_order else given.get("order", USUAL)
            given["order"] = usual_order(data) if order == USUAL else order
        return make_split(data, self.protocol, **given)

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as JSON and TOML types."""
        return {
            "data": list(self.data),
            "seed": self.seed,
            "metrics": list(self.metrics),
            "split": {"protocol": self.protocol} | dict(self.split),
            "columns": {k: str(v) if k == "database" else v for k, v in self.columns.items()},
            "models": [model.to_dict() for model in self.models],
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Experiment:
        """Return the experiment that `to_dict` or a TOML file describes."""
        _check_keys("key", content, _KEYS)
        for key in ("data", "models"):
            if not content.get(key):
                raise ParameterError(f"{key} is missing")
        split, tables = content.get("split", {}), content["models"]
        _check("split", isinstance(split, Mapping), split, 'protocol = "paper"')
        _check("models", isinstance(tables, list), tables, '[{model = "ease"}]')
        given = {"protocol": "paper"} | dict(split)
        models = tuple(spec for table in tables for spec in _models(table))
        fields = {"models": models, "protocol": given.pop("protocol"), "split": given}
        return Experiment(**dict(content) | fields)


def _check_keys(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raise for the first key that is not known."""
    for key in given:
        known_name(key, known, f"no {what} {key!r}")


def _check(name: str, right: Any, value: Any, example: str) -> None:
    if not right:
        raise ParameterTypeError(f"{name} is written as {example}, not {value!r}", parameter=name)


def _are_texts(values: Any) -> bool:
    """Return True for a text or a list of texts."""
    return isinstance(values, str | list | tuple) and all(isinstance(each, str) for each in values)


def _plain(name: str, value: Any) -> str | int | float:
    """Return a parameter of a split as a JSON type."""
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float):
        raise ParameterTypeError(f"{name} is a number or text, not {value!r}", parameter=name)
    return value


def _column(name: str, value: Any) -> str | int | Database:
    """Return an option of the columns; a database's text has no password."""
    value = value.isoformat() if isinstance(value, date) else value
    right = isinstance(value, int if name in _NUMBERS else str | Database)
    _check(name, right, value, "10" if name in _NUMBERS else '"customer"')
    return Database(value) if name == "database" else value


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file. Files that it names are relative to it."""
    path = Path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(
            f"the experiment {path} cannot be read: {error.strerror}",
            hint="check its name and folder",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the experiment {path} is not TOML: {error}", hint="correct it") from None
    try:
        made = Experiment.from_dict(content)
    except BoolrankError as error:
        raise InputError(f"{path}: {error.message}", hint=error.hint) from None
    if is_name(made.data) or "database" in made.columns:
        return made
    files = (Path(path.parent, Path(name).expanduser()).absolute() for name in made.data)
    return replace(made, data=tuple(map(str, files)))


def _models(table: Any) -> list[ModelSpec]:
    if not isinstance(table, dict) or not table.keys() & {"model", "kernel"}:
        raise ParameterTypeError(f'kernel = "linear" or model = "ease" is missing in {table!r}')
    given = {"model": "kernel-ranker"} | table
    _check("model", isinstance(given["model"], str), given["model"], '"ease"')
    if "arities" not in given:
        return [ModelSpec.from_dict(given)]
    kernels = family(str(given.get("kernel")), parse_arities(str(given.pop("arities"))))
    return [ModelSpec.from_dict(given | {"kernel": kernel}) for kernel in kernels]
