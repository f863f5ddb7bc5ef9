"""Measure trials in another process: one that is killed for want of memory ends no study."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from .._worker import OutOfTimeError, Worker, WorkerEndedError
from ..data.splits import Fold, read_fold, write_fold
from ..evaluation.folds import evaluate_fold
from ..models import MODELS
from ..overlaps import Overlaps
from .result import Trial

__all__ = ["Measuring", "Trials", "trials_apart"]


class Measuring(Protocol):
    """Fits and measures a model with given parameters, within so many seconds."""

    def __call__(self, params: Mapping[str, Any], seconds: float | None = None) -> Trial: ...


@contextmanager
def trials_apart(
    name: str, fold: Fold, metrics: tuple[str, ...], n_threads: int | None
) -> Iterator[Measuring]:
    """Trials of a model on a fold, in another process, which ends with the context."""
    with TemporaryDirectory() as folder:
        place = Path(folder, "fold")
        about = {"fold": str(place), "model": name, "metrics": metrics, "n_threads": n_threads}
        with Worker(answering, about) as worker:

            def measured(params: Mapping[str, Any], seconds: float | None = None) -> Trial:
                if not place.exists():  # a study whose trials are all kept asks for none
                    write_fold(fold, place)
                start = time.perf_counter()
                try:
                    return Trial(**worker.ask(dict(params), seconds))
                except WorkerEndedError as error:
                    took = time.perf_counter() - start
                    had = seconds if isinstance(error, OutOfTimeError) else took
                    return Trial(params, {}, took, str(error), ended_after=had)

            yield measured


class Trials:
    """Fits and measures a model with given parameters; overlaps are counted once for all of them.

    Counting is part of the trial that comes first, so that its time counts as any other.
    """

    def __init__(
        self, name: str, fold: Fold, metrics: tuple[str, ...], n_threads: int | None
    ) -> None:
        self.kind, self.fold, self.metrics = MODELS[name].load(), fold, metrics
        self.n_threads = n_threads
        self.options: dict[str, Any] | None = None

    def __call__(self, params: Mapping[str, Any], seconds: float | None = None) -> Trial:  # noqa: ARG002 - whoever asks looks at the clock
        """What came of it, be it an error."""
        start = time.perf_counter()
        try:
            values = self._values(params)
            error = "" if values else "a metric is not a number"
        except Exception as wrong:  # noqa: BLE001 - whatever it is, other parameters may do
            values, error = {}, f"{type(wrong).__name__}: {wrong}"
        return Trial(params, values, time.perf_counter() - start, error)

    def _values(self, params: Mapping[str, Any]) -> dict[str, float]:
        if self.options is None:
            shared = "overlaps" in signature(self.kind.fit).parameters
            counted = Overlaps.of(self.fold.train, self.n_threads) if shared else None
            self.options = {"overlaps": counted} if shared else {}
        own = (
            {"n_threads": self.n_threads} if "n_threads" in signature(self.kind).parameters else {}
        )
        found = evaluate_fold(
            self.kind(**params, **own), self.fold, self.metrics, self.n_threads, **self.options
        )
        values = {metric: float(found.means[metric]) for metric in self.metrics}
        return values if all(map(math.isfinite, values.values())) else {}


def answering(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """In that process: parameters are answered with a trial."""
    metrics = tuple(about["metrics"])
    measured = Trials(about["model"], read_fold(about["fold"]), metrics, about["n_threads"])
    return lambda params: asdict(measured(params))
