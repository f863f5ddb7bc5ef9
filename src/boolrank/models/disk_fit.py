"""Fit a model into a folder with a limit of memory: pairs of items are counted and kept on disk.

The files are those of a fit in memory, byte for byte. A killed fit continues where it stopped.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._extras import needs
from .._memory import free_memory, held_memory, parse_size, size
from .._version import __version__
from ..counts.counting import count_on_disk, on_disk
from ..counts.estimate import Estimate
from ..data.event_store import store_events
from ..data.interactions import Interactions
from ..data.packing import packed
from ..engines.threads import threads
from ..errors import MatrixTooLargeError, ParameterError
from ..storage.job import Job
from .model_folder import fingerprint, save_model
from .recommender import Recommender
from .registry import MODELS

# Bytes of compiled code, of chunks of values, and of a batch of events.
_RESERVE = 1 << 28
# Share of the free disk that an estimate may take.
_FREE = 0.95

Progress = Callable[[int, int], None]


def fit_on_disk(
    model: Recommender,
    source: Interactions | Sequence[str | Path],
    path: str | Path,
    memory: int | str,
    columns: Mapping[str, Any] | None = None,
    progress: Progress = lambda *_: None,
) -> Recommender:
    """Fit a model within a limit of memory, such as ``"4GB"``, and save it.

    Parameters
    ----------
    source : interactions, or files of events, which are read batch by batch
    path : folder of the model
    memory : the most bytes that the process may hold, with what it holds already
    columns : user, item, rating and positive, as for `Interactions.from_files`
    progress : told how many steps of all are counted

    >>> from tempfile import TemporaryDirectory
    >>> from boolrank import KernelRanker
    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     model = fit_on_disk(KernelRanker("linear"), data, Path(folder, "model"), "16GB")
    ...     model.recommend([3], n=2).lists()
    [['a', 'c']]
    """
    checked, limit = model.checked(), parse_size("memory", memory)
    check_scales(checked, "within a limit of memory")
    if not _left(limit):
        raise MatrixTooLargeError(
            f"a limit of {size(limit)} is used up by the process itself",
            hint=f"allow {size(2 * (held_memory() + _RESERVE))} or more",
            parameter="memory",
        )
    key = {"model": type(model).__name__, "parameters": repr(checked), "version": __version__}
    chosen = dict.fromkeys(("user", "item", "time", "rating", "positive")) | dict(columns or {})
    with Job.open(path, key | {"source": _key(source), "columns": chosen}) as job:
        if "created" not in job.state:
            job.commit(created=time.time())
        if isinstance(source, Interactions):
            data = source
        else:
            positive = chosen.pop("positive")
            data = store_events(job, source, chosen, positive, _left(limit))
        with threads(getattr(checked, "n_threads", None)):
            _fit(model, data, job, limit, progress)
        model.restore(replace(model.fitted, created=job.state["created"]))
        save_model(model, job.path, lock=False)
    return model


def _fit(model: Recommender, data: Interactions, job: Job, limit: int, progress: Progress) -> None:
    """Fit in memory if that is within the limit, and on disk otherwise."""
    exponent, items = getattr(model, "user_exponent", 0.0), len(data.items)
    rows = data.capped(getattr(model, "activity_cap", None)).rows
    estimate = Estimate.of(rows, items, exponent)
    kept = getattr(model, "neighbours", None)
    rest = model.memory_beside_pairs(*data.shape)
    needed, on_disk_needed = estimate.memory + rest, estimate.disk_memory + rest
    if kept is not None:  # other pairs are not kept at all
        needed = min(needed, 30 * items * kept + 24 * data.size)
    if needed <= _left(limit):
        model.fit(data)
        return
    why = model.needs_pairs()
    least = needed if why or kept is not None else on_disk_needed
    if least > _left(limit):
        most = min(limit, held_memory() + free_memory())
        fewer = "" if kept is None else ", or keep fewer neighbours"
        raise MatrixTooLargeError(
            f"a fit of {items:,} items and {len(data.users):,} users takes more than {size(most)}",
            hint=f"{why}: " * bool(why)
            + f"allow {size(held_memory() + _RESERVE + least)} or more{fewer}",
            parameter="memory",
        )
    _check_disk(estimate, job.path, int(job.state.get("counted", (0, 0))[1]))
    overlaps = count_on_disk(rows, items, exponent, job, _left(limit), progress)
    model.fit(data, overlaps)
    if model.keeps_overlaps:
        model.restore(replace(model.fitted, overlaps=on_disk(overlaps)))


def _check_disk(estimate: Estimate, path: Path, done: int) -> None:
    """Raise if the model will hardly fit on the disk."""
    free = shutil.disk_usage(path).free
    needed = int(estimate.disk * max(1 - done / max(estimate.pairs, 1), 0))
    if needed > _FREE * free:
        raise MatrixTooLargeError(
            f"a model of about {estimate.pairs:,} pairs of items takes {size(needed)} on disk, and "
            f"{size(free)} are free in {path}",
            hint="choose a folder on another disk, or leave out the rarest items or the most "
            "active users",
            parameter="out",
        )


def check_scales(model: Recommender, how: str) -> None:
    """Raise for models that need all events or all counts in memory."""
    able = ", ".join(name for name, entry in MODELS.items() if entry.model.scales)
    for what, is_so in (
        ("recency", getattr(model, "recency", 0.0)),
        ("a kernel over tags", model.uses_tags),
        (type(model).__name__, not model.scales),
    ):
        if is_so:
            raise ParameterError(
                f"{what} cannot be fitted {how}",
                hint=f"choose {able} without tags and recency, or fit in memory",
                parameter="model",
            )


def _left(limit: int) -> int:
    """Return the bytes that may still be taken, without a reserve."""
    return max(min(limit - held_memory(), free_memory()) - _RESERVE, 0)


def _key(source: Interactions | Sequence[str | Path]) -> Any:
    """Return what tells a source from others: contents, or names, sizes and times of files."""
    if isinstance(source, Interactions):
        return fingerprint(*packed(source, savable=False))
    with needs("cli", "Reading files"):
        from ..data.scans import expand

    found = list[Any]()
    for each in expand(source):
        about = each.stat() if isinstance(each, Path) else None
        found.append([str(each), about and (about.st_size, about.st_mtime_ns)])
    return found
