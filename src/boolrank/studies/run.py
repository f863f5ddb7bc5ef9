"""Run an experiment, fold by fold and model by model, and summarise it.

In the folder of a run:

    cells/                  one result per fold and model, shared by all runs in the folder
    runs/ID/experiment.toml the experiment
    runs/ID/results.json    the results, equal for equal experiments, resumed or not
    runs/ID/manifest.json   time, machine, versions and durations
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._version import __version__
from ..data.splits import Split
from ..evaluation.folds import model_text
from ..evaluation.metrics import parse_metrics
from ..evaluation.result import Evaluation, FoldResult
from ..evaluation.significance import Comparison, compare
from ..models.spec import ModelSpec
from .cache import Task, digest, write_text
from .executor import Executor
from .experiment import Experiment, to_toml
from .machine import write_manifest


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

    @property
    def id(self) -> str:
        """A hash of all that the results depend on."""
        return _run_id(self.experiment, self.split)

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
    progress: Callable[[int, int, str], None] = lambda _done, _total, _what: None,
) -> Run:
    """Compute the results that are not in the cache.

    Overlaps are counted once per fold, for all models that use them and are not in the cache.

    Parameters
    ----------
    folder : for the cache and the results; None to write nothing
    split : the split of the experiment, if it has been made already
    data_folder : the folder of data sets, see `load_dataset`
    n_threads : all by default; the results do not depend on it
    progress : called with the number of results done and planned, and the last one

    >>> from boolrank.studies import Experiment, ModelSpec
    >>> found = run_experiment(Experiment(("synthetic:60x30x600",), (ModelSpec("popularity"),)))
    >>> len(found.evaluations["popularity"].folds), found.computed
    (5, 5)
    """
    start = time.time()
    split = experiment.load_split(data_folder) if split is None else split
    place = None if folder is None else Path(folder) / "runs" / _run_id(experiment, split)
    if place is not None:  # first, to fail early if the folder cannot be written to
        write_text(place / "experiment.toml", to_toml(experiment.anchored()))
    measures = tuple(parse_metrics(experiment.metrics))
    results: dict[ModelSpec, list[FoldResult]] = {model: [] for model in experiment.models}
    total, done = len(split) * len(results), 0
    with Executor(folder, n_threads) as executor:
        for number, fold in enumerate(split, start=1):
            for model in experiment.models:
                results[model].append(executor.run(Task(fold, model, measures)))
                done += 1
                progress(done, total, f"fold {number}, {model}")
    evaluations = {
        str(model): Evaluation(model_text(model.make()), repr(split), split.hash, tuple(found))
        for model, found in results.items()
    }
    run = Run(experiment, split, evaluations, executor.computed, place)
    if place is not None:
        write_text(place / "results.json", json.dumps(run.to_dict(), indent=1) + "\n")
        about = {
            "run": run.id,
            "seed": experiment.seed,
            "split": repr(split),
            "split_hash": split.hash,
            "computed_now": run.computed,
            "computed_before": total - run.computed,
            "seconds": {
                name: {"fit": round(found.fit_seconds, 4), "rank": round(found.rank_seconds, 4)}
                for name, found in evaluations.items()
            },
        }
        write_manifest(place / "manifest.json", about, run.computed, start, n_threads)
    return run


@dataclass(frozen=True)
class Summary:
    """A model of a run: means and deviations over folds, and the comparison with the best model."""

    model: str
    means: dict[str, float]
    deviations: dict[str, float]
    versus_best: Comparison | None


def summarize(run: Run, metric: str | None = None, resamples: int = 2_000) -> list[Summary]:
    """Return the models of a run, compared with the best by a metric.

    The metric is the first one of users by default; the best model has the best mean over folds.
    """
    found = run.evaluations
    if metric is None:
        metric = next((name for each in found.values() for name in each.user_metrics), None)
    versus: dict[str, Comparison] = {}
    if metric is not None and len(found) > 1:
        gains = {name: each.gain(metric, each.means[metric]) for name, each in found.items()}
        best = max(gains, key=lambda name: gains[name])
        rows = compare(found, metric, best, resamples=resamples, seed=run.experiment.seed)
        versus = {row.model: row for row in rows}
    return [
        Summary(name, each.means, each.deviations, versus.get(name)) for name, each in found.items()
    ]


def _run_id(experiment: Experiment, split: Split) -> str:
    about = {"boolrank": __version__, "split": split.hash, "experiment": experiment.to_dict()}
    return digest(about)[:16]
