"""Experiments: models, metrics, data and split, as values and as TOML files.

Equal experiments give equal results, bit for bit with any number of threads; on another machine the
last digits may differ. In the folder of a run:

    cells/                  one result per fold and model, shared by all runs in the folder
    runs/ID/experiment.toml the experiment
    runs/ID/results.json    the results, equal for equal experiments, resumed or not
    runs/ID/manifest.json   time, machine, versions and durations
"""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from .._version import __version__
from ..checks import whole
from ..data.database import Database
from ..data.inputs import is_name, load_inputs, load_published
from ..data.protocols import SPLITS, check_split, make_split, usual_order
from ..data.splits import Split
from ..data.vocabulary import near_name
from ..errors import BoolrankError, InputError, ParameterError, ParameterTypeError
from ..evaluation.folds import DEFAULT_METRICS
from ..evaluation.metrics import parse_metrics
from ..evaluation.result import Evaluation, FoldResult
from ..models.spec import ModelSpec
from .arity import family, parse_arities
from .cache import Task, digest, write_text
from .executor import Executor
from .machine import write_results

# The protocol for data that are split already.
PUBLISHED = "published"
# The order by time, or a random one if there are no times.
USUAL = "usual"
# Options of `load_inputs`.
_COLUMNS = (
    *("user", "item", "rating", "time", "positive", "k_core", "database"),
    *("min_count", "since", "until", "last"),
)
_KEYS = ("data", "seed", "metrics", "split", "columns", "models")


@dataclass(frozen=True)
class Experiment:
    """Models, metrics, data and split. Functions cannot be written to a file, so metrics are names.

    Attributes
    ----------
    data : the name of a data set, or files; with the protocol ``"published"``, files in pairs
    protocol : one of `SPLITS`, or ``"published"``
    split : parameters of the protocol other than the seed; the order may also be ``"file"``, in
        which the row numbers of the files stand for time, or ``"usual"``, by time if possible
    columns : the columns and filters of files, see `Interactions.from_files`, ``k_core``, and
        ``database``, of which data is a query; passwords are not written

    >>> Experiment(("filmtrust",), (ModelSpec("popularity"),), split={"folds": 3}).metrics[:3]
    ('auc', 'map@10', 'ndcg@10')
    """

    data: tuple[str, ...]
    models: tuple[ModelSpec, ...]
    protocol: str = "paper"
    split: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = DEFAULT_METRICS
    seed: int = 0
    columns: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        data, columns = cast("Any", self.data), cast("Any", self.columns)
        data = (data,) if isinstance(data, str) else data
        is_table = isinstance(columns, Mapping) and _are_texts(
            [v for name, v in columns.items() if name not in ("k_core", "min_count", "database")]
        )
        are_models = self.models and all(isinstance(each, ModelSpec) for each in self.models)
        _check("data", data and _are_texts(data), data, '["ratings.csv"]')
        _check("metrics", _are_texts(self.metrics), self.metrics, '["auc", "ndcg@10"]')
        _check("columns", is_table, columns, 'user = "customer"')
        _check("split", isinstance(self.split, Mapping), self.split, "folds = 5")
        _check("models", are_models, self.models, "[ModelSpec('popularity')]")
        _check_keys("column option", columns, _COLUMNS)
        if "database" in columns:  # whose text has no password
            object.__setattr__(
                self, "columns", {**columns, "database": Database(columns["database"])}
            )
        split = {name: _plain(name, value) for name, value in self.split.items()}
        if "seed" in split:
            hint = "put it beside data, not into split"
            raise ParameterError("seed is not a split parameter", hint=hint, parameter="seed")
        if self.protocol == PUBLISHED and split:
            raise ParameterError(f"a published split has no parameter {next(iter(split))!r}")
        if self.protocol != PUBLISHED:
            check_split(str(self.protocol), split)
        object.__setattr__(self, "data", tuple(data))
        object.__setattr__(self, "seed", whole("", "seed", self.seed, low=0))
        object.__setattr__(self, "split", split)
        object.__setattr__(self, "metrics", tuple(map(str, parse_metrics(self.metrics))))
        object.__setattr__(self, "models", tuple(dict.fromkeys(self.models)))

    def load_split(self, folder: str | Path | None = None) -> Split:
        """Read the data and split them; for the folder of data sets see `load_dataset`."""
        if self.protocol == PUBLISHED:
            return load_published(self.data, folder, **self.columns)
        given = dict(self.split)
        file_order = given.get("order") == "file"
        if file_order:
            given["order"] = "time"
        parameters = signature(SPLITS[self.protocol]).parameters
        if "seed" in parameters:
            given["seed"] = self.seed
        data = load_inputs(self.data, folder, file_order, **self.columns)
        defaults = {"time": USUAL, "random": "random"}
        if "order" in parameters:
            order = given.get("order", defaults[parameters["order"].default])
            given["order"] = usual_order(data) if order == USUAL else order
        return make_split(data, self.protocol, **given)

    def anchored(self, folder: str | Path = ".") -> Experiment:
        """Return the experiment with absolute paths, of files relative to a folder."""
        if is_name(self.data) or "database" in self.columns:
            return self
        paths = (Path(folder, Path(name).expanduser()).absolute() for name in self.data)
        return replace(self, data=tuple(map(str, paths)))

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as JSON and TOML types."""
        return {
            "data": list(self.data),
            "seed": self.seed,
            "metrics": list(self.metrics),
            "split": {"protocol": self.protocol} | dict(self.split),
            "columns": {
                name: str(value) if name == "database" else value
                for name, value in self.columns.items()
            },
            "models": [model.to_dict() for model in self.models],
        }

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Experiment:
        """Return the experiment that `to_dict` wrote."""
        split = content.get("split", {})
        _check("split", isinstance(split, Mapping), split, 'protocol = "paper"')
        given = {"protocol": "paper"} | dict(split)
        models = tuple(ModelSpec.from_dict(model) for model in content["models"])
        fields = {"models": models, "protocol": given.pop("protocol"), "split": given}
        return Experiment(**dict(content) | fields)


def _check_keys(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    for key in given:
        if key not in known:
            raise ParameterError(f"no {what} {key!r}", hint=near_name(key, known), parameter=key)


def _check(name: str, right: Any, value: Any, example: str) -> None:
    if not right:
        raise ParameterTypeError(f"{name} is written as {example}, not {value!r}", parameter=name)


def _are_texts(values: Any) -> bool:
    """Return True for a text or a list of texts."""
    return isinstance(values, str | list | tuple) and all(isinstance(each, str) for each in values)


def _plain(name: str, value: Any) -> str | int | float:
    """Return a parameter of a split as a JSON type."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)  # times of data have no zone
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str | int | float):
        raise ParameterTypeError(f"{name} is a number or text, not {value!r}", parameter=name)
    return value


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file. Files that it names are relative to it."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"the experiment {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the experiment {path} is not TOML: {error}") from None
    try:
        return _experiment(content, path.parent)
    except BoolrankError as error:
        where = f"{path}{_line(text, error.parameter)}"
        raise InputError(f"{where}: {error.message}", hint=error.hint) from None


def _experiment(content: dict[str, Any], folder: Path) -> Experiment:
    _check_keys("key", content, _KEYS)
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
    """Return an experiment as the text of a TOML file."""
    content = experiment.to_dict()
    tables = [(f"[{name}]\n", content.pop(name)) for name in ("split", "columns")]
    tables += [("[[models]]\n", model) for model in content.pop("models")]
    parts = []
    for head, table in [("", content), *tables]:
        texts = {key: json.dumps(value, ensure_ascii=False) for key, value in table.items()}
        lines = "".join(f"{key} = {text}\n" for key, text in texts.items())
        parts += [head + lines] if table else []
    # JSON writes values as TOML does, except for one control character.
    return "\n".join(parts).replace("\x7f", "\\u007f")


@dataclass(frozen=True, eq=False)
class Run:
    """Evaluations of an experiment, by the text of the model.

    ``computed`` is the number of results that were not in the cache, ``folder`` the run's own.
    """

    experiment: Experiment
    split: Split
    evaluations: dict[str, Evaluation]
    computed: int
    folder: Path | None

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON types, without times, which vary."""
        return {
            "experiment": self.experiment.to_dict(),
            "split": repr(self.split),
            "split_hash": self.split.hash,
            "results": [
                {"model": name} | found.figures() for name, found in self.evaluations.items()
            ],
        }


def run_experiment(
    experiment: Experiment,
    folder: str | Path | None = None,
    *,
    split: Split | None = None,
    data_folder: str | Path | None = None,
    n_threads: int | None = None,
    alone: bool = False,
    progress: Callable[[int, int, str], None] = lambda _done, _total, _what: None,
) -> Run:
    """Compute the results that are not in the cache; models of a fold share overlaps.

    Parameters
    ----------
    folder : for the cache and the results; None to write nothing
    split : the split of the experiment, if it has been made already
    data_folder : the folder of data sets, see `load_dataset`
    alone : whether each model has a process and overlaps of its own, so that results have memory
    progress : called with the number of results done and planned, and the last one

    >>> found = run_experiment(Experiment(("synthetic:60x30x600",), (ModelSpec("popularity"),)))
    >>> len(found.evaluations["popularity"].folds), found.computed
    (5, 5)
    """
    start = time.time()
    split = experiment.load_split(data_folder) if split is None else split
    key = {"boolrank": __version__, "split": split.hash, "experiment": experiment.to_dict()}
    place = None if folder is None else Path(folder) / "runs" / digest(key)[:16]
    if place is not None:  # first, to fail early if the folder cannot be written to
        write_text(place / "experiment.toml", to_toml(experiment.anchored()))
    metrics = tuple(parse_metrics(experiment.metrics))
    results: dict[ModelSpec, list[FoldResult]] = {model: [] for model in experiment.models}
    cells = list(product(enumerate(split, start=1), experiment.models))
    if alone:  # a process serves all folds of a model
        cells.sort(key=lambda cell: experiment.models.index(cell[1]))
    with Executor(folder, n_threads, apart=alone) as executor:
        for done, ((number, fold), model) in enumerate(cells, start=1):
            results[model].append(executor.run(Task(fold, model, metrics, alone)))
            progress(done, len(cells), f"fold {number}, {model}")
    evaluations = {
        str(model): Evaluation(str(model), repr(split), split.hash, tuple(found))
        for model, found in results.items()
    }
    run = Run(experiment, split, evaluations, executor.computed, place)
    if place is not None:
        about = {
            "run": place.name,
            "seed": experiment.seed,
            "split": repr(split),
            "split_hash": split.hash,
            "computed_now": run.computed,
            "computed_before": len(cells) - run.computed,
            "seconds": {name: list(found.seconds) for name, found in evaluations.items()},
        }
        write_results(place, run.to_dict(), about, run.computed, start, n_threads)
    return run
