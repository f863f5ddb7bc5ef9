"""Weights of profile items by recency.

With k the place of an item in its user's history, 0 for the latest, and h the half-life in events,

    weight = 2^(-k/h).

Equal times share the mean weight of their places, so that weights do not depend on the order of
rows. With a half-life in days, k is the age of the item in days when the latest was added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.conditions import units_per_second
from ..data.interactions import Interactions
from ..data.rows import Rows
from ..errors import InputError
from ..table import counted

Floats = NDArray[np.float64]

# No weight is smaller: sums of a few of them are then above 0.
_LEAST = 2.0**-500
_SECONDS = 86_400


def check_times(owner: str, data: Interactions) -> None:
    """Raise if interactions have no times, or if one is missing."""
    if data.time is None:
        lack = "the interactions have none"
        hint = "give the time of each event, of added ones too, or set recency=0"
    else:
        missing = int((~np.isfinite(data.time)).sum())
        lack = f"{counted(missing, 'interaction', 'have')} none" if missing else ""
        hint = "leave these out first, or set recency=0"
    if lack:
        raise InputError(
            f"recency of {owner} needs times, and {lack}", hint=hint, parameter="recency"
        )


def check_added_times(owner: str, known: Interactions, added: Interactions) -> None:
    """Raise if added times are numbers and known ones dates, or the other way around."""
    kinds = [
        "dates" if data.time.dtype.kind == "M" else "numbers"
        for data in (known, added)
        if data.time is not None
    ]
    if len(set(kinds)) == 2:
        raise InputError(
            f"times of the model are {kinds[0]}, and those of added interactions {kinds[1]}",
            hint=f"give {kinds[0]}, which recency of {owner} compares, or set recency=0",
            parameter="added",
        )


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
    if time.dtype.kind == "M":
        day: Any = np.timedelta64(1, "D")
    else:
        day = _SECONDS * units_per_second(time)
    return _halved(ages / day / days)


def _halved(times: Floats) -> Floats:
    """Return 2^-times."""
    # Python's power: an element of numpy's could depend on its place in the array.
    return np.array([max(2.0**-k, _LEAST) for k in times.tolist()], np.float64)
