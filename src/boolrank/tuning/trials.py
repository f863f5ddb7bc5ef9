"""Measure trials in another process: one that is killed for want of memory ends no study.

The process gets the fold as numbers, since nothing that is measured depends on names.
"""

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

import numpy as np

from .._worker import OutOfTimeError, Worker, WorkerEndedError
from ..data.splits import Fold, Rows
from ..evaluation.folds import evaluate_fold
from ..interactions import Interactions
from ..models import MODELS
from ..overlaps import Overlaps
from ..store import read_folder, write_folder
from ..vocabulary import Vocabulary
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
        _write(fold, Path(folder, "fold"))
        about = {"fold": str(Path(folder, "fold")), "model": name, "metrics": metrics}
        with Worker(answering, about | {"n_threads": n_threads}) as worker:

            def measured(params: Mapping[str, Any], seconds: float | None = None) -> Trial:
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


def _write(fold: Fold, path: Path) -> None:
    """The fold by numbers; users who are folded in are none of those that train."""
    train, number = fold.train, len(fold.train.users)
    if fold.folded_in:
        users = number + np.arange(len(fold.users))
    else:
        users = train.users.numbers(list(fold.users))
    rows = {
        "train": Rows(train.indptr, train.indices),
        "known": fold.known,
        "relevant": fold.relevant,
    }
    arrays = {
        f"{name}-{part}": array
        for name, each in rows.items()
        for part, array in each._asdict().items()
    }
    about = {"shape": train.shape, "folded_in": fold.folded_in}
    write_folder(path, about, arrays | {"users": users})


def _read(path: Path) -> Fold:
    about, arrays = read_folder(path)
    users, items = (
        Vocabulary(np.arange(count), kind)
        for count, kind in zip(about["shape"], ("user", "item"), strict=True)
    )
    train, known, relevant = (
        Rows(arrays[f"{name}-indptr"], arrays[f"{name}-indices"])
        for name in ("train", "known", "relevant")
    )
    tested = Vocabulary(arrays["users"], "user")
    return Fold(
        Interactions(users, items, *train), tested, known, relevant, bool(about["folded_in"])
    )


def answering(about: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """In that process: parameters are answered with a trial."""
    metrics = tuple(about["metrics"])
    measured = Trials(about["model"], _read(Path(about["fold"])), metrics, about["n_threads"])
    return lambda params: asdict(measured(params))
