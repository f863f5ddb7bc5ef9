"""Overlaps in files: counted range by range of items, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._memory import size
from ..data.interactions import Interactions
from ..data.rows import Rows
from ..errors import MatrixTooLargeError
from ..storage.disk_array import mapped
from ..storage.job import Job
from .blocks import Block, combine, count_block, cut, item_ranges, work_per_item
from .overlaps import Overlaps
from .weighting import weigh

# Bytes per pair of a range: column and count, twice while blocks of users are combined, and per
# event: item, its transpose, and the length of the user's list.
_PAIR, _COMBINED, _EVENT = 12, 48, 32


def count_on_disk(
    rows: Rows,
    items: int,
    exponent: float,
    job: Job,
    memory: int,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Overlaps:
    """Count into files of a job, with at most ``memory`` bytes.

    ``progress`` gets the steps done and all steps. The indices of ``rows`` may be in a file.
    """
    parts = list(pairwise(cut(rows.indptr, max(memory // (2 * _EVENT), 1))))
    work, degrees = np.zeros((2, items), np.int64)
    for part in parts:
        some = rows.part(*part)
        work += work_per_item(some, items)
        degrees += np.bincount(some.indices, minlength=items)
    weighting, weights = weigh(rows.lengths, degrees, exponent)
    room = memory // 2 // (_PAIR if len(parts) == 1 else _COMBINED)
    longest = int(np.minimum(work, items).max(initial=0))
    if longest > room:
        raise MatrixTooLargeError(
            f"the {longest:,} pairs of one item do not fit: {size(memory)} are left for counting",
            hint="allow more memory, or leave out the most active users",
            parameter="memory",
        )
    of_rows = {"lengths": "int64", "sizes": "int64"}
    names: dict[str, Any] = {"columns": "int32", "counts": weights.dtype, **of_rows}
    files = {name: job.array(f"overlaps-{name}", dtype) for name, dtype in names.items()}
    done = job.state.get("counted", (0, 0))[0]
    kept = rows.part(*parts[0]) if len(parts) == 1 else None
    total, steps = int(work.sum()), np.concatenate(([0], np.cumsum(work)))
    for first, last in pairwise((done + item_ranges(work[done:], room)).tolist()):
        found = [
            count_block(kept or rows.part(*part), weights[slice(*part)], first, last, items)
            for part in parts
        ]
        _append(files, combine(found))
        job.commit(*files.values(), counted=(last, len(files["columns"])))
        progress(int(steps[last]), total)
    indptr = np.concatenate(([0], np.cumsum(files["lengths"][:])))
    sizes, pairs_of = files["sizes"][:], (files["columns"], files["counts"])
    return Overlaps(rows.n_rows, sizes, None, indptr, *pairs_of, weighting)  # type: ignore[arg-type]


def count_within(interactions: Interactions, exponent: float, memory: int) -> Overlaps:
    """Count into files without names, which are gone when nobody uses them."""
    with TemporaryDirectory(prefix="boolrank-") as folder, Job.open(folder, "counts") as job:
        items = len(interactions.items)
        return on_disk(count_on_disk(interactions.rows, items, exponent, job, memory))


def on_disk(overlaps: Overlaps) -> Overlaps:
    """Return overlaps whose files are mapped, for a model that keeps them."""
    columns, counts = mapped(overlaps.columns), mapped(overlaps.counts)
    return replace(overlaps, columns=columns, counts=counts)


def _append(files: dict[str, Any], block: Block) -> None:
    for name, file in files.items():
        values: NDArray[Any] = getattr(block, name)
        file.append(values)
