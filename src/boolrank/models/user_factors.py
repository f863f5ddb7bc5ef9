"""Factors of users from their profiles, for libraries that only know users they have seen.

Somebody with just the items of a training user has that user's factors; the mean, where several
users have the same items, so that scores depend on the profile alone. Anybody else is folded in by
the linear map from the mean factors of a user's items to the user's own that is nearest to what the
library has learned of its users, by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.interactions import Interactions
from .profiles import Profiles
from .recommender import Floats

__all__ = ["UserFactors"]

# How much the map is held back, relative to what it is fitted on: with fewer users than factors
# it would otherwise follow each of them exactly.
_RIDGE = 1e-3


@dataclass(frozen=True, eq=False)
class UserFactors:
    """Profiles of the training users, the factors of each, and the map for all others.

    Attributes
    ----------
    known : by the profile's item numbers as bytes, its row in ``users``
    users : (p, f) factors of each distinct profile
    items : (m, f) factors of the items
    folding : (f + 1, f) the map; its last row is what is added
    """

    known: dict[bytes, int]
    users: Floats
    items: Floats
    folding: Floats

    @staticmethod
    def of(
        data: Interactions, users: NDArray[np.float32], items: NDArray[np.float32]
    ) -> UserFactors:
        """From what was learned: (n, f) factors of users, (m, f) of items."""
        some = np.flatnonzero(np.diff(data.indptr) > 0)
        profiles = Profiles.of_users(data, some)
        keys = _keys(profiles)
        known = {key: row for row, key in enumerate(dict.fromkeys(keys))}
        rows = np.array([known[key] for key in keys])
        learned = users[some].astype(np.float64)
        means = np.zeros((len(known), learned.shape[1]))
        np.add.at(means, rows, learned)
        means /= np.bincount(rows)[:, None]
        of_items = items.astype(np.float64)
        given = _given(profiles, of_items)
        gram = given.T @ given
        gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
        folding = np.asarray(np.linalg.solve(gram, given.T @ learned), np.float64)
        return UserFactors(known, means, of_items, folding)

    def of_profiles(self, profiles: Profiles) -> Floats:
        """(u, f) the factors of each profile, none of which is empty."""
        rows = np.array([self.known.get(key, -1) for key in _keys(profiles)])
        out = _given(profiles, self.items) @ self.folding
        out[rows >= 0] = self.users[rows[rows >= 0]]
        return out


def _keys(profiles: Profiles) -> list[bytes]:
    own = np.ascontiguousarray(profiles.own, np.int32)
    return [own[a:b].tobytes() for a, b in zip(profiles.start, profiles.start[1:], strict=False)]


def _given(profiles: Profiles, items: Floats) -> Floats:
    """(u, f + 1) the mean factors of each profile's items, and 1."""
    sums = np.add.reduceat(items[profiles.own], profiles.start[:-1], axis=0)
    return np.hstack([sums / profiles.lengths[:, None], np.ones((len(sums), 1))])
