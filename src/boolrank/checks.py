"""Validate numbers and names: the one place that says what is wrong, and what is allowed.

>>> real("Ease", "reg", 500, low=0), whole("conjunctive", "arity", 2.0, low=1)
(500.0, 2)
>>> whole("conjunctive", "arity", 0, low=1)
Traceback (most recent call last):
    ...
boolrank.errors.ParameterError: arity of conjunctive must be a whole number, 1 or more, not 0
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from math import inf, isfinite
from typing import Any

import numpy as np

from .errors import BoolrankError, ParameterError, ParameterTypeError

# What to do about a name that is not known.
IMPORT = "import its module first (--import MODULE on the command line)"


def real(
    owner: str,
    name: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    *,
    above: float | None = None,
) -> float:
    """Return a finite number as a float; raise if it is not one or is out of range.

    ``name`` is the parameter and ``owner`` what it belongs to, or "". Bools are refused. Bounds are
    inclusive, except ``above``.
    """
    try:
        number = float(_number(owner, name, value, "a number"))
    except OverflowError:
        number = inf
    low_holds = (low is None or number >= low) and (above is None or number > above)
    if not (isfinite(number) and low_holds and (high is None or number <= high)):
        kind = "a finite number" if high is None else "a number"
        raise _out_of_range(owner, name, value, kind, low, high, above)
    return number


def whole(
    owner: str, name: str, value: Any, low: int | None = None, high: int | None = None
) -> int:
    """Return a whole number as an int (2.0 is one); raise if it is not one or is out of range."""
    number = _number(owner, name, value, "a whole number")
    is_whole = isinstance(number, int) or number.is_integer()
    if not (is_whole and (low is None or number >= low) and (high is None or number <= high)):
        raise _out_of_range(owner, name, value, "a whole number", low, high)
    return int(number)


def flag(owner: str, name: str, value: Any) -> bool:
    """Return True or False as a Python bool; raise if the value is neither."""
    if not isinstance(value, bool | np.bool_):
        raise wrong_type(owner, name, value, "True or False")
    return bool(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise if a value is not one of some texts."""
    if value not in choices:
        allowed = " or ".join(map(repr, choices))
        raise ParameterError(f"{name} must be {allowed}, not {value!r}", parameter=name)


def _number(owner: str, name: str, value: Any, wanted: str) -> int | float:
    numbers = int, float, np.integer, np.floating
    # numpy counts time differences among the integers.
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, numbers):
        raise wrong_type(owner, name, value, wanted)
    if isinstance(value, np.longdouble):
        return float(value)  # its item() is not a Python number
    return value.item() if isinstance(value, np.generic) else value


def wrong_type(owner: str, name: str, value: Any, wanted: str) -> ParameterTypeError:
    """Return the error for a value of another type than the one wanted."""
    return ParameterTypeError(
        f"{_subject(owner, name)} must be {wanted}, not {value!r} of type {type(value).__name__}",
        parameter=name,
    )


def _out_of_range(
    owner: str,
    name: str,
    value: Any,
    kind: str,
    low: float | None,
    high: float | None,
    above: float | None = None,
) -> ParameterError:
    if low is not None and high is not None:
        kind += f" from {_shown(low)} to {_shown(high)}"
    else:
        kind += "" if above is None else f", more than {_shown(above)}"
        kind += "" if low is None else f", {_shown(low)} or more"
        kind += "" if high is None else f", at most {_shown(high)}"
    # Python refuses to print whole numbers of thousands of digits.
    huge = isinstance(value, int) and abs(value) >= 1 << 100
    given = f"a number of {value.bit_length()} bits" if huge else f"{value}"
    return ParameterError(f"{_subject(owner, name)} must be {kind}, not {given}", parameter=name)


def _subject(owner: str, name: str) -> str:
    return f"{name} of {owner}" if owner else name


def _shown(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"


def known_name(
    name: str,
    known: Iterable[str],
    problem: str,
    parameter: str = "",
    error: type[BoolrankError] = ParameterError,
) -> None:
    """Raise unless a name is known; the hint is the most similar one, or all."""
    if name not in known:
        raise error(problem, hint=near_name(str(name), known), parameter=parameter or name)


def near_name(name: str, known: Iterable[str], *, extensible: bool = False) -> str:
    """Return a hint for an unknown name: the most similar one, or all and how to add one's own.

    >>> near_name("ncdg", ["auc", "ndcg"]), near_name("x", ["auc", "ndcg"])
    ("did you mean 'ndcg'?", 'there are auc, ndcg')
    >>> near_name("knn", ["ease", "item-knn"])
    "did you mean 'item-knn'?"
    >>> near_name("x", ["auc", "ndcg"], extensible=True)
    'there are auc, ndcg; for one of your own, import its module first (--import MODULE on the \
command line)'
    """
    known = list(known)
    longer = [each for each in known if len(name) > 1 and each.startswith(name)]
    longer += [each for each in known if len(name) > 2 and name in each]
    near = longer or get_close_matches(name, known, n=1)
    own = f"; for one of your own, {IMPORT}" * extensible
    there = "there is only" if len(known) == 1 else "there are"
    return f"did you mean {near[0]!r}?" if near else f"{there} {', '.join(known) or 'none'}{own}"
