"""Measure one model in a process of its own: what it holds in memory at most is then its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._memory import peak_memory
from .._worker import Worker, WorkerEndedError
from ..data.splits import Split
from ..errors import BoolrankError
from ..evaluation.folds import evaluate_fold
from ..experiments.cells import Cells, cell_key
from ..experiments.specs import ModelSpec

__all__ = ["Bench", "ModelFailedError", "reason"]


class ModelFailedError(Exception):
    """A model came to nothing; the text says why."""


@dataclass(frozen=True)
class Bench:
    """Where models are measured.

    Attributes
    ----------
    split : folder of a saved split
    cells : folder of results
    metrics : what to measure
    n_threads : all if None
    """

    split: Path
    cells: Path
    metrics: tuple[str, ...]
    n_threads: int | None = None

    def measure(self, model: ModelSpec, folds: Iterable[int]) -> None:
        """Fit and rank on some folds, in another process; results are written as they come."""
        task = {
            "split": str(self.split),
            "cells": str(self.cells),
            "metrics": self.metrics,
            "n_threads": self.n_threads,
            "model": model.to_dict(),
        }
        with Worker(answering, task) as worker:
            for number in folds:
                try:
                    error = worker.ask({"fold": number}).get("error")
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
    split, cells = Split.load(task["split"]), Cells(Path(task["cells"]))
    model, metrics = ModelSpec.from_dict(task["model"]), tuple(task["metrics"])
    n_threads = task["n_threads"]

    def measured(question: dict[str, Any]) -> dict[str, Any]:
        number = question["fold"]
        try:
            found = evaluate_fold(model.make(n_threads), split[number], metrics, n_threads)
            key = cell_key(split, number, model, metrics)
            cells.write(key, replace(found, peak_memory=peak_memory()))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            return {"error": reason(error)}
        return {}

    return measured
