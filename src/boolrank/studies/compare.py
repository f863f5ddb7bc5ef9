"""Compare models on a split: the first fold is for choosing parameters, the others test.

The users of the first fold are not tested in any other, and all models have the same number of
trials and the same time to find their parameters. What was measured is kept as it comes, so that a
comparison that was stopped goes on where it was. A model that fails is part of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .._memory import peak_memory
from ..data.splits import Split, read_fold, write_fold
from ..engines.worker import Worker, WorkerEndedError
from ..errors import BoolrankError, MissingExtraError, ParameterError
from ..evaluation.folds import evaluate_fold, model_text
from ..evaluation.metrics import user_metrics
from ..evaluation.result import Evaluation, FoldResult
from ..models.spec import ModelSpec, parse_model
from .arity import FOLDS
from .cache import Cells, cell_key, check_folder
from .comparison import ModelResult, SetComparison
from .tune import check_budget

__all__ = ["FOLDS", "METRICS", "compare_models"]

METRICS = ("auc", "ndcg@10")

# As `boolrank.studies.tune_model`: called with a name, a fold and options, it gives a study, whose
# ``best(metric).params`` are the parameters that were best by a metric, and which has ``trials``,
# each with an ``error``.
Tuner = Callable[..., Any]
Told = Callable[[str], None]


def compare_models(
    split: Split,
    models: Sequence[str],
    metrics: Iterable[str] | str = METRICS,
    *,
    title: str = "",
    tuner: Tuner | None = None,
    trials: int = 30,
    seconds: float | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    n_threads: int | None = None,
    progress: Told = lambda _: None,
) -> SetComparison:
    """Choose parameters of each model on the first fold, and measure them on the others.

    Each model is measured in a process of its own.

    Parameters
    ----------
    split : of two folds or more; the users of one are not tested in another
    models : names such as ``"ease"``; with parameters, ``"ease(reg=500)"``, as it is
    metrics : that users have values of; for each, the parameters that are best by it are measured
    title : of the data
    tuner : what finds parameters; those that models have by default if not given
    trials, seconds : how many it may try for each model, and how long
    seed : of all that is random
    folder : where results are kept; nowhere if not given
    n_threads : all by default
    progress : told what is done next

    >>> from boolrank import paper_protocol, synthetic
    >>> split = paper_protocol(synthetic(60, 30, 700), folds=3)
    >>> found = compare_models(split, ["popularity"], "auc")
    >>> len(found.models[0].by("auc").folds), found.computed
    (2, 2)
    """
    measures = user_metrics(metrics)
    check_budget(trials, seconds, seed, least=0)
    if len(split) < 2:
        raise ParameterError(
            f"a comparison needs a fold for validation and others that test; {split.name} has "
            f"{len(split)} fold"
        )
    if not models:
        raise ParameterError("there is no model to compare; give some, such as 'kernel-ranker'")
    for name in models:
        with suppress(MissingExtraError):  # that is a result; a misspelt name is not
            parse_model(name)
    if folder is not None:
        check_folder(folder)
    kept = None if folder is None else Path(folder)
    with TemporaryDirectory() as temporary:
        plan = _Plan(
            title or split.name,
            split,
            [list(fold.users) for fold in split],
            tuple(str(each) for each in measures),
            tuner,
            trials,
            seconds,
            seed,
            kept,
            Path(temporary),
            n_threads,
            progress,
        )
        before = plan.results()
        found = tuple(plan.compared(model) for model in dict.fromkeys(models))
        computed = plan.results() - before
    trials = 0 if tuner is None else trials
    return SetComparison(plan.title, split, plan.metrics, found, trials, seconds, seed, computed)


class ModelFailedError(Exception):
    """A model came to nothing; the text says why."""


@dataclass(frozen=True)
class _Plan:
    """How models are compared; ``users`` are those of each fold, ``place`` is for passing files."""

    title: str
    split: Split
    users: list[list[Any]]
    metrics: tuple[str, ...]
    tuner: Tuner | None
    trials: int
    seconds: float | None
    seed: int
    folder: Path | None
    place: Path
    n_threads: int | None
    progress: Told

    @property
    def cells(self) -> Cells:
        return Cells((self.folder or self.place) / "measured")

    def results(self) -> int:
        """How many there are."""
        return sum(1 for _ in self.cells.folder.rglob("*.json"))

    def compared(self, name: str) -> ModelResult:
        try:
            chosen, trials = self._chosen(name)
            specs = dict.fromkeys(chosen.values())
            found = {str(spec): self._measured(spec) for spec in specs}
        except Exception as error:  # noqa: BLE001 - what ends one model must not end the others
            return ModelResult(name, error=_reason(error))
        failed = sum(1 for each in trials if each.error)
        return ModelResult(name, chosen, found, len(trials), failed)

    def _chosen(self, name: str) -> tuple[dict[str, ModelSpec], Sequence[Any]]:
        """By metric, the parameters of a model; and what was tried."""
        spec = parse_model(name)
        if self.tuner is None or self.trials < 1 or name != spec.name:
            return dict.fromkeys(self.metrics, spec), ()
        self.progress(f"{self.title}, {name}: choosing parameters")
        study = self.tuner(
            name,
            self.split[0],
            metrics=self.metrics,
            trials=self.trials,
            seconds=self.seconds,
            seed=self.seed,
            folder=self.folder and self.folder / "studies" / self.split.hash[:16],
            n_threads=self.n_threads,
            progress=lambda done, total, what: self.progress(
                f"{self.title}, {name}: trial {done} of {total} ({what})"
            ),
        )
        best = {metric: study.best(metric) for metric in self.metrics}
        return {metric: ModelSpec(name, each.params) for metric, each in best.items()}, study.trials

    def _measured(self, spec: ModelSpec) -> Evaluation:
        self.progress(f"{self.title}, {spec.name}: measuring {spec}")
        tested = range(1, len(self.split))
        keys = {k: cell_key(self.split, k, spec, self.metrics) for k in tested}
        self._measure(spec, {k: keys[k] for k in tested if self._kept(k, keys[k]) is None})
        results = tuple(filter(None, (self._kept(k, keys[k]) for k in tested)))
        if len(results) < len(tested):
            raise ModelFailedError("its results cannot be read again; is the disk full?")
        measured = Evaluation(model_text(spec.make()), repr(self.split), self.split.hash, results)
        for metric, mean in measured.means.items():
            if math.isnan(mean):
                raise ModelFailedError(
                    f"no test user has a value of {metric}: with other metrics, or more items than "
                    "users have, there is something to compare"
                )
        return measured

    def _kept(self, fold: int, key: str) -> FoldResult | None:
        return self.cells.read(key, self.users[fold])

    def _measure(self, spec: ModelSpec, keys: Mapping[int, str]) -> None:
        """Fit and rank on some folds, in a process of its own: what that holds at most is its own.

        ``keys`` has what the result of each is to be found by; results are written as they come.
        """
        task = {"cells": str(self.cells.folder), "metrics": self.metrics, "model": spec.to_dict()}
        with Worker(answering, task | {"n_threads": self.n_threads}) as worker:
            for number, key in keys.items():
                place = self.place / f"fold {number}"
                if not place.exists():
                    write_fold(self.split[number], place)
                try:
                    error = worker.ask({"fold": str(place), "key": key}).get("error")
                except WorkerEndedError as ended:
                    error = str(ended)
                if error:
                    raise ModelFailedError(error)


def answering(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """In that process: a fold is measured, and its result is written."""
    cells, metrics, n_threads = Cells(Path(task["cells"])), task["metrics"], task["n_threads"]
    model = ModelSpec.from_dict(task["model"])

    def measured(question: dict[str, Any]) -> dict[str, Any]:
        try:
            fold = read_fold(question["fold"])
            found = evaluate_fold(model.make(n_threads), fold, metrics, n_threads)
            cells.write(question["key"], replace(found, peak_memory=peak_memory()))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            return {"error": _reason(error)}
        return {}

    return measured


def _reason(error: BaseException) -> str:
    """Why something failed, in a line."""
    text = " ".join(str(error).split())
    if isinstance(error, BoolrankError | ModelFailedError):
        return text
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    return f"{type(error).__name__}: {text}"
