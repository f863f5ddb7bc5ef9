"""Compare models on a split: the first fold is for choosing parameters, the others are for tests.

No user of the first fold is tested in another, and all models have the same budget to find their
parameters. Results are cached one by one, so that a comparison that was stopped can be resumed. A
model that fails is part of the result. In the folder of a comparison:

    cells/          one result per fold and model
    studies/        the trials of each model
    results.json    the results, equal for equal comparisons, resumed or not
    manifest.json   time, machine and versions
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..data.splits import Split
from ..errors import MissingExtraError, ParameterError
from ..evaluation.metrics import Metric, Metrics, mean, parse_metrics
from ..evaluation.result import Evaluation
from ..evaluation.significance import Comparison, compare
from ..models.spec import ModelSpec, parse_model
from ..storage.output import check_output
from ..table import counted
from .cache import Task
from .executor import Executor, TaskFailedError, reason
from .run import write_results
from .tune import DECIDING, check_budget, tune_model, with_variety


@dataclass(frozen=True, eq=False)
class ModelResult:
    """Results of a model on one data set, or the error.

    By metric, ``chosen`` has the parameters that were best in validation, and ``evaluations`` their
    results on the test folds. ``failed`` is the number of failed trials.
    """

    name: str
    chosen: Mapping[str, ModelSpec] = field(default_factory=dict)
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    trials: int = 0
    failed: int = 0
    error: str = ""

    def by(self, metric: str) -> Evaluation:
        """Return the results of the parameters that were chosen by a metric."""
        return self.evaluations[metric]

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON types, without times and memory, which vary."""
        distinct = {spec: self.evaluations[metric] for metric, spec in self.chosen.items()}
        return {
            "model": self.name,
            "error": self.error,
            "trials": self.trials,
            "failed_trials": self.failed,
            "chosen": {metric: str(spec) for metric, spec in self.chosen.items()},
            "measured": [
                {"parameters": spec.to_dict()} | found.figures() for spec, found in distinct.items()
            ],
        }


@dataclass(frozen=True, eq=False, repr=False)
class SetComparison:
    """Results of all models on one data set, with the budget of each.

    ``computed`` is the number of test results that were not in the cache.
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
        """The models that worked."""
        return [each for each in self.models if not each.error]

    @property
    def failed(self) -> list[ModelResult]:
        """The models that failed."""
        return [each for each in self.models if each.error]

    @property
    def users(self) -> int:
        """Number of test users of all folds."""
        folds = self.measured[0].by(self.metrics[0]).folds if self.measured else ()
        return sum(len(fold.users) for fold in folds)

    def __repr__(self) -> str:
        lines = [f"Comparison on {self.title}, {counted(self.users, 'test user')}"]
        lines += [
            f"  {metric} {model.by(metric).means[metric]:.4f}  {model.name}"
            for metric in self.metrics
            for model in self.ranked(metric)
        ]
        return "\n".join([*lines, *(f"  failed: {each.name}" for each in self.failed)])

    def ranked(self, metric: str) -> list[ModelResult]:
        """Return the models that worked, best first by the mean of a metric over all users."""

        def gain(model: ModelResult) -> float:
            found = model.by(metric)
            return found.gain(metric, mean(found.per_user(metric)))

        return sorted(self.measured, key=gain, reverse=True)

    @cached_property
    def versus_best(self) -> dict[str, dict[str, Comparison]]:
        """By metric and name, each model but the best compared with the best."""
        out: dict[str, dict[str, Comparison]] = {metric: {} for metric in self.metrics}
        for metric in self.metrics if len(self.measured) > 1 else ():
            evaluations = {each.name: each.by(metric) for each in self.ranked(metric)}
            rows = compare(evaluations, metric, resamples=2_000, seed=self.seed)
            out[metric] = {row.model: row for row in rows}
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the results as JSON types, equal for equal comparisons."""
        best = {m: each for m in self.metrics for each in self.ranked(m)[:1]}
        return {
            "title": self.title,
            "split": repr(self.split),
            "split_hash": self.split.hash,
            "metrics": list(self.metrics),
            "trials": self.trials,
            "seconds": self.seconds,
            "seed": self.seed,
            "best": {metric: each.name for metric, each in best.items()},
            "winners": {metric: each.chosen[metric].to_dict() for metric, each in best.items()},
            "models": [each.to_dict() for each in self.models],
        }


def compare_models(
    split: Split,
    models: Sequence[str],
    metrics: Metrics = DECIDING,
    *,
    title: str = "",
    tuner: Callable[..., Any] = tune_model,
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> SetComparison:
    """Choose parameters of each model on the first fold, and measure them on the others.

    Each model is measured in a process of its own.

    Parameters
    ----------
    split : two folds or more, which share no test user
    models : names such as ``"ease"``; ``"ease(reg=500)"`` is not tuned
    metrics : metrics of users, the decisive one first; for each, the parameters that are best by
        it are measured, together with the variety of their lists
    tuner : a function like `tune_model`
    trials, seconds : budget of the tuner for each model; 0 trials measure the default parameters
    folder : for results; a comparison there is resumed

    >>> from boolrank import paper_protocol, synthetic
    >>> split = paper_protocol(synthetic(150, 60, 1800), folds=3)
    >>> found = compare_models(split, ["popularity", "ease"], "auc", trials=0)
    >>> found
    Comparison on paper, 72 test users
      auc 0.7651  ease
      auc 0.6867  popularity
    """
    parsed = check_comparison(models, metrics, trials, seconds, seed)
    if len(split) < 2:
        raise ParameterError("a comparison needs a fold for validation and others for tests")
    check_output(folder)
    names, all_metrics = tuple(map(str, parsed)), with_variety(parsed)
    title, tests = title or split.name, split[1:]

    def choose(name: str) -> tuple[dict[str, ModelSpec], Sequence[Any]]:
        """Return the parameters of a model by metric, and the trials."""
        spec = parse_model(name)
        if not trials or name != spec.name:
            return dict.fromkeys(names, spec), ()
        budget = {"trials": trials, "seconds": seconds, "seed": seed}
        options = {"metrics": parsed, "folder": folder, "n_threads": n_threads}

        def tell(done: int, total: int, what: str) -> None:
            progress(f"{title}, {name}: trial {done} of {total} ({what})")

        study = tuner(name, split[0], **budget, **options, progress=tell)
        return {each: ModelSpec(name, study.best(each).params) for each in names}, study.trials

    def evaluate(spec: ModelSpec) -> Evaluation:
        progress(f"{title}, {spec.name}: measuring {spec}")
        results = tuple(executor.run(Task(fold, spec, all_metrics, alone=True)) for fold in tests)
        found = Evaluation(str(spec), repr(split), split.hash, results)
        for metric, value in found.means.items():
            if math.isnan(value):
                raise TaskFailedError(f"no test user has a value of {metric}: use other metrics")
        return found

    def result(name: str) -> ModelResult:
        try:
            chosen, tried = choose(name)
            found = {spec: evaluate(spec) for spec in dict.fromkeys(chosen.values())}
        except Exception as error:  # noqa: BLE001 - the other models may work
            return ModelResult(name, error=reason(error))
        by_metric = {metric: found[spec] for metric, spec in chosen.items()}
        return ModelResult(name, chosen, by_metric, len(tried), sum(bool(t.error) for t in tried))

    with Executor(folder, n_threads, apart=True) as executor:
        results = tuple(result(model) for model in dict.fromkeys(models))
    return SetComparison(title, split, names, results, trials, seconds, seed, executor.computed)


def check_comparison(
    models: Sequence[str],
    metrics: Metrics = DECIDING,
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
) -> tuple[Metric, ...]:
    """Return the metrics; raise if a model, a metric or the budget is wrong."""
    if not models:
        raise ParameterError("there is no model to compare", hint="give some, such as 'ease'")
    for name in models:
        with suppress(MissingExtraError):  # it is part of the result; a wrong name is an error
            parse_model(name)
    check_budget(trials, seconds, seed, least=0)
    return tuple(parse_metrics(metrics, of_users=True))


def record(
    sets: Sequence[SetComparison],
    folder: str | Path,
    *,
    command: str = "",
    started: float,
    n_threads: int | None = None,
) -> dict[str, Any]:
    """Write results.json and manifest.json; return the manifest of the run that computed them."""
    results, computed = {"sets": [each.to_dict() for each in sets]}, sum(s.computed for s in sets)
    about = {"command": command}
    return write_results(Path(folder), results, about, computed, started, n_threads)
