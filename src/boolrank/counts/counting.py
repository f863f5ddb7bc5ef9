"""Counting into a dense matrix, into compressed sparse rows, or into files in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .._memory import free_memory, require_memory, size
from ..data.interactions import Interactions
from ..data.rows import Rows, cut
from ..errors import MatrixTooLargeError
from ..storage.disk_array import DiskArray, mapped
from ..storage.job import Job
from .blocks import Block, TooManyPairsError, combine, count_block, item_ranges, work_per_item
from .overlaps import Overlaps
from .weighting import weigh

# Single precision counts exactly up to this many users.
SINGLE = 1 << 24
# Largest dense matrix of counts to consider, 2 GB, and its bytes per pair.
_DENSE_UP_TO, _DENSE_BYTES = 22_000, 4
# Bytes per pair of items while counting: column and count, in blocks and then in one piece.
_PAIR_BYTES = 16
# Items of a user whose pairs take half a minute to count.
_LONGEST = 100_000
# On disk, bytes per pair of a range: column and count, twice while blocks of users are combined,
# and per event: item, its transpose, and the length of the user's list.
_PAIR, _COMBINED, _EVENT = 12, 48, 32


def count(interactions: Interactions, exponent: float) -> Overlaps:
    """Count with the method estimated to be faster."""
    lengths = interactions.rows.lengths.astype(float)
    dense = is_dense(*interactions.shape, float(lengths @ lengths), exponent)
    return (count_dense if dense else count_sparse)(interactions, exponent)


def is_dense(n: int, items: int, steps: float, exponent: float) -> bool:
    """Return whether to count into a dense matrix; ``steps`` bounds the pairs that share a user."""
    room = _DENSE_BYTES * items * items * (2 if exponent else 1)
    small = items <= _DENSE_UP_TO and n <= SINGLE
    return small and steps >= items * items / 4 and room <= free_memory()


def count_dense(interactions: Interactions, exponent: float = 0.0) -> Overlaps:
    """Count item by item, over the items of its users, into a dense matrix."""
    from .._compiled.overlaps import count_matrix
    from .._compiled.rows import transposed

    (n, items), rows = interactions.shape, interactions.rows
    weighting, weights = weigh(rows.lengths, interactions.popularity(), exponent)
    dense = np.empty((items, items), np.int64 if weighting else np.float32)
    item_ptr, item_users, places = transposed(*rows, items)
    count_matrix(dense, weights, item_ptr, item_users, places, *rows)
    return Overlaps(n, np.diag(dense).astype(np.int64), dense=dense, weighting=weighting)


def count_sparse(interactions: Interactions, exponent: float = 0.0) -> Overlaps:
    """Count item by item, over the items of its users, into compressed rows."""
    check_longest(interactions)
    (n, items), rows = interactions.shape, interactions.rows
    weighting, weights = weigh(rows.lengths, interactions.popularity(), exponent)
    each, free = _PAIR_BYTES * (4 + weights.itemsize) // 8, free_memory()
    try:
        block = count_block(rows, weights, 0, items, items, most=free // each)
    except TooManyPairsError as error:
        raise MatrixTooLargeError(
            f"at least {error.args[0]:,} pairs of items share a user; counting them takes "
            f"{size(each * error.args[0])} or more, and {size(free)} are free",
            hint=_without_longest(interactions),
        ) from None
    return Overlaps(n, block.sizes, None, block.indptr, block.columns, block.counts, weighting)


def check_longest(interactions: Interactions, pair_bytes: int = 0) -> None:
    """Raise if the pairs of items of one user take minutes, or more bytes than are free."""
    longest = int(interactions.rows.lengths.max(initial=0))
    what, hint = f"the {longest**2:,} pairs of items of one user", _without_longest(interactions)
    if longest > _LONGEST:
        raise MatrixTooLargeError(f"{what} take minutes to count", hint=hint)
    require_memory(pair_bytes * longest**2, f"{what} take", hint=hint)


def _without_longest(interactions: Interactions) -> str:
    lengths = interactions.rows.lengths
    if not len(lengths):
        return ""
    busiest = int(lengths.argmax())
    return (
        "leave out users with very long histories, such as "
        f"{interactions.users[busiest]!r} with {int(lengths[busiest]):,} items, or rare items"
    )


def count_on_disk(
    rows: Rows,
    items: int,
    exponent: float,
    job: Job,
    memory: int,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Overlaps:
    """Count into files of a job, range by range of items, with at most ``memory`` bytes.

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
    kinds: dict[str, Any] = {"columns": "int32", "counts": weights.dtype}
    kinds |= {"lengths": "int64", "sizes": "int64"}
    files = {name: job.array(f"overlaps-{name}", kind) for name, kind in kinds.items()}
    paths = [file.path for file in files.values()]
    done = job.state.get("counted", (0, 0))[0]
    kept = rows.part(*parts[0]) if len(parts) == 1 else None
    steps = np.concatenate(([0], np.cumsum(work))).tolist()
    for first, last in pairwise((done + item_ranges(work[done:], room)).tolist()):
        found = [
            count_block(kept or rows.part(*part), weights[slice(*part)], first, last, items)
            for part in parts
        ]
        _append(files, combine(found))
        job.commit(*paths, counted=(last, len(files["columns"])))
        progress(steps[last], steps[-1])
    indptr = np.concatenate(([0], np.cumsum(files["lengths"][:])))
    sizes, pairs_of = files["sizes"][:], (files["columns"], files["counts"])
    return Overlaps(rows.n_rows, sizes, None, indptr, *pairs_of, weighting)  # type: ignore[arg-type]


def _append(files: dict[str, DiskArray], block: Block) -> None:
    for name, file in files.items():
        file.append(getattr(block, name))


def on_disk(overlaps: Overlaps) -> Overlaps:
    """Return overlaps whose files are mapped, for a model that keeps them."""
    columns, counts = mapped(overlaps.columns), mapped(overlaps.counts)
    return replace(overlaps, columns=columns, counts=counts)
