"""Parameters of kernels: checked, told what is wrong with them, and stored in one form."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError, ParameterTypeError
from .wide import Wide

if TYPE_CHECKING:
    from .base import Kernel

# Counts are below this number, so a larger arity could not be used.
_MOST = 1 << 53
# Highest degrees and powers: exponents of values stay far below what a wide number holds.
MOST_POWER = 1 << 20


def whole(kernel: Kernel, name: str, value: Any, most: int = _MOST - 1) -> None:
    """Check a parameter that must be a whole number from 1 on; store it as a Python int."""
    number = _number(kernel, name, value, "a whole number")
    if not (1 <= number <= most and number == int(number)):
        upper = f"to {most:,}" if number > most else "on"
        raise ParameterError(
            f"{name} of {kernel.name} must be a whole number from 1 {upper}, not {_shown(value)}"
        )
    object.__setattr__(kernel, name, int(number))


def real(kernel: Kernel, name: str, value: Any, zero_allowed: bool = False) -> None:
    """Check a parameter that must be a positive number; whole ones are stored as int."""
    given = _number(kernel, name, value, "a number")
    try:
        number = float(given)
    except OverflowError:
        number = inf
    if not isfinite(number) or number < 0 or (number == 0 and not zero_allowed):
        bound = "0 or more" if zero_allowed else "more than 0"
        raise ParameterError(
            f"{name} of {kernel.name} must be a number that a double can hold, {bound}, "
            f"not {_shown(value)}"
        )
    object.__setattr__(kernel, name, int(number) if number == int(number) < _MOST else number)


def flag(kernel: Kernel, name: str, value: Any) -> None:
    """Check a parameter that must be True or False; store it as a Python bool."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterTypeError(
            f"{name} of {kernel.name} must be True or False, not {value!r} of type "
            f"{type(value).__name__}"
        )
    object.__setattr__(kernel, name, bool(value))


def fits(kernel: Kernel, name: str, size: int, n: Wide, things: str = "variable") -> None:
    """Check that subsets of a size exist among n things."""
    least = n.floats().min()
    if least < size:
        there = f"is only 1 {things}" if least == 1 else f"are only {int(least)} {things}s"
        advice = _lesser(kernel, name, int(least))
        raise ParameterError(f"{name} of {kernel} is {size}, but there {there}{advice}")


def _lesser(kernel: Any, name: str, most: int) -> str:
    """What to use for a kernel that does not fit; nothing where none like it does."""
    try:
        return f"; instead use '{replace(kernel, **{name: most})}'"
    except ParameterError:
        return ""


def _number(kernel: Kernel, name: str, value: Any, wanted: str) -> int | float:
    """A Python number: numpy's compare and convert by rules of their own."""
    numbers = int, float, np.integer, np.floating
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, numbers):
        raise ParameterTypeError(
            f"{name} of {kernel.name} must be {wanted}, not {value!r} of type "
            f"{type(value).__name__}"
        )
    if isinstance(value, np.longdouble):
        return float(value)  # of which `item` would make no Python number
    return value.item() if isinstance(value, np.generic) else value


def _shown(value: Any) -> str:
    """The value as text; Python refuses to write out whole numbers of thousands of digits."""
    long = isinstance(value, int) and abs(value) >= 1 << 100
    return f"one of {value.bit_length()} bits" if long else repr(value)
