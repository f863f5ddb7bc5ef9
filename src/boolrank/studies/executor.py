"""Executor: turn tasks into results, in this process or in a worker process.

A worker process fits and ranks. Metrics are always computed here, since functions cannot be sent.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from .._memory import peak_memory
from ..counts.overlaps import Overlaps
from ..data.splits import Fold, packed_fold, read_fold
from ..engines.worker import OutOfTimeError, Worker, WorkerEndedError
from ..errors import BoolrankError
from ..evaluation.folds import fit_and_rank, measure_fold
from ..evaluation.rankings import Rankings
from ..evaluation.result import FoldResult
from ..models.spec import ModelSpec
from ..storage.folder import locked, write_folder
from .cache import Cache, Outcome, Task

_Ranked = tuple[Rankings, dict[str, Any]]  # and what they cost
# Arrays of rankings that a worker passes on.
_ARRAYS = ("indptr", "ranks", "top", "strict", "half")
_SCRATCH = "boolrank-"
# A younger scratch folder may not be locked yet.
_SECONDS_TO_LOCK = 60


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
        self._stack = ExitStack()
        self._rank = _WorkerRanker(n_threads, self._stack) if apart else _Ranker(n_threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

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
    """Fits and ranks in a worker process. Folds and rankings are passed on as files."""

    def __init__(self, n_threads: int | None, stack: ExitStack) -> None:
        self._folder = stack.enter_context(_scratch_folder())
        self._worker = Worker(start_worker, {"n_threads": n_threads})
        stack.callback(self._worker.end)
        self._model: ModelSpec | None = None

    def __call__(
        self, fold: Fold, spec: ModelSpec, n: int, alone: bool, seconds: float | None
    ) -> _Ranked:
        if alone and spec != self._model:
            self._worker.end()  # the next process has no memory in use
        self._model = spec
        path, out = self._folder / fold.hash, self._folder / "rankings.npz"
        if not path.exists():
            write_folder(path, *packed_fold(fold))
        question = {"fold": str(path), "model": spec.to_dict(), "n": n, "alone": alone}
        answer = self._worker.ask(question | {"out": str(out)}, seconds)
        if "error" in answer:
            raise TaskFailedError(answer["error"])
        with np.load(out) as arrays:
            return Rankings(**arrays, depth=len(fold.train.items), train=fold.train), answer


def start_worker(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the function that answers questions in the worker process."""
    rank = _Ranker(about["n_threads"])
    folds: dict[str, Fold] = {}

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        try:
            path, alone = question["fold"], question["alone"]
            if path not in folds:
                folds.clear()
                folds[path] = read_fold(path)
            spec = ModelSpec.from_dict(question["model"])
            rankings, costs = rank(folds[path], spec, question["n"], alone)
            np.savez(question["out"], **{name: getattr(rankings, name) for name in _ARRAYS})
        except Exception as error:  # noqa: BLE001 - the parent decides
            return {"error": reason(error)}
        return costs | {"peak_memory": peak_memory() if alone else None}

    return answer


def reason(error: BaseException) -> str:
    """Return why something failed, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, BoolrankError | TaskFailedError | WorkerEndedError):
        return text
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    return f"{type(error).__name__}: {text}"


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Yield a temporary folder, and remove those of processes that were killed."""
    with TemporaryDirectory(prefix=_SCRATCH) as name, locked(Path(name)):
        others = Path(name).parent.glob(f"{_SCRATCH}*") if os.name == "posix" else ()
        for old in others:
            with suppress(OSError), locked(old, wait=False):  # raises if its owner lives
                if time.time() - old.stat().st_mtime > _SECONDS_TO_LOCK:
                    shutil.rmtree(old, ignore_errors=True)
        yield Path(name)
