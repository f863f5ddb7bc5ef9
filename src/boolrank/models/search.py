"""Search ranges of parameters, and draws from them.

A range draws under the parameter's name, or under names below it if it draws several things. So a
draw is a flat dictionary of numbers and text, and `Range.draws` returns the one that gives a value.

Thirty trials are too few to learn where six to eight parameters are good together. So a draw keeps
most values of an earlier one, its parent. The others are drawn anew from their range at first, and
later more often moved by a step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..data.interactions import Interactions
from ..kernels import parse_kernel

# Items of a catalogue from which on inverting a dense matrix takes minutes.
_LARGE = 20_000
# Probability that a value differs from the parent's.
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


class Range(Protocol):
    """Values of a parameter; the training data may bound them."""

    def draw(self, trial: Draw, name: str, train: Interactions) -> Any:
        """Draw a value."""

    def draws(self, name: str, value: Any, train: Interactions) -> dict[str, Any]:  # noqa: ARG002 - for subclasses
        """Return the draw of a value; empty if the range cannot give it."""
        return {}


@dataclass(frozen=True)
class Real(Range):
    """A number between two others, both included, uniform or log-uniform."""

    low: float
    high: float
    log: bool = False

    def draw(self, trial: Draw, name: str, train: Interactions) -> float:  # noqa: ARG002 - Range's
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def draws(self, name: str, value: Any, train: Interactions) -> dict[str, Any]:  # noqa: ARG002 - Range's
        return _within(self.low, value, self.high, name)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', log' if self.log else ''}"


@dataclass(frozen=True)
class Whole(Real):
    """A whole number between two others, both included, uniform or log-uniform."""

    low: int
    high: int

    def draw(self, trial: Draw, name: str, train: Interactions) -> int:  # noqa: ARG002 - Range's
        return trial.suggest_int(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Recency(Range):
    """None, or a log-uniform half-life in events, where interactions have times; 0 elsewhere."""

    low: float
    high: float

    def draw(self, trial: Draw, name: str, train: Interactions) -> float:
        if train.time is None or not np.isfinite(train.time).all():
            return 0.0
        if trial.suggest_categorical(f"{name}.weighs", ("alike", "by recency")) == "alike":
            return 0.0
        return trial.suggest_float(f"{name}.half_life", self.low, self.high, log=True)

    def draws(self, name: str, value: Any, train: Interactions) -> dict[str, Any]:  # noqa: ARG002 - Range's
        if not value:
            return {f"{name}.weighs": "alike"}
        half_life = _within(self.low, value, self.high, f"{name}.half_life")
        return {f"{name}.weighs": "by recency"} | half_life if half_life else {}

    def __str__(self) -> str:
        return f"0, or {self.low:g} to {self.high:g}, log, where there are times"


@dataclass(frozen=True)
class Only(Range):
    """A fixed value that differs from the default."""

    value: str

    def draw(self, trial: Draw, name: str, train: Interactions) -> str:  # noqa: ARG002 - Range's
        return self.value

    def __str__(self) -> str:
        return f"always {self.value}"


@dataclass(frozen=True)
class Large(Range):
    """A range for catalogues of more than 20,000 items, and the default for others."""

    values: Range
    default: Any

    def draw(self, trial: Draw, name: str, train: Interactions) -> Any:
        large = len(train.items) > _LARGE
        return self.values.draw(trial, name, train) if large else self.default

    def draws(self, name: str, value: Any, train: Interactions) -> dict[str, Any]:
        return self.values.draws(name, value, train)

    def __str__(self) -> str:
        return f"{self.values}, above {_LARGE:,} items"


@dataclass(frozen=True)
class Arity(Range):
    """A log-uniform arity from ``low`` up to the inverse of the density.

    Beyond that, a random disjunction of users contains a user of a typical item more likely than
    not, and all items look alike. Kernels that are slow at high arity have a ``limit``.

    >>> from boolrank import synthetic
    >>> Arity(1).most(synthetic(200, 100, 1000))
    20
    """

    low: int
    limit: int | None = None

    def most(self, train: Interactions) -> int:
        """Return the highest sensible arity: at least 8, at most the number of users."""
        users, items = train.shape
        most = max(self.low, min(users, max(8, round(users * items / max(1, train.size)))))
        return most if self.limit is None else min(most, self.limit)

    def draw(self, trial: Draw, name: str, train: Interactions) -> int:
        return trial.suggest_int(name, self.low, self.most(train), log=True)

    def draws(self, name: str, value: Any, train: Interactions) -> dict[str, Any]:  # noqa: ARG002 - Range's
        """Return the draw of a value, which the data may turn out to be too small for."""
        return _within(self.low, value, self.limit, name)


@dataclass(frozen=True)
class Kernels(Range):
    """A kernel as text: one of some families, with a range for each ``{}`` in it.

    Attributes
    ----------
    families : ranges of the arguments by family, such as ``"threshold(2, {})"``
    powers : highest power of the kernel
    tags : kernels of terms over sets of tags, where the data have such columns
    """

    families: dict[str, tuple[Range, ...]]
    powers: int = 1
    tags: tuple[str, ...] = ()

    def draw(self, trial: Draw, name: str, train: Interactions) -> str:
        family = trial.suggest_categorical(f"{name}.family", tuple(self.families))
        given = [
            argument.draw(trial, f"{name}.{family}.{place}", train)
            for place, argument in enumerate(self.families[family])
        ]
        text: str = family.format(*given)
        power = trial.suggest_int(f"{name}.power", 1, self.powers) if self.powers > 1 else 1
        text = text if power == 1 else f"{text}**{power}"
        for column in self._columns(train):
            of = f"{name}.{column}"
            term = trial.suggest_categorical(f"{of}.kernel", ("none", *self.tags))
            if term != "none":
                weight = trial.suggest_float(f"{of}.weight", 0.01, 10.0, log=True)
                text += f" + {weight:.3g}*{parse_kernel(term)[column]}"
        return text

    def _columns(self, train: Interactions) -> list[str]:
        """Return the columns of tags that a kernel may have terms over."""
        columns = train.table.columns if self.tags and train.table is not None else {}
        return [name for name, column in columns.items() if column.type == "set"]

    def draws(self, name: str, value: Any, train: Interactions) -> dict[str, Any]:
        """Return the draw of a kernel of one of the families, without power and tags."""
        for family, ranges in self.families.items():
            pattern = re.escape(family).replace(r"\{\}", r"(\d+)")
            found = re.fullmatch(pattern, str(value))
            if found:
                drawn: dict[str, Any] = {f"{name}.family": family, f"{name}.power": 1}
                for place, (each, text) in enumerate(zip(ranges, found.groups(), strict=True)):
                    drawn |= each.draws(f"{name}.{family}.{place}", int(text), train)
                return drawn | {f"{name}.{each}.kernel": "none" for each in self._columns(train)}
        return {}

    def __str__(self) -> str:
        power = f", to the power of 1 to {self.powers}" if self.powers > 1 else ""
        text = " or ".join(name.replace("{}", "arity") for name in self.families) + power
        return f"{text}; with tags {' or '.join(self.tags)} added" if self.tags else text


def _within(low: float, value: Any, high: float | None, name: str) -> dict[str, Any]:
    """Return a number under a name if it is within bounds."""
    is_number = isinstance(value, int | float)
    return {name: value} if is_number and low <= value <= (high or value) else {}


# disjunctive(1) is the linear kernel. Long conjunctions are left out: on sparse data their matrix
# is nearly the identity.
PLAIN = Kernels({"disjunctive({})": (Arity(1),), "tanimoto": ()})
NEIGHBOURS = Whole(5, 2000, log=True)
FACTORS = Whole(8, 256, log=True)
