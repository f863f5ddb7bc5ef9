"""Profiles: the items of each person to score, with optional weights by recency.

With k the place of an item in its user's history, 0 for the latest, and h the half-life in events,

    weight = 2^(-k/h).

Equal times share the mean weight of their places, so that weights do not depend on the order of
rows. With a half-life in days, k is the age of the item in days when the latest was added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.conditions import units_per_second
from ..data.interactions import Interactions
from ..data.rows import Rows
from ..errors import InputError
from ..table import counted

Floats = NDArray[np.float64]

# Of items that count alike.
NO_WEIGHTS = np.empty(0)
NO_WEIGHTS.flags.writeable = False
# No weight is smaller: sums of a few of them are then above 0.
_LEAST = 2.0**-500
_SECONDS = 86_400


class Profiles(NamedTuple):
    """Item numbers of several people, ascending within each profile.

    A named tuple, so that ``*profiles`` passes three arrays to a compiled loop.

    Attributes
    ----------
    indptr, indices : compressed sparse rows, as in `Rows`
    weights : a factor for each entry of ``indices``, such as its recency; empty if all are 1

    >>> profiles = Profiles.of_lists([[4, 1], [2]])
    >>> profiles.n_rows, profiles.row(0), profiles.weights
    (2, array([1, 4], dtype=int32), array([], dtype=float64))
    >>> profiles._replace(weights=np.array([1, 0.5, 0.25])).part(1, 2).weights
    array([0.25])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float64] = NO_WEIGHTS

    @staticmethod
    def of_lists(lists: Iterable[Iterable[int] | NDArray[np.integer]]) -> Profiles:
        """Return profiles of item numbers, without weights."""
        return Profiles(*Rows.of_lists(lists))

    @property
    def rows(self) -> Rows:
        """The items without weights."""
        return Rows(self.indptr, self.indices)

    @property
    def n_rows(self) -> int:
        """Number of profiles."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(u,) number of items of each profile."""
        return self.rows.lengths

    def row(self, number: int) -> NDArray[np.int32]:
        """Return the items of one profile."""
        return self.rows.row(number)

    def part(self, start: int, stop: int) -> Profiles:
        """Return the profiles from start to stop."""
        weights = self.weights[self.indptr[start] : self.indptr[stop]]
        return Profiles(*self.rows.part(start, stop), weights)

    def take(self, numbers: NDArray[np.int64]) -> Profiles:
        """Return the profiles with these numbers, in this order."""
        weights = self.weights
        if len(weights):
            weights = weights[self.rows.places(numbers)]
        return Profiles(*self.rows.take(numbers), weights)

    def by_longest_row(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """(u,) Return an order in which those with the same longest row are neighbours.

        ``lengths`` are those of the rows of a matrix of items, or grow with them. The row then
        stays in the cache.

        >>> profiles = Profiles.of_lists([[1, 2], [0], [2], []])
        >>> profiles.by_longest_row(np.array([5, 7, 6]))[0]  # item 0 has the shortest row
        np.int64(1)
        """
        if self.n_rows == 1 or not len(self.indices):
            return np.arange(self.n_rows)
        key = lengths[self.indices] * len(lengths) + self.indices
        first = np.minimum(self.indptr[:-1], len(key) - 1)
        return np.argsort(np.maximum.reduceat(key, first), kind="stable")

    def weigh(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a value for each entry times its weight."""
        return values * self.weights if len(self.weights) else values


def check_times(owner: str, data: Interactions, model: Interactions | None = None) -> None:
    """Raise if interactions lack times, or if those added to a ``model`` are in another unit."""
    time, thing = data.time, "interaction" if model is None else "added interaction"
    missing = data.size if time is None else int((~np.isfinite(time)).sum())
    if missing:
        raise InputError(
            f"recency of {owner} needs times, and {counted(missing, thing, 'have')} none",
            hint="give the time of each event, of added ones too, or set recency=0",
            parameter="recency",
        )
    before = None if model is None else model.time
    if time is not None and before is not None and _per_second(time) != _per_second(before):
        raise InputError(
            f"times of added interactions, such as {time[0]}, are in another unit than those of "
            f"the model, such as {before[0]}",
            hint="give all as dates, or all as numbers in one unit",
            parameter="recency",
        )


def _per_second(time: NDArray[Any]) -> int:
    """Return the units per second of numbers, 0 for dates."""
    return 0 if time.dtype.kind == "M" else units_per_second(time)


def recency_weights(recency: float | str, rows: Rows, time: NDArray[Any]) -> Floats:
    """Return the weight of each entry of rows, from its time and the half-life.

    The half-life is a number of events, or text such as ``"30d"``. Then times that are numbers
    count from 1970, in the unit of `units_per_second`.

    >>> rows = Rows.of_lists([[0, 1, 2, 3]])
    >>> recency_weights(1.0, rows, np.array([9, 9, 8, 5]))
    array([0.75 , 0.75 , 0.25 , 0.125])
    >>> recency_weights("2d", rows, np.array([4, 3, 2, 0], "datetime64[D]"))
    array([1.        , 0.70710678, 0.5       , 0.25      ])
    """
    if isinstance(recency, str):
        return _by_age(float(recency.removesuffix("d")), rows, time)
    numbers, longest = rows.numbers, int(rows.lengths.max(initial=0))
    order = np.lexsort((time, numbers))
    when = time[order]
    new = np.diff(numbers, prepend=-1) != 0
    new[1:] |= when[1:] != when[:-1]
    first = np.flatnonzero(new)
    sizes = np.diff(first, append=len(when))
    latest = rows.indptr[1:][numbers[first]] - first - sizes
    halved = _halved(np.arange(longest) / recency)
    means = np.cumsum(halved) / np.arange(1, longest + 1)
    out = np.empty(len(when))
    out[order] = np.repeat(halved[latest] * means[sizes - 1], sizes)
    return out


def _by_age(days: float, rows: Rows, time: NDArray[Any]) -> Floats:
    some = rows.lengths > 0
    last = np.maximum.reduceat(time, rows.indptr[:-1][some]) if some.any() else time[:0]
    ages = np.repeat(last, rows.lengths[some]) - time
    day: Any = _SECONDS * _per_second(time) or np.timedelta64(1, "D")
    return _halved(ages / day / days)


def _halved(times: Floats) -> Floats:
    """Return 2^-times."""
    # Python's power: an element of numpy's could depend on its place in the array.
    return np.array([max(2.0**-k, _LEAST) for k in times.tolist()], np.float64)
