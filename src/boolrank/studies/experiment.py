"""Experiment: models, metrics, data and split, as a value.

Equal experiments give equal results, bit for bit with any number of threads; on another machine the
last digits may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import whole
from ..data.inputs import is_name, load_inputs, load_published
from ..data.protocols import SPLITS, check_split, make_split
from ..data.splits import Split
from ..errors import ParameterError, ParameterTypeError
from ..evaluation.folds import DEFAULT_METRICS
from ..evaluation.metrics import parse_metrics
from ..models.spec import ModelSpec

__all__ = ["COLUMNS", "PUBLISHED", "Experiment"]

# The protocol for data that are split already.
PUBLISHED = "published"
# The order in which the row numbers of the files stand for time.
FILE_ORDER = "file"
# Options of `Interactions.from_files`.
COLUMNS = ("user", "item", "rating", "time", "positive")


@dataclass(frozen=True)
class Experiment:
    """Which models to evaluate by which metrics on which split of which data.

    Everything in it can be written to a file. So metrics are names; `evaluate` takes functions too.

    Attributes
    ----------
    data : the name of a data set, or files; with the protocol ``"published"``, files in pairs
    models : the models
    protocol : one of `SPLITS`, or ``"published"``
    split : parameters of the protocol other than the seed; the order may also be ``"file"``, in
        which the row numbers of the files stand for time
    metrics : such as ``"auc"`` and ``"ndcg@10"``
    seed : of the split
    columns : the columns of files, see `Interactions.from_files`

    >>> Experiment(("filmtrust",), (ModelSpec("popularity"),), split={"folds": 3}).metrics
    ('auc', 'map@10', 'ndcg@10')
    """

    data: tuple[str, ...]
    models: tuple[ModelSpec, ...]
    protocol: str = "paper"
    split: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = DEFAULT_METRICS
    seed: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        data = _texts("data", self.data, '"movielens-1m"')
        _texts("metrics", self.metrics, '["auc", "ndcg@10"]')
        columns = _table("columns", self.columns, 'user = "customer"')
        _texts("columns", list(columns.values()), 'user = "customer"')
        unknown = [name for name in columns if name not in COLUMNS]
        if unknown:
            raise ParameterError(
                f"there is no column option {unknown[0]!r}",
                hint=f"there are {', '.join(COLUMNS)}",
                parameter=unknown[0],
            )
        if not self.models:
            raise ParameterError("an experiment needs a model", parameter="models")
        for model in self.models:
            if not isinstance(model, ModelSpec):
                raise ParameterTypeError(
                    f"a model is a ModelSpec, such as ModelSpec('popularity'), not {model!r}",
                    parameter="models",
                )
        split = _table("split", self.split, 'protocol = "paper"')
        split = {name: _plain(name, value) for name, value in split.items()}
        _check_protocol(self.protocol, split)
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "seed", whole("", "seed", self.seed, low=0))
        object.__setattr__(self, "split", split)
        object.__setattr__(self, "metrics", tuple(map(str, parse_metrics(self.metrics))))
        object.__setattr__(self, "models", tuple(dict.fromkeys(self.models)))

    def load_split(self, folder: str | Path | None = None) -> Split:
        """Read the data and split them; for the folder of data sets see `load_dataset`."""
        if self.protocol == PUBLISHED:
            return load_published(self.data, folder, **self.columns)
        given = dict(self.split)
        file_order = given.get("order") == FILE_ORDER
        if file_order:
            given["order"] = "time"
        if "seed" in signature(SPLITS[self.protocol]).parameters:
            given["seed"] = self.seed
        data = load_inputs(self.data, folder, file_order, **self.columns)
        return make_split(data, self.protocol, **given)

    def anchored(self) -> Experiment:
        """Return the experiment with absolute paths."""
        if is_name(self.data):
            return self
        paths = (str(Path(name).expanduser().absolute()) for name in self.data)
        return replace(self, data=tuple(paths))

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as JSON and TOML types.

        >>> found = Experiment(("filmtrust",), (ModelSpec("popularity"),))
        >>> Experiment.from_dict(found.to_dict()) == found
        True
        """
        return {
            "data": list(self.data),
            "seed": self.seed,
            "metrics": list(self.metrics),
            "split": {"protocol": self.protocol} | dict(self.split),
            "columns": dict(self.columns),
            "models": [model.to_dict() for model in self.models],
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Experiment:
        """Return the experiment that `to_dict` wrote."""
        split = dict(_table("split", content.get("split", {}), 'protocol = "paper"'))
        protocol = split.pop("protocol", "paper")
        models = tuple(ModelSpec.from_dict(model) for model in content["models"])
        given = {k: v for k, v in content.items() if k not in ("split", "models")}
        return Experiment(**given, models=models, protocol=protocol, split=split)


def _texts(name: str, value: Any, example: str) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) for each in values):
        raise ParameterTypeError(f"{name} is written as {example}, not {value!r}", parameter=name)
    if not values and name == "data":
        raise ParameterError("an experiment needs data: files or a data set", parameter=name)
    return tuple(values)


def _table(name: str, value: Any, example: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterTypeError(
            f"{name} is a table with entries such as {example}, not {value!r}", parameter=name
        )
    return dict(value)


def _check_protocol(protocol: Any, split: Mapping[str, Any]) -> None:
    if "seed" in split:
        raise ParameterError(
            "seed is a parameter of the whole experiment",
            hint="put it beside data, not into split",
            parameter="seed",
        )
    if protocol == PUBLISHED and split:
        raise ParameterError(f"a published split has no parameter {next(iter(split))!r}")
    if protocol != PUBLISHED:
        check_split(str(protocol), split)


def _plain(name: str, value: Any) -> str | int | float:
    """Return a parameter of a split as a JSON type."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)  # times of data have no zone
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float):
        raise ParameterTypeError(
            f"{name} of a split is a number or text, not {value!r}", parameter=name
        )
    return value
