"""Draw the parameters of a trial: changes of an earlier one.

Thirty trials are too few to learn where six to eight parameters are good together. So a trial keeps
most parameters of the best one before it. Others are drawn anew from their range at first, and
later more often moved by a step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

# Probability that a parameter changes.
_CHANGED = 0.4
# Standard deviation of a step, as a part of the range.
_STEP = 0.15
# The trial of which half of the changes are steps.
_HALF = 6


class Draw:
    """A draw from search ranges; ``values`` has what was drawn by name.

    >>> draw = Draw({"reg": 10.0}, number=1, rng=np.random.default_rng(0))
    >>> draw.suggest_float("reg", 1.0, 100.0, log=True), draw.values
    (10.0, {'reg': 10.0})
    """

    def __init__(self, parent: Mapping[str, Any], number: int, rng: np.random.Generator) -> None:
        self.values: dict[str, Any] = {}
        self._parent, self._rng = parent, rng
        self._steps = number / (number + _HALF)

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        """Draw a number from a range."""
        if self._keeps(name):
            return float(self._put(name, min(max(self._parent[name], low), high)))
        ends = (math.log(low), math.log(high)) if log else (low, high)
        value = self._rng.uniform(*ends)
        if name in self._parent and self._rng.random() < self._steps:
            at = math.log(self._parent[name]) if log else self._parent[name]
            value = self._rng.normal(at, _STEP * (ends[1] - ends[0]))
        value = math.exp(value) if log else value
        return float(self._put(name, min(max(value, low), high)))

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        """Draw a whole number from a range."""
        return int(self._put(name, round(self.suggest_float(name, low, high, log=log))))

    def suggest_categorical(self, name: str, choices: tuple[str, ...]) -> Any:
        """Draw one of some values."""
        if self._keeps(name):
            return self._put(name, self._parent[name])
        return self._put(name, choices[self._rng.integers(len(choices))])

    def _keeps(self, name: str) -> bool:
        return name in self._parent and self._rng.random() >= _CHANGED

    def _put(self, name: str, value: Any) -> Any:
        self.values[name] = value
        return value
