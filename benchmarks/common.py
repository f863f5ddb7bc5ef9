"""What the benchmarks share: data of MovieLens-1M's shape, timing side by side, and tables."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def movielens_items() -> tuple[NDArray[np.float32], str]:
    """Items by users, 0 and 1, and where they come from.

    The real set where BOOLRANK_DATA has it, else a random one of its size, density and long tail.
    """
    archive = Path(os.environ.get("BOOLRANK_DATA", "")) / "movielens-1m" / "ml-1m.zip"
    if archive.is_file():
        with zipfile.ZipFile(archive) as files:
            rows = files.read("ml-1m/ratings.dat").decode("latin-1").splitlines()
        pairs = np.array([row.split("::")[:2] for row in rows], dtype=np.int64)
        users = np.unique(pairs[:, 0], return_inverse=True)[1]
        items = np.unique(pairs[:, 1], return_inverse=True)[1]
        matrix = np.zeros((items.max() + 1, users.max() + 1), np.float32)
        matrix[items, users] = 1
        return matrix, "MovieLens-1M"
    rng = np.random.default_rng(0)
    likely = np.minimum(0.6, 0.0075 * (1 + rng.pareto(1.05, 3706)))
    matrix = (rng.random((3706, 6040)) < likely[:, None]).astype(np.float32)
    return matrix, "random, of MovieLens-1M's shape"


def side_by_side(runs: Mapping[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """Least seconds of each of several things, taken in turns so that noise meets all alike."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
