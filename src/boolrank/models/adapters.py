"""Models learned by other libraries: ALS, BPR and logistic by implicit, RP3beta by irspack.

In matrix factorisations the score of an item is the product of its factors and the user's. The
factors of a user follow from the profile. ALS solves for them. Other libraries know factors of
their training users only: a profile equal to that of training users gets their mean factors, and
any other is folded in by the linear map, from the mean factors of its items, that comes closest to
what the library learned of its users.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix

from .._extras import needs
from ..counts.counting import check_longest
from ..counts.overlaps import Overlaps
from ..data.interactions import Interactions
from ..data.rows import Rows
from ..engines.threads import one_blas_thread
from ..storage.state import array
from .parameters import param, threads_param
from .profiles import Profiles
from .recommender import Recommender
from .scorer import Floats, Scorer
from .search import FACTORS, NEIGHBOURS, Real, Whole
from .sparse_scorer import SparseScorer

_SEED = (1 << 32) - 1
# Names of parameters in implicit.
_ARGUMENTS = {
    "reg": "regularization",
    "confidence": "alpha",
    "negatives": "neg_prop",
    "seed": "random_state",
}
# Ridge of the map, relative to what it is fitted on: with fewer users than factors it would
# otherwise follow each of them exactly.
_RIDGE = 1e-3


def _products(left: Floats, right: Floats) -> Floats:
    """Return a matrix product whose rows do not depend on each other, unlike those of BLAS."""
    from .._compiled.low_rank import add_products

    out = np.zeros((len(left), right.shape[1]))
    add_products(out, left, right, np.zeros(right.shape[1]), 0.0)
    return out


@dataclass(frozen=True, eq=False)
class _Factors(Scorer):
    """What scorers with factors of items share."""

    factors: Floats = array("float64", "items", "factors", low=-1e15, high=1e15)

    @property
    def items(self) -> int:
        return len(self.factors)

    @cached_property
    def _across(self) -> Floats:
        return np.ascontiguousarray(self.factors.T)

    def similar(self, item: int) -> tuple[Floats, Floats]:
        """Take cosines of factors."""
        lengths = np.linalg.norm(self.factors, axis=1)
        cosines = self.factors @ self.factors[item] / np.maximum(lengths * lengths[item], 1e-300)
        return cosines, cosines


@dataclass(frozen=True, eq=False)
class AlsScorer(_Factors):
    """Item factors of ALS; a user's factors solve a weighted least-squares problem.

    With Y the factors of items and Y_I those of a profile,

        x = (YᵀY + (confidence - 1)·Y_IᵀY_I + reg·1)⁻¹ · confidence·Σ Y_i.
    """

    kind: ClassVar[str] = "als"

    reg: float = 0.0
    confidence: float = 1.0

    @cached_property
    def _gram(self) -> Floats:
        gram = self.factors.T @ self.factors
        gram[np.diag_indices_from(gram)] += self.reg
        return gram

    def _system(self, profile: NDArray[np.int32]) -> Floats:
        own = self.factors[profile]
        matrix: Floats = self._gram + (self.confidence - 1) * (own.T @ own)
        return matrix

    def scores(self, profiles: Profiles) -> Floats:
        users = np.empty((profiles.n_rows, self.factors.shape[1]))
        for k in range(len(users)):
            total = self.confidence * self.factors[profiles.row(k)].sum(axis=0)
            users[k] = _solved(self._system(profiles.row(k)), total)
        return _products(users, self._across)

    def parts(self, profile: Profiles, items: Sequence[int]) -> list[Floats]:
        own = profile.indices
        directions = _solved(self._system(own), self.factors[items].T)
        return list((self.confidence * (self.factors[own] @ directions)).T)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Return the solution, or the least-squares one if the matrix is singular."""
    try:
        return np.asarray(np.linalg.solve(matrix, right), np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right)[0], np.float64)


@dataclass(frozen=True, eq=False)
class FoldInScorer(_Factors):
    """Factors of items and of training profiles, and the map for all other profiles.

    Attributes
    ----------
    factors : (m, f) factors of the items
    users : (p, f) factors of each distinct training profile
    indptr, indices : the p training profiles
    folding : (f + 1, f) the map; its last row is a constant
    """

    kind: ClassVar[str] = "fold-in"

    users: Floats = array("float64", "profiles", "factors", low=-1e15, high=1e15)
    indptr: NDArray[np.int64] = array("int64", "profiles+1", low=0, divides=("indices",))
    indices: NDArray[np.int32] = array("int32", "*", low=0, high="items")
    folding: Floats = array("float64", "factors+1", "factors", low=-1e15, high=1e15)

    @staticmethod
    def of(
        data: Interactions, users: NDArray[np.float32], items: NDArray[np.float32]
    ) -> FoldInScorer:
        """Return the scorer from learned (n, f) factors of users and (m, f) of items."""
        some = np.flatnonzero(np.diff(data.indptr) > 0)
        profiles = data.rows.take(some)
        first: dict[bytes, int] = {}
        rows = np.array([first.setdefault(key, len(first)) for key in _keys(profiles)])
        learned, factors = users[some].astype(np.float64), items.astype(np.float64)
        means = np.zeros((len(first), learned.shape[1]))
        np.add.at(means, rows, learned)
        means /= np.bincount(rows)[:, None]
        given = _mean_factors(profiles, factors)
        gram = given.T @ given
        gram[np.diag_indices_from(gram)] += _RIDGE * np.trace(gram) / len(gram)
        folding = np.asarray(np.linalg.solve(gram, given.T @ learned), np.float64)
        known = profiles.take(np.unique(rows, return_index=True)[1])
        return FoldInScorer(factors, means, known.indptr, known.indices, folding)

    @cached_property
    def _known(self) -> dict[bytes, int]:
        return {key: row for row, key in enumerate(_keys(Rows(self.indptr, self.indices)))}

    def scores(self, profiles: Profiles) -> Floats:
        rows = np.array([self._known.get(key, -1) for key in _keys(profiles)])
        users = _products(_mean_factors(profiles, self.factors), self.folding)
        users[rows >= 0] = self.users[rows[rows >= 0]]
        return _products(users, self._across)


def _keys(profiles: Rows | Profiles) -> list[bytes]:
    return [profiles.row(k).astype(np.int32).tobytes() for k in range(profiles.n_rows)]


def _mean_factors(profiles: Rows | Profiles, items: Floats) -> Floats:
    """(u, f + 1) Return the mean factors of each profile's items, and 1."""
    sums = np.add.reduceat(items[profiles.indices], profiles.indptr[:-1], axis=0)
    return np.hstack([sums / profiles.lengths[:, None], np.ones((len(sums), 1))])


@dataclass(repr=False, eq=False)
class ImplicitAls(Recommender):
    """ALS, or WRMF (Hu, Koren and Volinsky, 2008): weighted least squares for users and items.

    Every user's factors are solved for from the profile, known or not. The same seed gives the
    same factors of items with any number of threads.

    Parameters
    ----------
    factors : number of factors
    reg : cost of large factors
    confidence : weight of an observed pair beside an unobserved one; implicit's alpha
    iterations : how often users and items take turns
    seed : of the initial factors
    """

    scorers: ClassVar = (AlsScorer,)

    factors: int = param(64, low=1, search=FACTORS)
    reg: float = param(0.01, low=0, search=Real(1e-2, 1e3, log=True))
    confidence: float = param(1.0, low=0, search=Real(0.1, 100.0, log=True))
    iterations: int = param(15, low=1, search=Whole(5, 30))
    seed: int = param(0, low=0, high=_SEED)
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> AlsScorer:  # noqa: ARG002
        model = _fitted(self, data, "als:AlternatingLeastSquares", self.n_threads or 0)
        return AlsScorer(model.item_factors.astype(np.float64), self.reg, self.confidence)


@dataclass(repr=False, eq=False)
class ImplicitBpr(Recommender):
    """BPR (Rendle and others, 2009): factors that rank a user's items above the others.

    One thread learns: implicit's threads overwrite each other's steps, and the same seed would not
    give the same factors.

    Parameters
    ----------
    factors : number of factors, besides a bias for each item
    learning_rate : size of a step
    reg : cost of large factors
    iterations : passes of as many steps as there are interactions
    seed : of the initial factors and the drawn pairs
    """

    scorers: ClassVar = (FoldInScorer,)

    factors: int = param(64, low=1, search=FACTORS)
    learning_rate: float = param(0.05, low=0, search=Real(1e-3, 0.5, log=True))
    reg: float = param(0.01, low=0, search=Real(1e-5, 1.0, log=True))
    iterations: int = param(100, low=1, search=Whole(20, 300, log=True))
    seed: int = param(0, low=0, high=_SEED)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> FoldInScorer:  # noqa: ARG002
        model = _fitted(self, data, "bpr:BayesianPersonalizedRanking")
        return FoldInScorer.of(data, model.user_factors, model.item_factors)


@dataclass(repr=False, eq=False)
class ImplicitLogistic(Recommender):
    """Logistic matrix factorisation (Johnson, 2014): the probability that a user takes an item.

    One thread learns, as in `ImplicitBpr`.

    Parameters
    ----------
    factors : number of factors, besides biases of users and items
    learning_rate : size of a step
    reg : cost of large factors
    iterations : how often users and items take turns
    negatives : unobserved items drawn for each observed one
    seed : of the initial factors and the drawn items
    """

    scorers: ClassVar = (FoldInScorer,)

    factors: int = param(64, low=1, search=FACTORS)
    learning_rate: float = param(1.0, low=0, search=Real(0.05, 2.0, log=True))
    reg: float = param(0.6, low=0, search=Real(1e-3, 10.0, log=True))
    iterations: int = param(30, low=1, search=Whole(5, 60, log=True))
    negatives: int = param(30, low=1, search=Whole(2, 60, log=True))
    seed: int = param(0, low=0, high=_SEED)

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> FoldInScorer:  # noqa: ARG002
        model = _fitted(self, data, "lmf:LogisticMatrixFactorization")
        return FoldInScorer.of(data, model.user_factors, model.item_factors)


@dataclass(repr=False, eq=False)
class IrspackRP3beta(Recommender):
    """RP3beta (Paudel and others, 2017): a walk of three steps, against popularity.

    irspack's alpha is missing: it changes nothing where all interactions weigh the same. Weights
    are the same with any number of threads.

    Parameters
    ----------
    beta : how much an item's popularity counts against it; 0 is P3
    neighbours : weights kept per item; all by default
    """

    scorers: ClassVar = (SparseScorer,)

    beta: float = param(0.6, low=0, search=Real(0.0, 1.0))
    neighbours: int | None = param(None, low=1, search=NEIGHBOURS)
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SparseScorer:  # noqa: ARG002
        check_longest(data, 12)
        # irspack's settings are written for an older pydantic, which warns when they are imported.
        with needs("compare", "RP3beta"), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            from irspack.recommenders.rp3 import RP3betaRecommender
        most = None if self.neighbours is None else min(self.neighbours, len(data.items))
        model = RP3betaRecommender(
            csr_matrix(data.matrix()), top_k=most, beta=self.beta, n_threads=self.n_threads
        )
        learned: Any = model.learn().W
        weights = csr_array(learned, dtype=np.float64)
        weights.sort_indices()
        indptr, columns = weights.indptr.astype(np.int64), weights.indices.astype(np.int32)
        return SparseScorer(indptr, columns, weights.data)


def _fitted(model: Recommender, data: Interactions, source: str, n_threads: int = 1) -> Any:
    """Return the fitted model of implicit; it asks for BLAS with one thread, which is scoped here.

    ``source`` is a module and a class.
    """
    module, _, symbol = source.partition(":")
    with needs("compare", "Matrix factorisation by implicit"):
        learner = getattr(import_module(f"implicit.cpu.{module}"), symbol)
    params = model.get_params()
    params.pop("n_threads", None)
    given = {_ARGUMENTS.get(name, name): value for name, value in params.items()}
    with one_blas_thread():
        learned = learner(**given, num_threads=n_threads)
        learned.fit(csr_matrix(data.matrix(), dtype=np.float32), show_progress=False)
    return learned
