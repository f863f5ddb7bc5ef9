"""Measure one model in a process of its own: what it holds in memory at most is then its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._memory import peak_memory
from .._worker import Worker, WorkerEndedError
from ..data.numbered import read_fold, write_fold
from ..data.splits import Split
from ..errors import BoolrankError
from ..evaluation.folds import evaluate_fold
from ..experiments.cells import Cells
from ..experiments.specs import ModelSpec

__all__ = ["Bench", "ModelFailedError", "reason"]


class ModelFailedError(Exception):
    """A model came to nothing; the text says why."""


@dataclass(frozen=True)
class Bench:
    """Where models are measured.

    Attributes
    ----------
    split : what to measure on
    folds : folder for its folds, as the other process reads them
    cells : folder of results
    metrics : what to measure
    n_threads : all if None
    """

    split: Split
    folds: Path
    cells: Path
    metrics: tuple[str, ...]
    n_threads: int | None = None

    def measure(self, model: ModelSpec, keys: Mapping[int, str]) -> None:
        """Fit and rank on some folds, in another process; results are written as they come.

        ``keys`` has the folds' numbers, and what their results are to be found by.
        """
        task = {
            "cells": str(self.cells),
            "metrics": self.metrics,
            "n_threads": self.n_threads,
            "model": model.to_dict(),
        }
        with Worker(answering, task) as worker:
            for number, key in keys.items():
                place = self.folds / f"{number}"
                if not place.exists():
                    write_fold(self.split[number], place)
                try:
                    error = worker.ask({"fold": str(place), "key": key}).get("error")
                except WorkerEndedError as ended:
                    error = str(ended)
                if error:
                    raise ModelFailedError(error)


def reason(error: BaseException) -> str:
    """Why something failed, in a line."""
    text = " ".join(str(error).split())
    if isinstance(error, BoolrankError | ModelFailedError):
        return text
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    return f"{type(error).__name__}: {text}"


def answering(task: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """In that process: a fold is measured, and its result is written."""
    cells = Cells(Path(task["cells"]))
    model, metrics = ModelSpec.from_dict(task["model"]), tuple(task["metrics"])
    n_threads = task["n_threads"]

    def measured(question: dict[str, Any]) -> dict[str, Any]:
        try:
            fold = read_fold(question["fold"])
            found = evaluate_fold(model.make(n_threads), fold, metrics, n_threads)
            cells.write(question["key"], replace(found, peak_memory=peak_memory()))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            return {"error": reason(error)}
        return {}

    return measured
