"""Search spaces: for each model, which parameters are tuned, and in which ranges. One table.

Ranges are small values that draw from optuna's trials: under the parameter's name, or under names
below it where they draw several things. So what was drawn is a flat dictionary of numbers and text,
and drawing again gives the same value.

What is not here stays as the constructor has it: the seed, the number of threads, the storage. The
defaults need not lie in the ranges; they are always tried first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..data.interactions import Interactions
from ..errors import ParameterError

__all__ = ["SPACES", "Arity", "Kernels", "Range", "Real", "Whole", "draw", "space_of"]


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


Space = Mapping[str, Range]

# disjunctive(1) is the linear kernel and threshold(2, 2) is conjunctive(2): both are among these.
# Longer conjunctions are not: on sparse data their matrix is nearly the identity.
_DISJUNCTIVE = {"disjunctive({})": (Arity(1),)}
_RANKER = Kernels(
    _DISJUNCTIVE | {"threshold(2, {})": (Arity(2, limit=16),), "tanimoto": ()},
    powers=4,
)
_PLAIN = Kernels(_DISJUNCTIVE | {"tanimoto": ()})
_NEIGHBOURS = Whole(5, 2000, log=True)
_FACTORS = Whole(8, 256, log=True)
# An inverse takes half the time in it, and what that rounds is no more than noise in a metric.
_SINGLE = Only("float32")

SPACES: dict[str, Space] = {
    "popularity": {},
    "kernel-ranker": {
        "kernel": _RANKER,
        "reg": Real(1e-4, 1e2, log=True),
        "negative_weight": Real(0.0, 2.0),
    },
    "mean-ranker": {
        "kernel": _PLAIN,
        "rounds": Whole(1, 2),
        "sharpness": Real(0.0, 10.0),
        "reg": Real(1e-2, 1e2, log=True),
        "negative_weight": Real(0.0, 2.0),
    },
    "item-knn": {
        "alpha": Real(0.0, 1.0),
        "locality": Real(0.5, 8.0, log=True),
        "neighbours": _NEIGHBOURS,
    },
    "ease": {"reg": Real(1.0, 1e6, log=True), "dtype": _SINGLE},
    "kernel-ease": {
        "kernel": _PLAIN,
        "reg": Real(1.0, 1e3, log=True),
        # From nothing to what EASE has: its matrix is that of the linear kernel, times the roots
        # of the sizes on both sides.
        "input_exponent": Real(0.0, 0.5),
        "output_exponent": Real(-0.5, 0.0),
        "dtype": _SINGLE,
    },
    "lrec": {"reg": Real(1.0, 1e6, log=True), "dtype": _SINGLE},
    "cf-omd": {
        "kernel": _PLAIN,
        "reg": Real(1e-3, 1e2, log=True),
        "negative_reg": Real(1.0, 1e5, log=True),
    },
    "ecf-omd": {"reg": Real(1e-4, 1e2, log=True)},
    "als": {
        "factors": _FACTORS,
        "reg": Real(1e-2, 1e3, log=True),
        "confidence": Real(0.1, 100.0, log=True),
        "iterations": Whole(5, 30),
    },
    "bpr": {
        "factors": _FACTORS,
        "learning_rate": Real(1e-3, 0.5, log=True),
        "reg": Real(1e-5, 1.0, log=True),
        "iterations": Whole(20, 300, log=True),
    },
    "logistic-mf": {
        "factors": _FACTORS,
        "learning_rate": Real(0.05, 2.0, log=True),
        "reg": Real(1e-3, 10.0, log=True),
        "iterations": Whole(5, 60, log=True),
        "negatives": Whole(2, 60, log=True),
    },
    "slim": {
        "reg": Real(1e-4, 10.0, log=True),
        "l1_ratio": Real(1e-4, 1.0, log=True),
        "neighbours": _NEIGHBOURS,
    },
    "rp3beta": {"beta": Real(0.0, 1.0), "neighbours": _NEIGHBOURS},
}


def space_of(name: str) -> Space:
    """The search space of a model.

    >>> space_of("ecf-omd")
    {'reg': Real(low=0.0001, high=100.0, log=True)}
    """
    if name not in SPACES:
        raise ParameterError(
            f"there is no search space for {name!r}; there are {', '.join(SPACES)}"
        )
    return SPACES[name]


def draw(space: Space, trial: Trial, train: Interactions) -> dict[str, Any]:
    """Parameters for the constructor, as JSON has them."""
    return {name: each.draw(trial, name, train) for name, each in space.items()}
