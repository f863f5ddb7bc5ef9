"""Synthetic interactions of any size, with long tails and planted tastes.

Users and items have weights 1/(rank + offset) in random order, so a few are very active or popular.
Every item has one taste, every user two. An item is drawn by its weight: from the user's first
taste, the second, or from all items.

Logarithms and powers are avoided: their last digits differ between machines.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ..checks import whole
from .interactions import Interactions
from .vocabulary import Vocabulary

_TASTES = 20
_SHARES = (0.6, 0.85)  # cumulative: the first taste, the second; the rest is from all items
_USER_TAIL, _ITEM_TAIL = 100, 2000
_ROUNDS = 12

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def synthetic(
    users: int = 2_000, items: int = 1_000, interactions: int = 40_000, seed: int = 0
) -> Interactions:
    """Return synthetic interactions with long tails and planted tastes.

    The number of distinct interactions is exact. Every user has one at least, and so has every item
    if there are enough. Ids are whole numbers from 0; times are a random order. The same arguments
    give the same data on every machine.

    >>> synthetic(100, 50, 600, seed=1)
    Interactions: 100 users x 50 items, 600 interactions
    """
    users, items = whole("synthetic", "users", users, 1), whole("synthetic", "items", items, 1)
    interactions = whole("synthetic", "interactions", interactions, users, users * items)
    seed = whole("synthetic", "seed", seed, 0)
    rng = np.random.default_rng([seed, 1])
    of_users, of_items = plant_tastes(users, items, seed)
    lengths = _lengths(rng, users, items, interactions)
    weights = _weights(rng, items, _ITEM_TAIL)
    keys = _one_of_each(rng, of_users[:, 0], of_items, lengths)
    for _ in range(_ROUNDS):
        needs = lengths - np.bincount(keys // items, minlength=users)
        if not needs.any():
            break
        who = np.repeat(np.arange(users), needs)
        drawn = who * items + _draw(rng, of_users[who], of_items, weights)
        # A stable sort merges sorted runs in linear time; np.unique takes five times as long.
        keys = np.sort(np.concatenate([keys, np.sort(drawn)]), kind="stable")
        keys = keys[np.diff(keys, prepend=-1) != 0]
    keys = _completed(keys, lengths, weights)
    return Interactions.from_numbers(
        Vocabulary(np.arange(users), "user"),
        Vocabulary(np.arange(items), "item"),
        keys // items,
        keys % items,
        rng.permutation(interactions),
    )


def plant_tastes(users: int, items: int, seed: int) -> tuple[Ints, Ints]:
    """Return the two tastes of each user (users, 2) and the taste of each item (items,)."""
    rng = np.random.default_rng([seed, 0])
    tastes = min(_TASTES, items)
    # Dealt in turn, so that every taste has items.
    of_items = rng.permutation(np.arange(items) % tastes)
    return rng.integers(0, tastes, size=(users, 2)), of_items


def _weights(rng: Generator, size: int, tail: int) -> Floats:
    return np.asarray(np.reciprocal(1.0 + size / tail + rng.permutation(size)))


def _lengths(rng: Generator, users: int, items: int, interactions: int) -> Ints:
    """Return the number of items of each user: one, and a share of the rest by weight."""
    share = np.cumsum(_weights(rng, users, _USER_TAIL))
    ends = np.floor(share / share[-1] * (interactions - users)).astype(np.int64)
    lengths: Ints = np.minimum(1 + np.diff(ends, prepend=0), items)
    # The surplus of users without room goes to the others, one after the other.
    room = items - lengths
    left = interactions - lengths.sum()
    lengths += np.clip(left - (np.cumsum(room) - room), 0, room)
    return lengths


def _draw(rng: Generator, tastes: Ints, of_items: Ints, weights: Floats) -> Ints:
    """Draw an item by weight for each pair of tastes (draws, 2)."""
    items = np.argsort(of_items, kind="stable")
    starts = np.searchsorted(of_items[items], np.arange(of_items.max() + 2))
    sums = np.concatenate([[0.0], np.cumsum(weights[items])])
    choice = rng.random(len(tastes))
    taste = np.where(choice < _SHARES[0], tastes[:, 0], tastes[:, 1])
    anywhere = choice >= _SHARES[1]
    first = np.where(anywhere, 0, starts[taste])
    last = np.where(anywhere, len(items), starts[taste + 1])
    point = sums[first] + rng.random(len(tastes)) * (sums[last] - sums[first])
    at = np.searchsorted(sums, point, side="right") - 1
    # Rounding may put a point on the upper end.
    return np.asarray(items[np.minimum(at, last - 1)])


def _one_of_each(rng: Generator, of_users: Ints, of_items: Ints, lengths: Ints) -> Ints:
    """Match every item, or as many as possible, with a user of mostly the same taste; as keys.

    Both sides are ordered by taste and matched at even distances along the interactions.
    """
    n_items, total = len(of_items), int(lengths.sum())
    users, items = rng.permutation(len(lengths)), rng.permutation(n_items)[:total]
    users = users[np.argsort(of_users[users], kind="stable")]
    items = items[np.argsort(of_items[items], kind="stable")]
    places = np.arange(len(items)) * total // len(items)
    owners = users[np.searchsorted(np.cumsum(lengths[users]), places, side="right")]
    return np.sort(owners * n_items + items)


def _completed(keys: Ints, lengths: Ints, weights: Floats) -> Ints:
    """Give users who still lack items, having most of what they like, the most popular others."""
    n_items = len(weights)
    popular = np.argsort(-weights, kind="stable")
    starts = np.searchsorted(keys, np.arange(len(lengths) + 1) * n_items)
    needs = lengths - np.diff(starts)
    added = [keys]
    for user in np.flatnonzero(needs).tolist():
        free = np.ones(n_items, dtype=bool)
        free[keys[starts[user] : starts[user + 1]] - user * n_items] = False
        added.append(user * n_items + popular[free[popular]][: needs[user]])
    return np.concatenate(added)
