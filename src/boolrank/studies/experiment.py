"""Experiment: which models are measured by which metrics on which split of which data, as a value.

Two experiments that are equal give the same results, bit for bit with any number of threads; on
another machine the last digits may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from ..data.inputs import is_name, load_inputs, load_published
from ..data.protocols import SPLITS, check_split, make_split
from ..data.splits import Split
from ..errors import ParameterError, ParameterTypeError
from ..evaluation.folds import DEFAULT_METRICS
from ..evaluation.metrics import parse_metrics
from ..models.spec import ModelSpec

__all__ = ["COLUMNS", "PUBLISHED", "Experiment"]

# The protocol that needs no parameters: somebody else has split already.
PUBLISHED = "published"
# The order of a split by the places of the rows in the files.
FILE_ORDER = "file"
# What files of one's own can be told: `Interactions.from_files` has the same names.
COLUMNS = ("user", "item", "rating", "time", "positive")


@dataclass(frozen=True)
class Experiment:
    """What to measure.

    Attributes
    ----------
    data : the name of a data set, or files; with the protocol ``"published"``, files in pairs
    models : what to fit
    protocol : one of `SPLITS`, or ``"published"``
    split : parameters of the protocol but the seed, where they are not to be its defaults; the
        order may also be ``"file"``, in which the places of the rows stand for the times
    metrics : such as ``"auc"`` and ``"ndcg@10"``
    seed : of everything random
    columns : which columns files have, see `Interactions.from_files`

    >>> from boolrank.studies import RankerSpec
    >>> Experiment(("filmtrust",), (RankerSpec("linear"),), split={"folds": 3}).metrics
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
        data: Any = self.data  # callers and files may say anything, here and below
        data = (data,) if isinstance(data, str) else tuple(data)
        if not data:
            raise ParameterError("an experiment needs data: a file, or the name of a data set")
        if not self.models:
            raise ParameterError("an experiment needs a model: give a kernel, such as 'linear'")
        for model in self.models:
            if not isinstance(model, ModelSpec):
                raise ParameterTypeError(
                    f"a model is a RankerSpec('linear') or a ModelSpec('popularity'), not {model!r}"
                )
        seed: Any = self.seed
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ParameterError(f"seed must be a whole number from 0 on, not {seed!r}")
        unknown = [name for name in self.columns if name not in COLUMNS]
        if unknown:
            raise ParameterError(
                f"there is no column option {unknown[0]!r}; there are {', '.join(COLUMNS)}"
            )
        split = {name: _plain(name, value) for name, value in self.split.items()}
        _check_protocol(self.protocol, split)
        metrics = tuple(str(each) for each in parse_metrics(self.metrics))
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "split", split)
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(self, "models", tuple(dict.fromkeys(self.models)))

    def load_split(self, folder: str | Path | None = None) -> Split:
        """Read the data and split them; ``folder`` is where data sets lie, see `load_dataset`."""
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
        """The same with whole paths of its files, which are found from any folder."""
        if is_name(self.data):
            return self
        paths = (str(Path(name).expanduser().absolute()) for name in self.data)
        return replace(self, data=tuple(paths))

    def to_dict(self) -> dict[str, Any]:
        """As JSON and TOML have it; `from_dict` gives it back.

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
        """What `to_dict` has given."""
        split = dict(content.get("split", {}))
        protocol = split.pop("protocol", "paper")
        return Experiment(
            data=tuple(content["data"]),
            models=tuple(ModelSpec.from_dict(model) for model in content["models"]),
            protocol=protocol,
            split=split,
            metrics=tuple(content.get("metrics", DEFAULT_METRICS)),
            seed=content.get("seed", 0),
            columns=dict(content.get("columns", {})),
        )


def _check_protocol(protocol: Any, split: Mapping[str, Any]) -> None:
    if "seed" in split:
        raise ParameterError("seed is of the whole experiment: put it beside data, not into split")
    if protocol == PUBLISHED and split:
        raise ParameterError(
            f"a published split has no parameter {next(iter(split))!r}: leave it out"
        )
    if protocol != PUBLISHED:
        check_split(str(protocol), split)


def _plain(name: str, value: Any) -> str | int | float:
    """A parameter of a split as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)  # as the times of data are
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float):
        raise ParameterTypeError(f"{name} of a split is a number or text, not {value!r}")
    return value
