"""Parameters of kernels: metadata of dataclass fields, with the range for people and the check.

A kernel stores the checked value, so that ``Disjunctive(3.0)`` equals ``Disjunctive(3)``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .. import checks
from ..errors import ParameterError
from .wide import Wide

# Highest degree and power: exponents of values stay far below the largest of a wide number.
MOST_POWER = 1 << 20
# Counts are below this number.
_LIMIT = 1 << 53


size = partial(checks.whole, low=1, high=_LIMIT - 1)
exponent = partial(checks.whole, low=1, high=MOST_POWER)


def positive(owner: str, name: str, value: Any) -> float:
    """Check a positive number; whole ones are stored as int."""
    return _not_negative(owner, name, checks.real(owner, name, value, above=0))


def _optional_size(owner: str, name: str, value: Any) -> int | None:
    return None if value is None else size(owner, name, value)


def _not_negative(owner: str, name: str, value: Any) -> float:
    number = checks.real(owner, name, value, low=0)
    return int(number) if number == int(number) < _LIMIT else number


ARITY = {"range": "whole, 1 to n", "check": size, "at_most_n": True}
OPTIONAL_ARITY = {"range": "None, or whole, 1 to n", "check": _optional_size, "at_most_n": True}
SIZE = {"check": size}
DEGREE = {"range": f"whole, 1 to {MOST_POWER:,}", "check": exponent}
POSITIVE = {"range": "more than 0", "check": positive}
NOT_NEGATIVE = {"range": "0 or more", "check": _not_negative}
FLAG = {"range": "True or False", "check": checks.flag}


def check_arities(kernel: Any, n: Wide, lifted: bool) -> None:
    """Raise if an arity of a kernel is more than the number of variables, or of features."""
    for field in getattr(kernel, "__dataclass_fields__", {}).values():
        size = getattr(kernel, field.name) if field.metadata.get("at_most_n") else None
        if size is not None and (least := n.floats().min()) < size:
            thing = "feature" if lifted else "variable"
            there = f"is only 1 {thing}" if least == 1 else f"are only {int(least)} {thing}s"
            raise ParameterError(
                f"{field.name} of {kernel} is {size}, but there {there}",
                hint=f"use {field.name} <= {int(least)}" if least >= 1 else "",
                parameter=field.name,
            )
