"""Sweeps over the arity: how ranges of arities and families of kernels are written."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import ParameterError

__all__ = ["family", "parse_arities"]

_RANGE = re.compile(r"\s*(\d+)\s*(?::\s*(\d+)\s*(?::\s*(\d+)\s*)?)?")
_MOST = 10**5


def parse_arities(text: str) -> tuple[int, ...]:
    """Arities of ``"1,2,5"``, ``"1:150"`` (both ends) or ``"1:150:10"``; in order, each once.

    >>> parse_arities("1:4,10:30:10")
    (1, 2, 3, 4, 10, 20, 30)
    """
    found: set[int] = set()
    for part in str(text).split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ParameterError(
                f"arities are written as '1,2,5', '1:150' or '1:150:10', not {text!r}"
            )
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        step = 1 if match[3] is None else int(match[3])
        if not 1 <= first <= last <= _MOST or step < 1:
            raise ParameterError(
                f"the arities {part.strip()!r} must go up, from 1 to {_MOST:,} at most"
            )
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def family(kernel: str, arities: Iterable[int]) -> tuple[str, ...]:
    """The kernel of each arity, as text; ``{}`` stands for the arity where it is not alone.

    >>> family("disjunctive", (1, 2)), family("threshold(2, {})", [5])
    (('disjunctive(1)', 'disjunctive(2)'), ('threshold(2, 5)',))
    """
    pattern = kernel if "{}" in kernel else f"{kernel}({{}})"
    return tuple(pattern.replace("{}", str(arity)) for arity in arities)
