"""Runs of experiments, and manifests: when, where and with which versions results were computed.

In the folder of a run:

    cells/                  one result per fold and model, shared by all runs in the folder
    runs/ID/results.json    the experiment and its results, equal for equal experiments
    runs/ID/manifest.json   time, machine, versions and durations
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from .._version import __version__
from ..data.splits import Split
from ..engines.threads import threads
from ..errors import ParameterError
from ..evaluation.metrics import parse_metrics
from ..evaluation.result import Evaluation, FoldResult
from ..models.spec import ModelSpec
from ..storage.output import check_output, write_text
from .cache import Task, digest, write_json
from .executor import Executor
from .experiment import Experiment

# The last ones are optional.
_LIBRARIES = ("numpy", "scipy", "numba", "narwhals", "implicit", "irspack", "optuna")


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
    alone : whether each model has its own process and overlaps, so that results include memory
    progress : called with the number of results done and planned, and the last one

    >>> found = run_experiment(Experiment(("synthetic:60x30x600",), (ModelSpec("popularity"),)))
    >>> len(found.evaluations["popularity"].folds), found.computed
    (5, 5)
    """
    if not experiment.models:
        raise ParameterError("there is no model to run", hint="give some, such as 'ease'")
    start = time.time()
    split = experiment.load_split(data_folder) if split is None else split
    key = {"boolrank": __version__, "split": split.hash, "experiment": experiment.to_dict()}
    place = None if folder is None else Path(folder) / "runs" / digest(key)[:16]
    check_output(folder)
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


def write_results(
    folder: Path,
    results: Mapping[str, Any],
    about: Mapping[str, Any],
    computed: int,
    started: float,
    n_threads: int | None,
) -> dict[str, Any]:
    """Write results.json and manifest.json; keep the manifest if nothing was recomputed."""
    write_json(folder / "results.json", results, indent=1)
    manifest = dict(about) | machine()
    for name, moment in (("started", started), ("finished", time.time())):
        manifest[name] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
    with threads(n_threads) as manifest["threads"]:
        pass
    path = folder / "manifest.json"
    if not computed:
        with suppress(OSError, ValueError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(kept, dict) and kept.keys() >= manifest.keys():
                return kept
    write_text(path, json.dumps(manifest, indent=1) + "\n")
    return manifest


def machine() -> dict[str, Any]:
    """Return the machine and the versions of the libraries that compute."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    versions = {"python": platform.python_version(), "boolrank": __version__}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    processor = platform.processor()
    with suppress(OSError):  # Linux has the name only in a file
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        processor = next(named, processor)
    about = {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": processor,
        "cores": os.cpu_count(),
    }
    return {"versions": versions, "machine": about}
