"""The contract of recommenders, run over any model with fit, recommend and score."""

from __future__ import annotations

import copy
from typing import Any, Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from boolrank.interactions import Interactions
from boolrank.testing.clauses import CLAUSES, Case
from boolrank.testing.laws import LawError

__all__ = ["Recommender", "check_recommender"]


class Recommender(Protocol):
    """What the contract asks of a model."""

    def fit(self, interactions: Interactions) -> Any:
        """Learn from interactions; gives the model itself."""

    def recommend(self, users: Any = None, n: int = 10, **options: Any) -> Any:
        """Ranked items of users; options are exclude_seen, candidates and exclude."""

    def score(self, users: Any = None, items: Any = None) -> Any:
        """Scores of items for users."""


def _draw(rng: np.random.Generator, n_users: int, n_items: int) -> NDArray[np.bool_]:
    """Who touched what: two tastes, two users without a history, one who has seen all, twins."""
    taste = rng.integers(0, 2, n_users)[:, None] == rng.integers(0, 2, n_items)[None, :]
    matrix = rng.random((n_users, n_items)) < np.where(taste, 0.35, 0.06)
    matrix[:, 1] = matrix[:, 0]  # items that everybody treats alike, so that scores tie
    matrix[:, 3] = matrix[:, 2]
    matrix[2] = True
    matrix[[0, 5]] = False
    matrix[1, 4] = True
    return matrix


def _ids(kind: str, count: int, letter: str) -> list[Any]:
    if kind == "whole numbers":
        return [7 * i + 3 for i in range(count)]
    if kind == "UUIDs":
        return [UUID(int=(i * 2**64 + ord(letter)) * 12345 % 2**128) for i in range(count)]
    return [f"{letter}{i}" for i in range(count)]


def check_recommender(
    model: Recommender,
    rng: np.random.Generator | int | None = None,
    *,
    n_users: int = 40,
    n_items: int = 23,
) -> None:
    """Raise `LawError` if ``model`` breaks a clause of the contract, and say which and how.

    The model is copied and the copies are fitted, on made-up data with whole numbers, text and
    UUIDs as ids.

    Parameters
    ----------
    model : one of the library's or your own, with its parameters set
    rng : where the data comes from; the same data each time if not given
    n_users, n_items : the size of the data, at least 8 users and 8 items

    >>> from boolrank.ranker import KernelRanker
    >>> check_recommender(KernelRanker("disjunctive(2)"), n_users=12, n_items=9)
    """
    generator = np.random.default_rng(0 if rng is None else rng)
    for kind in ("text", "whole numbers", "UUIDs"):
        matrix = _draw(generator, n_users, n_items)
        data = Interactions.from_matrix(matrix, _ids(kind, n_users, "u"), _ids(kind, n_items, "i"))
        fitted = copy.deepcopy(model).fit(data)
        for name, clause in CLAUSES.items():
            for complaint in clause(Case(fitted, data, model, generator)):
                raise LawError(f"{model!r} breaks the clause {name!r}, ids {kind}: {complaint}")
