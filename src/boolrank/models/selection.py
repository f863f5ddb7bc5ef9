"""Selection of lists from rankings: items that may be recommended, limits per group, diversity.

With limits per group, a list is the ranking without items whose group is full already. A diverse
list is picked greedily (maximal marginal relevance): the next item has the highest

    (1 - diversity)·relevance - diversity·max similarity to the items picked,

with scores and the model's own similarities, both scaled to [0, 1] within the best items,
similarities to each picked item by themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import real, whole, wrong_type
from ..data.filters import filter_items
from ..data.items import ItemTable
from ..data.rows import Rows
from ..errors import InputError, ParameterError
from .profiles import Profiles
from .scorer import Floats, Items, Ranked, Scorer, empty_lists

# A diverse list is picked from this many times its length; longer rankings change little.
_POOL = 10
# Rankings are first made this many times as long as a list with limits, then longer as needed.
_DEEPER = 4
_CACHED = 1 << 24  # similarities that are kept: 128 MB

Rank = Callable[[Profiles, int], Ranked]  # of profiles, to a length


@dataclass(frozen=True, eq=False)
class Selection:
    """The items that may be recommended, limits per group, and diversity.

    Attributes
    ----------
    hidden : numbers of items that may not be recommended
    limits : columns of groups, with the most items of each group
    diversity : 0 for the ranking itself, 1 for the least similar items
    """

    hidden: NDArray[np.int64]
    limits: tuple[tuple[Rows, int], ...] = ()
    diversity: float = 0.0

    @staticmethod
    def of(
        size: int,
        table: ItemTable | None,
        candidates: NDArray[np.int64] | None = None,
        exclude: NDArray[np.int64] | None = None,
        where: str | None = None,
        per: Mapping[str, int] | None = None,
        diversity: float = 0.0,
    ) -> Selection:
        """Return the selection that options of `Recommender.recommend` describe.

        Items are numbers below ``size``; -1 stands for unknown ones.
        """
        allowed = candidates
        if where is not None:
            allowed = np.flatnonzero(filter_items(_needed(table, "where"), where))
            allowed = allowed if candidates is None else np.intersect1d(allowed, candidates)
        hidden = np.empty(0, np.int64) if exclude is None else exclude[exclude >= 0]
        if allowed is not None:
            visible = np.zeros(size, bool)
            visible[allowed[allowed >= 0]] = True
            visible[hidden] = False
            hidden = np.flatnonzero(~visible)
        if not isinstance(per or {}, Mapping):
            raise wrong_type("", "per", per, "a dictionary such as {'category': 2}")
        limits = tuple(
            (_needed(table, "per").column(name, "per").rows, whole("", f"per {name}", most, low=1))
            for name, most in (per or {}).items()
        )
        return Selection(hidden, limits, real("", "diversity", diversity, low=0, high=1))

    def lists(self, rank: Rank, profiles: Profiles, n: int, scorer: Scorer) -> Ranked:
        """Return n items for each profile, picked from rankings of any length."""
        if not self.limits and not self.diversity:
            return rank(profiles, n)
        if self.diversity and not scorer.compares():
            raise ParameterError(
                "this model cannot compare items, which diversity needs",
                hint="`boolrank models` lists abilities",
                parameter="diversity",
            )
        chosen, scores = empty_lists(profiles.n_rows, n)
        similar = _similarities(scorer)
        left = np.arange(profiles.n_rows)
        depth = min(n * (_POOL if self.diversity else _DEEPER), scorer.items)
        while len(left) and n:
            again, ranked = [], rank(profiles.take(left), depth)
            for k, items, values in zip(left.tolist(), *ranked, strict=True):
                size = int(np.count_nonzero(items >= 0))
                picked = self._pick(items[:size], values[:size], n, similar)
                if len(picked) < n and size == depth < scorer.items:
                    again.append(k)  # further down there may be more
                else:
                    chosen[k, : len(picked)] = items[picked]
                    scores[k, : len(picked)] = values[picked]
            left, depth = np.array(again, np.int64), min(_DEEPER * depth, scorer.items)
        return chosen, scores

    def _pick(
        self, items: Items, values: Floats, n: int, similar: Callable[[int], Floats]
    ) -> list[int]:
        """Return places in a ranking, in the order of the list."""
        taken: Counter[tuple[int, int]] = Counter()
        picked: list[int] = []
        if not self.diversity:
            for place, item in enumerate(items.tolist()):
                if len(picked) == n:
                    break
                if self._admits(item, taken):
                    picked.append(place)
            return picked
        gain, near = (1 - self.diversity) * _scaled(values), np.zeros(len(items))
        while len(picked) < n and np.isfinite(gain.max(initial=-np.inf)):
            place = int(np.argmax(gain - self.diversity * near))
            gain[place] = -np.inf
            if self._admits(int(items[place]), taken):
                picked.append(place)
                near = np.maximum(near, _scaled(similar(int(items[place]))[items]))
        return picked

    def _admits(self, item: int, taken: Counter[tuple[int, int]]) -> bool:
        """Return whether all groups of an item have room, and count it if so."""
        groups = []
        for column, (rows, most) in enumerate(self.limits):
            for group in rows.row(item).tolist():
                if taken[column, group] >= most:
                    return False
                groups.append((column, group))
        taken.update(groups)
        return True


def parse_limits(texts: Iterable[str]) -> dict[str, int]:
    """Return limits per group from texts.

    >>> parse_limits(["category=2"])
    {'category': 2}
    """
    limits = {}
    for text in texts:
        name, _, most = text.rpartition("=")
        if not name.strip() or not re.fullmatch(r"\s*[0-9]{1,9}\s*", most):
            problem = f"per is a column and a number, such as category=2, not {text!r}"
            raise ParameterError(problem, parameter="per")
        limits[name.strip()] = int(most)
    return limits


def _needed(table: ItemTable | None, parameter: str) -> ItemTable:
    if table is None:
        raise InputError(
            f"{parameter} needs a table of items, and the model has none",
            hint="fit the model with a table of items",
            parameter=parameter,
        )
    return table


def _similarities(scorer: Scorer) -> Callable[[int], Floats]:
    """Return a function for the similarities of an item to all others."""

    @lru_cache(maxsize=max(16, _CACHED // max(scorer.items, 1)))
    def similar(item: int) -> Floats:
        keys: Any = np.array(scorer.similar(item)[0])
        keys[item] = np.delete(keys, item).max(initial=-np.inf)  # it never stands beside itself
        return np.asarray(keys, np.float64)

    return similar


def _scaled(values: Floats) -> Floats:
    """Return values between 0 for the lowest and 1 for the highest."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    span = high - low
    return (values - low) / span if 0 < span < np.inf else np.zeros(len(values))
