"""What a ranker may be given: its parameters, its data, and what it is asked for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.vocabulary import Vocabulary
from ..errors import InputError, ParameterError
from ..kernels import Kernel, parse_kernel
from ..matrix import STORAGES, KernelMatrix, kernel_matrix

__all__ = [
    "Fitted",
    "allowed",
    "checked_overlaps",
    "matrix_of",
    "number",
    "variables_are_users",
    "whole",
]

# By then a profile's items weigh the same to about 1e-12: more changes nothing.
_MOST_REG = 1e12
_REAL = (int, float, np.integer, np.floating)


class Fitted(NamedTuple):
    """The parameters that a model was fitted with: what it answers by until the next fit."""

    kernel: Kernel
    reg: float
    negative_weight: float
    storage: str

    @staticmethod
    def of(kernel: Kernel | str, reg: float, negative_weight: float, storage: str) -> Fitted:
        """The parameters, if they make sense; the number of threads is not one of them.

        >>> Fitted.of("linear", 1, 0.5, "auto")
        Fitted(kernel=linear, reg=1.0, negative_weight=0.5, storage='auto')
        """
        reg = number("KernelRanker", "reg", reg)
        negative_weight = number("KernelRanker", "negative_weight", negative_weight)
        if storage not in STORAGES:
            raise ParameterError(f"storage is one of {', '.join(STORAGES)}, not {storage!r}")
        return Fitted(parse_kernel(kernel), reg, negative_weight, storage)


def number(model: str, name: str, value: Any, least: float = 0.0, most: float = _MOST_REG) -> float:
    """A parameter of a model, if it is a number within its range.

    >>> number("Ease", "reg", 500)
    500.0
    """
    if not isinstance(value, _REAL) or not least <= value <= most:
        raise ParameterError(
            f"{name} of {model} must be {least:g} or more, at most {most:g}, not {value!r}"
        )
    return float(value)


def checked_overlaps(
    interactions: Interactions, overlaps: Overlaps | None, n_threads: int | None
) -> Overlaps:
    """The overlaps of these interactions: the given ones if they can be, or else counted."""
    if overlaps is None:
        return Overlaps.of(interactions, n_threads)
    if (overlaps.n, overlaps.items) != interactions.shape:
        raise InputError(
            f"these overlaps are of {overlaps.n:,} users and {overlaps.items:,} items, the "
            f"interactions of {interactions.shape[0]:,} and {interactions.shape[1]:,}; count "
            "them with Overlaps.of(interactions)"
        )
    if not np.array_equal(overlaps.sizes, interactions.popularity()):
        raise InputError(
            "these overlaps are of other interactions: the numbers of users of the items "
            "differ; count them with Overlaps.of(interactions)"
        )
    return overlaps


def matrix_of(fitted: Fitted, overlaps: Overlaps) -> KernelMatrix:
    """The kernel matrix of items."""
    with variables_are_users(fitted.kernel):
        return kernel_matrix(fitted.kernel, overlaps, fitted.storage)


@contextmanager
def variables_are_users(kernel: Kernel) -> Iterator[None]:
    """Kernels of items have users for variables: an arity too high says so, and what to give."""
    try:
        yield
    except ParameterError as error:
        said = str(error).replace("variable", "user")
        if f" of {kernel} is " in said:  # of a sum or a composition it is a part
            said = said.replace("; instead use '", "; instead use kernel='")
        raise ParameterError(said) from None


def whole(n: Any, most: int) -> int:
    """A number of items, which is never more than there are.

    >>> whole(10, most=3)
    3
    """
    if not isinstance(n, _REAL) or not 0 <= n < np.inf or n != int(n):
        raise ParameterError(f"n must be a whole number from 0 on, not {n!r}")
    return min(int(n), most)


def allowed(
    items: Vocabulary, candidates: Iterable[Hashable] | None, exclude: Iterable[Hashable] | None
) -> NDArray[np.bool_]:
    """(m,) which of all items may be recommended, the candidates less the excluded ones."""
    out = np.ones(len(items), bool)
    if candidates is not None:
        out[:] = False
        out[items.numbers(candidates)] = True
    if exclude is not None:
        out[items.numbers(exclude)] = False
    return out
