"""Search ranges of parameters: small values that draw from optuna's trials.

A range draws under the parameter's name, or under names below it if it draws several things. So a
draw is a flat dictionary of numbers and text, and repeating it gives the same value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..data.interactions import Interactions
from ..kernels import parse_kernel

if TYPE_CHECKING:
    from optuna import Trial

# Items of a catalogue from which on inverting a dense matrix takes minutes.
_LARGE = 20_000


class Range(Protocol):
    """Values of a parameter; the training data may bound them."""

    def draw(self, trial: Trial, name: str, train: Interactions) -> Any:
        """Draw a value."""


@dataclass(frozen=True)
class Real(Range):
    """A number between two others, both included, uniform or log-uniform."""

    low: float
    high: float
    log: bool = False

    def draw(self, trial: Trial, name: str, train: Interactions) -> float:  # noqa: ARG002 - Range's
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', log' if self.log else ''}"


@dataclass(frozen=True)
class Whole(Real):
    """A whole number between two others, both included, uniform or log-uniform."""

    low: int
    high: int

    def draw(self, trial: Trial, name: str, train: Interactions) -> int:  # noqa: ARG002 - Range's
        return trial.suggest_int(name, self.low, self.high, log=self.log)


@dataclass(frozen=True)
class Recency(Range):
    """None, or a log-uniform half-life in events, where interactions have times; 0 elsewhere."""

    low: float
    high: float

    def draw(self, trial: Trial, name: str, train: Interactions) -> float:
        if train.time is None or not np.isfinite(train.time).all():
            return 0.0
        if trial.suggest_categorical(f"{name}.weighs", ("alike", "by recency")) == "alike":
            return 0.0
        return trial.suggest_float(f"{name}.half_life", self.low, self.high, log=True)

    def __str__(self) -> str:
        return f"0, or {self.low:g} to {self.high:g}, log, where there are times"


@dataclass(frozen=True)
class Only(Range):
    """A fixed value that differs from the default."""

    value: str

    def draw(self, trial: Trial, name: str, train: Interactions) -> str:  # noqa: ARG002 - Range's
        return self.value

    def __str__(self) -> str:
        return f"always {self.value}"


@dataclass(frozen=True)
class Large(Range):
    """A range for catalogues of more than 20,000 items, and the default for others."""

    values: Range
    default: Any

    def draw(self, trial: Trial, name: str, train: Interactions) -> Any:
        large = len(train.items) > _LARGE
        return self.values.draw(trial, name, train) if large else self.default

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

    def draw(self, trial: Trial, name: str, train: Interactions) -> int:
        return trial.suggest_int(name, self.low, self.most(train), log=True)


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

    def draw(self, trial: Trial, name: str, train: Interactions) -> str:
        family = trial.suggest_categorical(f"{name}.family", tuple(self.families))
        given = [
            argument.draw(trial, f"{name}.{family}.{place}", train)
            for place, argument in enumerate(self.families[family])
        ]
        text: str = family.format(*given)
        power = trial.suggest_int(f"{name}.power", 1, self.powers) if self.powers > 1 else 1
        text = text if power == 1 else f"{text}**{power}"
        columns = train.table.columns if self.tags and train.table is not None else {}
        for column in (each for each in columns if columns[each].type == "set"):
            of = f"{name}.{column}"
            term = trial.suggest_categorical(f"{of}.kernel", ("none", *self.tags))
            if term != "none":
                weight = trial.suggest_float(f"{of}.weight", 0.01, 10.0, log=True)
                text += f" + {weight:.3g}*{parse_kernel(term)[column]}"
        return text

    def __str__(self) -> str:
        power = f", to the power of 1 to {self.powers}" if self.powers > 1 else ""
        text = " or ".join(name.replace("{}", "arity") for name in self.families) + power
        return f"{text}; with tags {' or '.join(self.tags)} added" if self.tags else text


# disjunctive(1) is the linear kernel. Long conjunctions are left out: on sparse data their matrix
# is nearly the identity.
PLAIN = Kernels({"disjunctive({})": (Arity(1),), "tanimoto": ()})
NEIGHBOURS = Whole(5, 2000, log=True)
FACTORS = Whole(8, 256, log=True)
