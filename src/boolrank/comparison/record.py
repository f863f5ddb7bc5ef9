"""A comparison on disk: what was found, and apart from it, when, where and how long it took.

In its folder:

    measured/       one file for each fold and parameters, found by what it is the result of
    studies/        what was tried to find parameters
    results.json    what was found: equal for equal comparisons, stopped in between or not
    manifest.json   when, where, with what versions, and how long it took
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._threads import threads
from ..experiments.cells import write_text
from ..experiments.machine import clock, machine
from .found import SetComparison

__all__ = ["record"]

# What models of the table may come from, and what finds parameters.
_OTHERS = ("implicit", "irspack", "optuna")


def record(
    sets: Sequence[SetComparison],
    folder: str | Path,
    *,
    command: str = "",
    started: float,
    n_threads: int | None = None,
) -> dict[str, Any]:
    """Write results and manifest; gives the manifest of whoever computed the results."""
    folder = Path(folder)
    results = {"sets": [each.to_dict() for each in sets]}
    write_text(folder / "results.json", json.dumps(results, indent=1) + "\n")
    path = folder / "manifest.json"
    # Who only looks at what is there must not pass for the one who computed it.
    if not any(each.computed for each in sets):
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass
        else:
            return found
    with threads(n_threads) as count:
        pass  # what is in force, which may be fewer than there are cores
    manifest = {
        "command": command,
        **machine(*_OTHERS),
        "threads": count,
        "started": clock(started),
        "finished": clock(time.time()),
        "sets": [_measured(each) for each in sets],
    }
    write_text(path, json.dumps(manifest, indent=1) + "\n")
    return manifest


def _measured(found: SetComparison) -> dict[str, Any]:
    return {
        "title": found.title,
        "split_hash": found.split.hash,
        "computed_now": found.computed,
        "models": {
            each.name: {
                str(each.chosen[metric]): {
                    "seconds": dict(zip(("fit", "rank"), each.seconds(metric), strict=True)),
                    "peak_memory": each.peak_memory(metric),
                }
                for metric in found.metrics
            }
            for each in found.measured
        },
    }
