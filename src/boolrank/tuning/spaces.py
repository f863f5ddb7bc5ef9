"""Search spaces: for each model, which parameters are tuned, and in which ranges. One table.

What is not here stays as the constructor has it: the seed, the number of threads, the storage. The
defaults need not lie in the ranges; they are always tried first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ParameterError
from ..interactions import Interactions
from .ranges import Arity, Kernels, Only, Range, Real, Trial, Whole

__all__ = ["SPACES", "draw", "space_of"]

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
