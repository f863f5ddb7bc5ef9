"""Ranges: what a parameter may be, as small values that draw from optuna's trials.

A range draws under the parameter's name, or under names below it where it draws several things. So
what was drawn is a flat dictionary of numbers and text, and drawing again gives the same value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ..interactions import Interactions

__all__ = ["Arity", "Kernels", "Only", "Range", "Real", "Trial", "Whole"]


class Trial(Protocol):
    """What is asked of a trial; optuna's are such."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int: ...

    def suggest_categorical(self, name: str, choices: tuple[str, ...]) -> Any: ...


class Range(Protocol):
    """What a parameter may be; the training data may bound it."""

    def draw(self, trial: Trial, name: str, train: Interactions) -> Any: ...


@dataclass(frozen=True)
class Real:
    """A number between two others, both included; evenly, or evenly in its logarithm."""

    low: float
    high: float
    log: bool = False

    def draw(self, trial: Trial, name: str, train: Interactions) -> float:  # noqa: ARG002 - Range's
        return trial.suggest_float(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Whole:
    """A whole number between two others, both included; evenly, or evenly in its logarithm."""

    low: int
    high: int
    log: bool = False

    def draw(self, trial: Trial, name: str, train: Interactions) -> int:  # noqa: ARG002 - Range's
        return trial.suggest_int(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Only:
    """Always the same, where that is not the default."""

    value: str

    def draw(self, trial: Trial, name: str, train: Interactions) -> str:  # noqa: ARG002 - Range's
        return self.value


@dataclass(frozen=True)
class Arity:
    """An arity from the least one on, evenly in its logarithm, up to the inverse of the density.

    By then a random disjunction of so many users has touched a middling item more likely than not,
    and all items are alike. A kernel whose values take long for long ones has a ``limit``.

    >>> from boolrank import synthetic
    >>> Arity(1).most(synthetic(200, 100, 1000))
    20
    """

    low: int
    limit: int | None = None

    def most(self, train: Interactions) -> int:
        """The highest sensible arity: at least 8, and never more than there are users."""
        users, items = train.shape
        most = max(self.low, min(users, max(8, round(users * items / max(1, train.size)))))
        return most if self.limit is None else min(most, self.limit)

    def draw(self, trial: Trial, name: str, train: Interactions) -> int:
        return trial.suggest_int(name, self.low, self.most(train), log=True)


@dataclass(frozen=True)
class Kernels:
    """A kernel as text: one of some families, with what stands for each ``{}`` of it.

    Attributes
    ----------
    families : the ranges of their arguments, by their texts, such as ``"threshold(2, {})"``
    powers : what the kernel may be raised to, at most
    """

    families: dict[str, tuple[Range, ...]]
    powers: int = 1

    def draw(self, trial: Trial, name: str, train: Interactions) -> str:
        family = trial.suggest_categorical(f"{name}.family", tuple(self.families))
        given = [
            argument.draw(trial, f"{name}.{family}.{place}", train)
            for place, argument in enumerate(self.families[family])
        ]
        text: str = family.format(*given)
        power = trial.suggest_int(f"{name}.power", 1, self.powers) if self.powers > 1 else 1
        return text if power == 1 else f"{text}**{power}"
