"""Weights of users: user v counts as round(2^40·activity(v)^-g), an exact number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..storage.state import State, array

# Weight of a user with one item, and the largest sum of weights, both in bits.
UNIT, MOST = 40, 62


@dataclass(frozen=True, eq=False)
class Weighting(State):
    """Sum of the weights of users, number of ``active`` users, and users of each item."""

    kind: ClassVar[str] = "weighting"

    exponent: float
    total: int
    active: int
    degrees: NDArray[np.int64] = array("int64", "items", low=0, high="users+1")


def weigh(
    activity: NDArray[np.int64], degrees: NDArray[np.int64], exponent: float
) -> tuple[Weighting | None, NDArray[Any]]:
    """Return the sums of weights, None if all users count as 1, and the weight of each user."""
    weights = user_weights(activity, exponent)
    if not exponent:
        return None, weights
    total, active = int(weights.sum()), int(np.count_nonzero(activity))
    return Weighting(exponent, total, active, degrees), weights


def user_weights(activity: NDArray[Any], exponent: float) -> NDArray[Any]:
    """Return the weight of each user by number of items: 32-bit ones for an exponent of 0.

    Raise if their sum does not fit into 64 bits.
    """
    distinct, inverse = np.unique(activity, return_inverse=True)
    return weight_table(distinct, np.bincount(inverse), exponent)[inverse]


def weight_table(activity: NDArray[Any], users: NDArray[Any], exponent: float) -> NDArray[Any]:
    """Return the weight of users with each number of items; ``users`` counts them."""
    if not exponent:
        return np.ones(len(activity), np.int32)
    # Python's power: an element of numpy's could depend on its place in the array.
    table = [max(round((1 << UNIT) * int(a) ** -exponent), 1) if a else 0 for a in activity]
    if sum(w * int(n) for w, n in zip(table, users, strict=True)) > 1 << MOST:
        raise InputError(
            f"{users.sum():,} users are too many to weigh: their weights exceed 2^{MOST}",
            hint="use user_exponent=0, or leave out users with one item",
            parameter="user_exponent",
        )
    return np.array(table, np.int64)
