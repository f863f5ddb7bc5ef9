"""Measure one model in a process of its own: what it holds in memory at most is then its own.

The process reads what to do from stdin, as JSON, writes a result for each fold as it comes, and
prints why it failed if it does: ``python -m boolrank.comparison.measure``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._memory import peak_memory
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
            "folds": list(folds),
        }
        # -P: what lies in the folder where we are must not stand for a module.
        call = [sys.executable, "-P", "-X", "utf8", "-m", "boolrank.comparison.measure"]
        done = subprocess.run(  # noqa: S603 - our own module
            call, input=json.dumps(task), capture_output=True, encoding="utf-8", check=False
        )
        if done.returncode:
            raise ModelFailedError(done.stdout.strip() or _ended(done.returncode, done.stderr))


def reason(error: BaseException) -> str:
    """Why something failed, in a line."""
    text = " ".join(str(error).split())
    if isinstance(error, BoolrankError | ModelFailedError):
        return text
    if isinstance(error, MemoryError):
        return f"out of memory: {text}" if text else "out of memory"
    return f"{type(error).__name__}: {text}"


def _ended(code: int, messages: str) -> str:
    if code < 0:
        return f"its process was ended by signal {-code}, most likely for want of memory"
    last = messages.strip().splitlines()[-1:] or ["it said nothing"]
    return f"its process ended with code {code}: {last[0]}"


def _measure(task: dict[str, Any]) -> None:
    """What the other process does."""
    split, cells = Split.load(task["split"]), Cells(Path(task["cells"]))
    model, metrics = ModelSpec.from_dict(task["model"]), tuple(task["metrics"])
    parent = os.getppid()
    for number in task["folds"]:
        if os.getppid() != parent:
            return  # whoever asked is gone, and will ask again
        found = evaluate_fold(
            model.make(task["n_threads"]), split[number], metrics, task["n_threads"]
        )
        key = cell_key(split, number, model, metrics)
        cells.write(key, replace(found, peak_memory=peak_memory()))


def _main() -> int:
    try:
        _measure(json.load(sys.stdin))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        sys.stdout.write(reason(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
