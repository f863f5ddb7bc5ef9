"""Counting in memory: with BLAS, into a dense matrix, or into compressed sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._memory import free_memory, require_memory, size
from ..data.interactions import Interactions
from ..errors import MatrixTooLargeError
from .blocks import TooManyPairsError, count_block
from .overlaps import Overlaps
from .weighting import weigh

# Multiplications in BLAS that take as long as one counting step, measured.
_BLAS_STEPS = 50.0
# Single precision counts exactly up to this many users.
SINGLE = 1 << 24
# Largest dense matrix of counts to consider, 2 GB, and its bytes per pair.
_DENSE_UP_TO, _DENSE_BYTES = 22_000, 4
# Bytes per pair of items while counting: column and count, in blocks and then in one piece.
_PAIR_BYTES = 16
# Items of a user whose pairs take half a minute to count.
_LONGEST = 100_000


def count(interactions: Interactions, exponent: float) -> Overlaps:
    """Count with the method estimated to be fastest."""
    n, items = interactions.shape
    lengths = interactions.rows.lengths.astype(float)
    steps = float(lengths @ lengths)  # an upper bound of the pairs that share a user
    if not is_dense(n, items, steps, exponent):
        return count_sparse(interactions, exponent)
    if not exponent and float(n) * items * items < _BLAS_STEPS * steps:
        return count_by_products(interactions)
    return count_dense(interactions, exponent)


def is_dense(n: int, items: int, steps: float, exponent: float) -> bool:
    """Return whether to count into a dense matrix; ``steps`` bounds the pairs that share a user."""
    room = _DENSE_BYTES * items * items * (2 if exponent else 1)
    small = items <= _DENSE_UP_TO and n <= SINGLE
    return small and steps >= items * items / 4 and room <= free_memory()


def count_by_products(interactions: Interactions) -> Overlaps:
    """Count with BLAS, by products of blocks of the dense matrix."""
    from scipy.linalg.blas import ssyrk

    from .._compiled.weights import spread

    n, items = interactions.shape
    sizes = interactions.popularity()
    total: Any = np.zeros((items, items), np.float32, order="F")
    step = max(1, (1 << 26) // items)
    matrix = interactions.matrix()
    for start in range(0, n, step):
        block = matrix[start : start + step].toarray()
        total = ssyrk(1.0, block.T, beta=1.0, c=total, lower=1, overwrite_c=1)
    dense, ones = total.T, np.ones(items)
    spread(dense, ones, ones, sizes.astype(np.float64))
    return Overlaps(n, sizes, dense=dense)


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
