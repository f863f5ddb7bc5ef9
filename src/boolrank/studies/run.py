"""Run an experiment: fold by fold, model by model, and go on where an earlier run has stopped.

And a run in a few rows: each model's means, and how it stands beside the best.

In the folder of a run:

    cells/                  one file for each fold and model, shared by all runs in the folder
    runs/ID/experiment.toml what was measured
    runs/ID/results.json    what was found: equal for equal experiments, stopped in between or not
    runs/ID/manifest.json   when, where, with what versions, and how long it took
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..counts.overlaps import Overlaps
from ..data.splits import Split
from ..engines.threads import threads
from ..evaluation.folds import evaluate_fold, model_text
from ..evaluation.metrics import parse_metric
from ..evaluation.result import Evaluation, FoldResult
from ..evaluation.significance import Comparison, compare
from ..models.spec import ModelSpec
from .cache import Cells, canonical, cell_key, digest, write_text
from .experiment import Experiment
from .machine import clock, machine
from .toml import to_toml

__all__ = [
    "Progress",
    "Run",
    "Summary",
    "best_model",
    "main_metric",
    "nulls",
    "run_experiment",
    "summarize",
]

# Told how many results there are of how many, and what was done last.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False)
class Run:
    """What an experiment has found.

    Attributes
    ----------
    experiment, split : what was measured on what
    evaluations : by the text of its model, each
    computed : how many results were new; the others were there already
    folder : where it was written, or None

    >>> from boolrank.studies import Experiment, RankerSpec
    >>> found = run_experiment(Experiment(("synthetic:60x30x600",), (RankerSpec("linear"),)))
    >>> sorted(found.to_dict()), len(found.id)
    (['experiment', 'results', 'split', 'split_hash'], 16)
    """

    experiment: Experiment
    split: Split
    evaluations: dict[str, Evaluation]
    computed: int
    folder: Path | None

    @property
    def id(self) -> str:
        """A hash of all that the results depend on."""
        return run_id(self.experiment, self.split)

    def to_dict(self) -> dict[str, Any]:
        """The results as JSON has them, without times: these are never the same twice."""
        return {
            "experiment": self.experiment.to_dict(),
            "split": repr(self.split),
            "split_hash": self.split.hash,
            "results": [
                {
                    "model": name,
                    "means": nulls(found.means),
                    "deviations": nulls(found.deviations),
                    "folds": [
                        {
                            "users": len(fold.users),
                            "unseen_items": fold.unseen_items,
                            "cold_users": fold.cold_users,
                            "means": nulls(fold.means),
                        }
                        for fold in found.folds
                    ],
                }
                for name, found in self.evaluations.items()
            ],
        }


def run_experiment(
    experiment: Experiment,
    folder: str | Path | None = None,
    *,
    split: Split | None = None,
    data_folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Progress = lambda _done, _total, _what: None,
) -> Run:
    """Measure what is not there already, and write it down as it comes.

    Overlaps are counted once a fold, for all models that use them and are still to be measured.

    Parameters
    ----------
    experiment : what to measure
    folder : where results are kept; nowhere if not given
    split : the experiment's split, where it is at hand
    data_folder : where data sets lie, see `load_dataset`
    n_threads : all by default; the results do not depend on it

    >>> from boolrank.studies import Experiment, RankerSpec
    >>> found = run_experiment(Experiment(("synthetic:60x30x600",), (RankerSpec("linear"),)))
    >>> len(found.evaluations["linear"].folds), found.computed
    (5, 5)
    """
    start = time.time()
    split = experiment.load_split(data_folder) if split is None else split
    place = None if folder is None else Path(folder) / "runs" / run_id(experiment, split)
    cells = None if folder is None else Cells(Path(folder) / "cells")
    if place is not None:  # first, so that a folder that cannot be written to is no surprise later
        write_text(place / "experiment.toml", to_toml(experiment.anchored()))
    total = len(split) * len(experiment.models)
    results: dict[ModelSpec, list[FoldResult]] = {model: [] for model in experiment.models}
    done = computed = 0
    for number, fold in enumerate(split):
        overlaps = None
        users = list(fold.users)
        for model in experiment.models:
            key = cell_key(split, number, model, experiment.metrics)
            result = None if cells is None else cells.read(key, users)
            if result is None:
                overlaps = overlaps or Overlaps.of(fold.train, n_threads)
                options = {"overlaps": overlaps}
                result = evaluate_fold(
                    model.make(n_threads), fold, experiment.metrics, n_threads, **options
                )
                computed += 1
                if cells is not None:
                    cells.write(key, result)
            results[model].append(result)
            done += 1
            progress(done, total, f"fold {number + 1}, {model}")
    evaluations = {
        str(model): Evaluation(model_text(model.make()), repr(split), split.hash, tuple(found))
        for model, found in results.items()
    }
    run = Run(experiment, split, evaluations, computed, place)
    if place is not None:
        write_text(place / "results.json", json.dumps(run.to_dict(), indent=1) + "\n")
        # Who only looks at what is there must not pass for the one who computed it.
        if computed or not (place / "manifest.json").exists():
            manifest = _manifest(run, start, n_threads)
            write_text(place / "manifest.json", json.dumps(manifest, indent=1) + "\n")
    return run


@dataclass(frozen=True)
class Summary:
    """One model of a run.

    Attributes
    ----------
    model : as text
    means, deviations : by metric, over the folds
    versus_best : beside the best model by the first metric; None for that model itself

    >>> Summary("linear", {"auc": 0.9}, {"auc": 0.01}, None).means["auc"]
    0.9
    """

    model: str
    means: dict[str, float]
    deviations: dict[str, float]
    versus_best: Comparison | None


def summarize(run: Run, metric: str | None = None, resamples: int = 2_000) -> list[Summary]:
    """All models of a run, in their order.

    Parameters
    ----------
    metric : what they are compared by; the first that users have values of if not given
    resamples : of the bootstrap

    >>> from boolrank.studies import Experiment, RankerSpec, run_experiment
    >>> models = RankerSpec("linear"), RankerSpec("disjunctive(4)")
    >>> rows = summarize(run_experiment(Experiment(("synthetic:60x30x600",), models)))
    >>> [(row.model, row.versus_best is None) for row in rows]
    [('linear', False), ('disjunctive(4)', True)]
    """
    found = run.evaluations
    metric = metric or main_metric(run)
    beside: dict[str, Comparison] = {}
    if metric is not None and len(found) > 1:
        best = best_model(run, metric)
        rows = compare(found, metric, best, resamples=resamples, seed=run.experiment.seed)
        beside = {row.model: row for row in rows}
    return [
        Summary(name, each.means, each.deviations, beside.get(name)) for name, each in found.items()
    ]


def main_metric(run: Run) -> str | None:
    """The first metric that users have values of, if there is one."""
    metrics = run.experiment.metrics
    return next((each for each in metrics if parse_metric(each).metric.per_user), None)


def best_model(run: Run, metric: str) -> str:
    """The name of the model with the highest mean; one without any comes last."""
    means = {name: found.means[metric] for name, found in run.evaluations.items()}
    return max(means, key=lambda name: np.nan_to_num(means[name], nan=-np.inf))


def run_id(experiment: Experiment, split: Split) -> str:
    """A hash of an experiment, its data and the version that ran it, short enough for a name."""
    content = {"boolrank": __version__, "split": split.hash, "experiment": experiment.to_dict()}
    return digest(canonical(content))[:16]


def _manifest(run: Run, start: float, n_threads: int | None) -> dict[str, Any]:
    with threads(n_threads) as count:
        pass  # what is in force, which may be fewer than there are cores
    return {
        "run": run.id,
        "seed": run.experiment.seed,
        "split": repr(run.split),
        "split_hash": run.split.hash,
        **machine(),
        "threads": count,
        "started": clock(start),
        "finished": clock(time.time()),
        "computed_now": run.computed,
        "computed_before": len(run.split) * len(run.experiment.models) - run.computed,
        "seconds": {
            name: {"fit": round(found.fit_seconds, 4), "rank": round(found.rank_seconds, 4)}
            for name, found in run.evaluations.items()
        },
    }


def nulls(values: dict[str, float]) -> dict[str, float | None]:
    """Values as JSON has them, which has no NaN."""
    return {name: None if math.isnan(value) else value for name, value in values.items()}
