"""What a comparison has found, for whoever prints or draws it, and how that is written down.

In the folder of a comparison:

    measured/       one file for each fold and parameters, found by what it is the result of
    studies/        what was tried to find parameters
    results.json    what was found: equal for equal comparisons, stopped in between or not
    manifest.json   when, where, with what versions, and how long it took
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..data.splits import Split
from ..engines.threads import threads
from ..evaluation.result import Evaluation
from ..evaluation.significance import Comparison, compare
from ..models.spec import ModelSpec
from .cache import write_text
from .machine import clock, machine

__all__ = ["OURS", "ModelResult", "SetComparison", "record"]

# The models on boolean kernels that this library is for; all others are what it is held against.
OURS = ("kernel-ranker", "kernel-ease", "mean-ranker")
# What models of the table may come from, and what finds parameters.
_OTHERS = ("implicit", "irspack", "optuna")


@dataclass(frozen=True, eq=False)
class ModelResult:
    """A model on one data set: for each metric the parameters that were best by it in validation.

    Attributes
    ----------
    name : of the model
    chosen : by metric, its parameters
    evaluations : by the text of its parameters, what they were worth on the test folds
    trials, failed : of the search, how many there were, and how many of these came to nothing
    error : why there is no more of it, or ""

    >>> ModelResult("ease", error="out of memory").chosen
    {}
    """

    name: str
    chosen: Mapping[str, ModelSpec] = field(default_factory=dict)
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    trials: int = 0
    failed: int = 0
    error: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is one on a boolean kernel."""
        return self.name.partition("(")[0] in OURS

    def by(self, metric: str) -> Evaluation:
        """What the parameters that were chosen by a metric are worth, by all metrics."""
        return self.evaluations[str(self.chosen[metric])]

    def seconds(self, metric: str) -> tuple[float, float]:
        """To fit, and to rank for all test users of a fold: medians over the folds.

        Not means: the first fold of a process also loads or compiles its loops.
        """
        folds = self.by(metric).folds
        return median(f.fit_seconds for f in folds), median(f.rank_seconds for f in folds)

    def peak_memory(self, metric: str) -> int | None:
        """Bytes that the process held at most; None where the system does not say."""
        found = [fold.peak_memory for fold in self.by(metric).folds]
        return max((each for each in found if each is not None), default=None)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, without times and memory: these are never the same twice."""
        return {
            "model": self.name,
            "error": self.error,
            "trials": self.trials,
            "failed_trials": self.failed,
            "chosen": {metric: str(spec) for metric, spec in self.chosen.items()},
            "measured": [
                {
                    "parameters": spec.to_dict(),
                    "means": found.means,
                    "deviations": {k: _null(v) for k, v in found.deviations.items()},
                    "folds": [{k: _null(v) for k, v in fold.means.items()} for fold in found.folds],
                }
                for spec in dict.fromkeys(self.chosen.values())
                for found in [self.evaluations[str(spec)]]
            ],
        }


@dataclass(frozen=True, eq=False)
class SetComparison:
    """All models on one data set.

    Attributes
    ----------
    title : of the data set
    split : its folds; the first is for validation, the others test
    metrics : what models are chosen and compared by
    models : what became of each
    trials, seconds : what each model had to find its parameters with; no trials are no search
    seed : of all that is random
    computed : how many results were new; the others were there already

    >>> from boolrank import compare_models, paper_protocol, synthetic
    >>> split = paper_protocol(synthetic(150, 60, 1800), folds=3)
    >>> found = compare_models(split, ["popularity", "kernel-ranker(kernel=linear)"])
    >>> [each.name for each in found.ranked("auc")]
    ['kernel-ranker(kernel=linear)', 'popularity']
    >>> found.versus_best["auc"]["popularity"].difference < 0
    True
    """

    title: str
    split: Split
    metrics: tuple[str, ...]
    models: tuple[ModelResult, ...]
    trials: int
    seconds: float | None
    seed: int
    computed: int

    @property
    def measured(self) -> list[ModelResult]:
        """The models that came through."""
        return [each for each in self.models if not each.error]

    @property
    def failed(self) -> list[ModelResult]:
        """Those that did not."""
        return [each for each in self.models if each.error]

    @property
    def users(self) -> int:
        """How many were tested, in all folds together."""
        folds = self.measured[0].by(self.metrics[0]).folds if self.measured else ()
        return sum(len(fold.users) for fold in folds)

    def ranked(self, metric: str) -> list[ModelResult]:
        """The models by the mean of a metric over all users, as they are compared; best first."""
        return sorted(self.measured, key=lambda each: -np.nanmean(each.by(metric).per_user(metric)))

    @cached_property
    def versus_best(self) -> dict[str, dict[str, Comparison]]:
        """By metric and name, each model but the best beside it: over users, with Holm's p."""
        return {metric: self._versus(metric) for metric in self.metrics}

    def _versus(self, metric: str) -> dict[str, Comparison]:
        ranked = self.ranked(metric)
        if len(ranked) < 2:
            return {}
        evaluations = {each.name: each.by(metric) for each in ranked}
        rows = compare(evaluations, metric, ranked[0].name, resamples=2_000, seed=self.seed)
        return {row.model: row for row in rows}

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; equal for equal comparisons, stopped in between or not."""
        return {
            "title": self.title,
            "split": repr(self.split),
            "split_hash": self.split.hash,
            "metrics": list(self.metrics),
            "trials": self.trials,
            "seconds": self.seconds,
            "seed": self.seed,
            "best": {m: each.name for m in self.metrics for each in self.ranked(m)[:1]},
            "models": [each.to_dict() for each in self.models],
        }


def _null(value: float) -> float | None:
    return None if math.isnan(value) else value


def record(
    sets: Sequence[SetComparison],
    folder: str | Path,
    *,
    command: str = "",
    started: float,
    n_threads: int | None = None,
) -> dict[str, Any]:
    """Write results and manifest; gives the manifest of whoever computed the results."""
    folder = Path(folder)
    results = {"sets": [each.to_dict() for each in sets]}
    write_text(folder / "results.json", json.dumps(results, indent=1) + "\n")
    path = folder / "manifest.json"
    with threads(n_threads) as count:
        pass  # what is in force, which may be fewer than there are cores
    manifest = {
        "command": command,
        **machine(*_OTHERS),
        "threads": count,
        "started": clock(started),
        "finished": clock(time.time()),
        "sets": [_measured(each) for each in sets],
    }
    # Who only looks at what is there must not pass for the one who computed it.
    if not any(each.computed for each in sets):
        with suppress(OSError, ValueError):
            found = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(found, dict) and found.keys() >= manifest.keys():
                return found
    write_text(path, json.dumps(manifest, indent=1) + "\n")
    return manifest


def _measured(found: SetComparison) -> dict[str, Any]:
    return {
        "title": found.title,
        "split_hash": found.split.hash,
        "computed_now": found.computed,
        "models": {
            each.name: {
                str(each.chosen[metric]): {
                    "seconds": dict(zip(("fit", "rank"), each.seconds(metric), strict=True)),
                    "peak_memory": each.peak_memory(metric),
                }
                for metric in found.metrics
            }
            for each in found.measured
        },
    }
