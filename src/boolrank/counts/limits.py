"""Limits of counting: users with very long histories, and more pairs than memory holds."""

from __future__ import annotations

import numpy as np

from .._memory import require_memory, size
from ..data.interactions import Interactions
from ..errors import MatrixTooLargeError

# Items of a user whose pairs take half a minute to count.
_LONGEST = 100_000


def check_longest(interactions: Interactions, pair_bytes: int = 0) -> None:
    """Raise if the pairs of items of one user take minutes, or more bytes than are free."""
    longest = int(np.diff(interactions.indptr).max(initial=0))
    what, hint = f"the {longest**2:,} pairs of items of one user", _without_longest(interactions)
    if longest > _LONGEST:
        raise MatrixTooLargeError(f"{what} take minutes to count", hint=hint)
    require_memory(pair_bytes * longest**2, f"{what} take", hint=hint)


def too_many_pairs(
    interactions: Interactions, pairs: int, pair_bytes: int, available: int
) -> MatrixTooLargeError:
    """Return the error for pairs that do not fit."""
    return MatrixTooLargeError(
        f"at least {pairs:,} pairs of items share a user; counting them takes "
        f"{size(pair_bytes * pairs)} or more, and {size(available)} are free",
        hint=_without_longest(interactions),
    )


def _without_longest(interactions: Interactions) -> str:
    lengths = np.diff(interactions.indptr)
    if not len(lengths):
        return ""
    busiest = int(lengths.argmax())
    return (
        "leave out users with very long histories, such as "
        f"{interactions.users[busiest]!r} with {int(lengths[busiest]):,} items, or rare items"
    )
