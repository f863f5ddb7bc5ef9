"""What the numbers of a model may be: checked alike for all models that others have written."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from ..errors import ParameterError

__all__ = ["check_numbers"]


def check_numbers(model: Any, **least: float) -> None:
    """Raise unless each of these parameters is finite and no less; whole where its least is whole.

    >>> from types import SimpleNamespace
    >>> check_numbers(SimpleNamespace(factors=2.5), factors=1)
    Traceback (most recent call last):
    boolrank.errors.ParameterError: factors of SimpleNamespace must be a whole number from 1 on, \
not 2.5
    """
    for name, low in least.items():
        value = getattr(model, name)
        whole = isinstance(low, int)
        if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
            good = False
        else:
            good = low <= float(value) < float("inf")
        if not good:
            kind = "a whole number" if whole else "a number"
            raise ParameterError(
                f"{name} of {type(model).__name__} must be {kind} from {low:g} on, not {value!r}"
            )
