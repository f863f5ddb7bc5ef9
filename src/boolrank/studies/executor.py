"""Executor: turn tasks into results, in this process or in a worker process.

A worker process fits and ranks. Metrics are always computed here, since functions cannot be sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from .._memory import peak_memory
from ..counts.overlaps import Overlaps
from ..data.splits import Fold, numbered
from ..engines.worker import OutOfTimeError, Worker, WorkerEndedError
from ..errors import BoolrankError
from ..evaluation.folds import fit_and_rank, measure_fold
from ..evaluation.rankings import Rankings
from ..evaluation.result import FoldResult
from ..models.spec import ModelSpec
from .cache import Cache, Outcome, Task

_Ranked = tuple[Rankings, dict[str, Any]]  # and what they cost


class TaskFailedError(Exception):
    """A task failed; the text says why."""


class Executor:
    """Runs tasks that are not in the cache, and counts them as ``computed``; a context manager.

    With ``apart``, models are fitted in a worker process, which can be ended and may die.
    """

    def __init__(
        self, folder: str | Path | None = None, n_threads: int | None = None, *, apart: bool = False
    ) -> None:
        self.cache = Cache(None if folder is None else Path(folder) / "cells")
        self.n_threads = n_threads
        self.computed = 0
        self._worker = Worker(start_worker, {"n_threads": n_threads}) if apart else None
        self._rank = _WorkerRanker(self._worker) if self._worker else _Ranker(n_threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.end()

    def run(self, task: Task) -> FoldResult:
        """Return the result of a task; errors are raised, and not cached."""
        kept = self.cache.read(task)
        if kept is not None and kept.result is not None:
            return kept.result
        start = time.perf_counter()
        result = self._compute(task)
        self._keep(task, Outcome(result, time.perf_counter() - start))
        return result

    def attempt(self, task: Task, seconds: float | None = None) -> Outcome:
        """Return the outcome of a task within a time limit; errors are outcomes, and cached.

        A task whose process was ended is tried again if it has more time now.
        """
        kept = self.cache.read(task)
        if kept is not None:
            ended = kept.ended_after
            if ended is None or (seconds is not None and seconds <= ended):
                return kept
        start = time.perf_counter()
        try:
            outcome = Outcome(self._compute(task, seconds), time.perf_counter() - start)
        except Exception as error:  # noqa: BLE001 - other tasks may work
            took = time.perf_counter() - start
            died_after = took if isinstance(error, WorkerEndedError) else None
            ended_after = seconds if isinstance(error, OutOfTimeError) else died_after
            outcome = Outcome(None, took, reason(error), ended_after)
        self._keep(task, outcome)
        return outcome

    def _compute(self, task: Task, seconds: float | None = None) -> FoldResult:
        n = max(each.k or 0 for each in task.metrics)
        rankings, costs = self._rank(task.fold, task.model, n, task.alone, seconds)
        return measure_fold(rankings, costs, task.fold, task.metrics, self.n_threads)

    def _keep(self, task: Task, outcome: Outcome) -> None:
        self.computed += 1
        self.cache.write(task, outcome)


class _Ranker:
    """Fits and ranks in this process, without a time limit.

    Consecutive models of a fold share overlaps if they weigh users alike.
    """

    def __init__(self, n_threads: int | None) -> None:
        self.n_threads = n_threads
        self._shared: tuple[Fold, float, Overlaps, float] | None = None  # the last: seconds

    def __call__(self, fold: Fold, spec: ModelSpec, n: int, alone: bool, *_: Any) -> _Ranked:
        model = spec.make(self.n_threads)
        if alone or not model.uses_overlaps or getattr(model, "activity_cap", None):
            return fit_and_rank(model, fold, n, self.n_threads)
        exponent = getattr(model, "user_exponent", 0.0)
        if self._shared is None or self._shared[0] is not fold or self._shared[1] != exponent:
            self._shared = None  # free the old before counting
            start = time.perf_counter()
            overlaps = Overlaps.of(fold.train, self.n_threads, exponent)
            self._shared = fold, exponent, overlaps, time.perf_counter() - start
        overlaps, seconds = self._shared[2:]
        rankings, costs = fit_and_rank(model, fold, n, self.n_threads, overlaps=overlaps)
        costs["fit_seconds"] += seconds  # shared counting is part of every fit
        return rankings, costs


class _WorkerRanker:
    """Fits and ranks in a worker process, which keeps the last fold."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._fold: Fold | None = None
        self._model: ModelSpec | None = None

    def __call__(
        self, fold: Fold, spec: ModelSpec, n: int, alone: bool, seconds: float | None
    ) -> _Ranked:
        if alone and spec != self._model:
            self._worker.end()  # the next process has no memory in use
        known = fold is self._fold and self._worker.running
        question = {"model": spec.to_dict(), "n": n, "alone": alone}
        question |= {} if known else {"fold": numbered(fold)}
        self._fold, self._model = fold, spec
        answer = self._worker.ask(question, seconds)
        if "error" in answer:
            raise TaskFailedError(answer["error"])
        return replace(answer["rankings"], train=fold.train), answer["costs"]


def start_worker(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the function that answers questions in the worker process."""
    rank = _Ranker(about["n_threads"])
    kept: dict[str, Fold] = {}

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        try:
            kept["fold"] = question.pop("fold", None) or kept["fold"]
            spec, alone = ModelSpec.from_dict(question["model"]), question["alone"]
            rankings, costs = rank(kept["fold"], spec, question["n"], alone)
        except Exception as error:  # noqa: BLE001 - the parent decides
            return {"error": reason(error)}
        costs["peak_memory"] = peak_memory() if alone else None
        return {"rankings": replace(rankings, train=None), "costs": costs}

    return answer


def reason(error: BaseException) -> str:
    """Return why something failed, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, BoolrankError | TaskFailedError | WorkerEndedError):
        return text
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    return f"{type(error).__name__}: {text}"
