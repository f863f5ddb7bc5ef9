"""Matrix factorisation of the library implicit: ALS, BPR and logistic, under the same contract.

The library learns; ids, lists, exclusions and empty histories are ours. Its loops ask for BLAS with
one thread, which is scoped here and restored.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_matrix

from .._extras import needs
from ..data.interactions import Interactions
from .profiles import Profiles
from .ranges import check_numbers
from .recommender import Floats, Recommender
from .user_factors import UserFactors

with needs("compare", "Matrix factorisation by implicit"):
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.cpu.bpr import BayesianPersonalizedRanking
    from implicit.cpu.lmf import LogisticMatrixFactorization
    from threadpoolctl import threadpool_limits

__all__ = ["ImplicitAls", "ImplicitBpr", "ImplicitLogistic"]


@dataclass(repr=False, eq=False)
class ImplicitAls(Recommender):
    """ALS, or WRMF (Hu, Koren and Volinsky, 2008): weighted least squares for users and items.

    Everybody is folded in, known or not: the user's factors are solved for from the profile, as
    implicit's ``recalculate_user`` does. The same seed gives the same bits with any number of
    threads.

    Parameters
    ----------
    factors : how many
    reg : what large factors cost
    confidence : how much a pair that is there weighs beside one that is not; implicit's alpha
    iterations : how often users and items take turns
    seed : of the first factors
    n_threads : how many threads; all by default

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> ImplicitAls(factors=2).fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    factors: int = 64
    reg: float = 0.01
    confidence: float = 1.0
    iterations: int = 15
    seed: int = 0
    n_threads: int | None = None

    def fit(self, interactions: Interactions) -> Self:
        """Learn the factors of items; gives the model itself."""
        check_numbers(self, factors=1, reg=0.0, confidence=0.0, iterations=1, seed=0)
        data = self._given(interactions)
        with _one_blas_thread():
            model = AlternatingLeastSquares(
                factors=self.factors,
                regularization=float(self.reg),
                alpha=float(self.confidence),
                iterations=self.iterations,
                num_threads=self.n_threads or 0,
                random_state=self.seed,
            )
            model.fit(_matrix(data), show_progress=False)
            model.YtY  # noqa: B018 - a cache, which users must find filled
        self._interactions, self._model = data, model
        self._items = model.item_factors.astype(np.float64)
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        shape = len(profiles.lengths), len(self._items)
        ones = np.ones(len(profiles.own), np.float32)
        rows = csr_matrix((ones, profiles.own, profiles.start), shape)
        with _one_blas_thread():
            users = self._model.recalculate_user(np.arange(shape[0]), rows)
            return np.asarray(users.astype(np.float64) @ self._items.T)


# What the parameters of both must be at least.
_LEAST = {"factors": 1, "learning_rate": 0.0, "reg": 0.0, "iterations": 1, "seed": 0}


class _Factors(Recommender):
    """A model of users' and items' factors that the library learns and cannot fold users into."""

    _least: ClassVar[dict[str, int | float]]

    @abstractmethod
    def _library(self) -> Any:
        """The library's model."""

    def fit(self, interactions: Interactions) -> Self:
        """Learn the factors of users and items; gives the model itself."""
        check_numbers(self, **self._least)
        data, model = self._given(interactions), self._library()
        with _one_blas_thread():
            model.fit(_matrix(data), show_progress=False)
            self._learned = UserFactors.of(data, model.user_factors, model.item_factors)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        with _one_blas_thread():
            return self._learned.of_profiles(profiles) @ self._learned.items.T


@dataclass(repr=False, eq=False)
class ImplicitBpr(_Factors):
    """BPR (Rendle and others, 2009): factors by which a user's items stand above the others.

    One thread learns: with more, implicit's threads overwrite each other's steps, and the same seed
    would not give the same factors. The library has no way to fold somebody in; `_factors.py` says
    what is done instead.

    Parameters
    ----------
    factors : how many, besides a bias for each item
    learning_rate : how far a step goes
    reg : what large factors cost
    iterations : how often as many steps are made as there are interactions
    seed : of the first factors and of the pairs that are drawn

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> ImplicitBpr(factors=2).fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    _least: ClassVar = _LEAST

    factors: int = 64
    learning_rate: float = 0.05
    reg: float = 0.01
    iterations: int = 100
    seed: int = 0

    def _library(self) -> Any:
        return BayesianPersonalizedRanking(
            factors=self.factors,
            learning_rate=float(self.learning_rate),
            regularization=float(self.reg),
            iterations=self.iterations,
            num_threads=1,
            random_state=self.seed,
        )


@dataclass(repr=False, eq=False)
class ImplicitLogistic(_Factors):
    """Logistic matrix factorisation (Johnson, 2014): how likely a user is to take an item.

    Threads and folding in are as in `ImplicitBpr`.

    Parameters
    ----------
    factors : how many, besides biases of users and items
    learning_rate : how far a step goes
    reg : what large factors cost
    iterations : how often users and items take turns
    negatives : how many items are drawn that a user has not touched, for each that the user has
    seed : of the first factors and of the items that are drawn

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> ImplicitLogistic(factors=2).fit(data).recommend([3], n=1).lists()
    [['a']]
    """

    _least: ClassVar = _LEAST | {"negatives": 1}

    factors: int = 64
    learning_rate: float = 1.0
    reg: float = 0.6
    iterations: int = 30
    negatives: int = 30
    seed: int = 0

    def _library(self) -> Any:
        return LogisticMatrixFactorization(
            factors=self.factors,
            learning_rate=float(self.learning_rate),
            regularization=float(self.reg),
            iterations=self.iterations,
            neg_prop=self.negatives,
            num_threads=1,
            random_state=self.seed,
        )


def _matrix(data: Interactions) -> Any:
    return csr_matrix(data.matrix(), dtype=np.float32)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """What implicit asks for: its own threads call BLAS; ours then gives the same bits always."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
