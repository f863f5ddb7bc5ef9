"""The programs that are measured: each fits on interactions and lists 20 items for every user.

Peers are used as their documentation shows. EASE and dense CF-KOMD are written in numpy; the
quadratic programs of the latter are solved by cvxopt, as in the authors' code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from boolrank import Interactions, KernelRanker, parse_kernel, synthetic
from boolrank._memory import free_memory, size
from boolrank.models import MODELS, make_model

Array = NDArray[Any]
Rank = Callable[[], Array]
Fit = Callable[[Interactions, str], Rank]
TOP = 20
REG = 0.1
EASE_REG, KERNEL_EASE_REG = 500.0, 10.0
# Users in a block, for programs that score all items.
BLOCK = 1_000
# Sets for each of the three ways to count, and one whose lists are made in batches.
SMALL = ((150, 40, 1_000), (400, 60, 1_200), (900, 900, 1_800))
BATCH = (16_400, 8_200, 20_000)
# Items × interactions of MovieLens-1M, and the multiple of it that takes SLIM an hour.
MOVIELENS, MOST_WORK = 3_706 * 1_000_209, 50.0


@dataclass(frozen=True)
class Contestant:
    """A program and what it needs.

    Attributes
    ----------
    title : its name in tables
    fit : takes interactions and the kernel of the race; returns a function that lists items
    arrays : number of (items, items) arrays of doubles in memory at once
    passes : whether each item takes a pass over all interactions
    blas_threads : 1 for implicit, whose own threads BLAS threads would slow down
    also : other functions to compile before the clock starts
    small : users, items and interactions of the sets to warm up on
    """

    title: str
    fit: Fit
    arrays: int = 0
    passes: bool = False
    blas_threads: int = 2
    also: tuple[Fit, ...] = ()
    small: tuple[tuple[int, int, int], ...] = SMALL[:1]

    def warm_up(self, kernel: str) -> None:
        """Load and compile everything it will use."""
        for users, items, interactions in self.small:
            data = synthetic(users, items, interactions, seed=0)
            for fit in (self.fit, *self.also):
                fit(data, kernel)()

    def unable(self, items: int, interactions: int) -> str:
        """Return why it cannot run on a set of this size, or an empty text."""
        needed = 8 * self.arrays * items**2
        if needed > free_memory():
            return f"it needs {size(needed)}: {self.arrays} arrays of items × items doubles"
        work = items * interactions / MOVIELENS
        if self.passes and work > MOST_WORK:
            return f"items × interactions, its cost, are {work:.0f} times MovieLens-1M's"
        return ""


def ranker(kernel: str | None = None, storage: str = "auto") -> Fit:
    """Return the kernel ranker, with the kernel of the race or another."""

    def fit(data: Interactions, of_race: str) -> Rank:
        model = KernelRanker(kernel or of_race, reg=REG, storage=storage).fit(data)
        return lambda: model.recommend(n=TOP).items

    return fit


def ours(name: str, takes_kernel: bool = False, **params: Any) -> Fit:
    """Return another model of boolrank."""

    def fit(data: Interactions, of_race: str) -> Rank:
        kernel = {"kernel": of_race} if takes_kernel else {}
        model = make_model(name, **kernel, **params).fit(data)
        return lambda: model.recommend(n=TOP).items

    return fit


def als(factors: int) -> Fit:
    """Implicit's alternating least squares with 15 iterations."""

    def fit(data: Interactions, _: str) -> Rank:
        from implicit.als import AlternatingLeastSquares

        options = {"iterations": 15, "num_threads": 2, "random_state": 0}
        return by_implicit(AlternatingLeastSquares(factors=factors, **options), data)

    return fit


def bpr(data: Interactions, _: str) -> Rank:
    """Implicit's Bayesian personalised ranking: 64 factors, 100 iterations."""
    from implicit.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(factors=64, num_threads=2, random_state=0)
    return by_implicit(model, data)


def cosine(data: Interactions, _: str) -> Rank:
    """Implicit's item neighbours by cosine: 20 of each item."""
    from implicit.nearest_neighbours import CosineRecommender

    return by_implicit(CosineRecommender(num_threads=2), data)


def by_implicit(model: Any, data: Interactions) -> Rank:
    """Return a model of implicit, which takes a csr_matrix in single precision."""
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(data.matrix())
    model.fit(matrix, show_progress=False)
    users = np.arange(matrix.shape[0])
    return lambda: np.asarray(model.recommend(users, matrix, N=TOP)[0])


def slim(data: Interactions, _: str) -> Rank:
    """SLIM of irspack with its defaults."""
    from irspack.recommenders.slim import SLIMRecommender
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(data.matrix(), dtype=np.float64)
    model = SLIMRecommender(matrix, n_threads=2).learn()
    return lambda: best(model.get_score_block, data)


def ease(data: Interactions, _: str) -> Rank:
    """EASE in numpy: one inverse of the regularised Gram matrix."""
    matrix = data.matrix()
    gram = (matrix.T @ matrix).toarray().astype(np.float64)
    gram[np.diag_indices_from(gram)] += EASE_REG
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return lambda: best(lambda first, stop: matrix[first:stop] @ weights, data)


def dense(data: Interactions, of_race: str) -> Rank:
    """Dense CF-KOMD: the whole matrix from logarithms of binomials, a QP per user."""
    matrix = dense_disjunctive(data, parse_kernel(of_race).arity)
    means = matrix.mean(axis=0)

    def scores(first: int, stop: int) -> Array:
        out = np.empty((stop - first, data.shape[1]))
        for user in range(first, stop):
            own = data.rows.row(user)
            weights = qp_by_cvxopt(matrix[np.ix_(own, own)], means[own])
            out[user - first] = weights @ matrix[own] - means
        return out

    return lambda: best(scores, data)


def dense_disjunctive(data: Interactions, arity: int) -> NDArray[np.float64]:
    """The normalised disjunctive kernel of all pairs, by its formula in shares of C(n, d)."""
    items = data.matrix().T.toarray()
    n, common = data.shape[0], items @ items.T
    sizes = np.diag(common).astype(float)

    def missed(active: Array) -> Array:
        """Return the share of d-subsets without any of the active variables."""
        rest = np.maximum(n - active, 0)
        with np.errstate(invalid="ignore"):
            logs = gammaln(rest + 1) - gammaln(rest - arity + 1) - gammaln(n + 1)
        return np.where(rest < arity, 0.0, np.exp(logs + gammaln(n - arity + 1)))

    union = sizes[:, None] + sizes - common
    value = 1.0 - missed(sizes)[:, None] - missed(sizes) + missed(union)
    roots = np.sqrt(1.0 - missed(sizes))
    return np.asarray(value / roots[:, None] / roots)


def qp_by_cvxopt(matrix: Array, means: Array, tolerance: float = 1e-9) -> Array:
    """Weights of a user: the quadratic program over the simplex, by cvxopt."""
    from cvxopt import matrix as column
    from cvxopt import solvers

    count = len(means)
    solvers.options.update(
        show_progress=False, abstol=tolerance, reltol=tolerance, feastol=tolerance
    )
    found = solvers.qp(
        column(2.0 * (matrix + REG * np.eye(count))),
        column(-2.0 * means),
        column(-np.eye(count)),
        column(np.zeros(count)),
        column(np.ones((1, count))),
        column(1.0),
    )
    return np.array(found["x"]).ravel()


def best(scores: Callable[[int, int], Array], data: Interactions) -> Array:
    """The best unseen items of each user, best first, from scores of users in blocks."""
    users = data.shape[0]
    chosen = np.empty((users, TOP), np.int64)
    for first in range(0, users, BLOCK):
        stop = min(first + BLOCK, users)
        part = scores(first, stop)
        bounds = data.indptr[first : stop + 1]
        rows = np.repeat(np.arange(stop - first), np.diff(bounds))
        part[rows, data.indices[bounds[0] : bounds[-1]]] = -np.inf
        top = np.argpartition(-part, TOP, axis=1)[:, :TOP]
        order = np.argsort(-np.take_along_axis(part, top, axis=1), axis=1)
        chosen[first:stop] = np.take_along_axis(top, order, axis=1)
    return chosen


_RANKERS = {
    "disjunctive": Contestant(
        "boolrank: disjunctive ranker",
        ranker(),
        also=(ranker(storage="dense"), ranker(storage="compressed")),
        small=(*SMALL, BATCH),
    ),
    "linear": Contestant(
        "boolrank: linear ranker",
        ranker("linear"),
        also=(ranker("linear", "dense"), ranker("linear", "compressed")),
        small=(*SMALL, BATCH),
    ),
}
_MODELS = {
    "kernel-ease": Contestant(
        "boolrank: KernelEase, disjunctive",
        ours("kernel-ease", takes_kernel=True, reg=KERNEL_EASE_REG),
        arrays=2,
        small=SMALL,
    ),
    "ease": Contestant("boolrank: EASE", ours("ease", reg=EASE_REG), arrays=2, small=SMALL),
    "spectral-ranker": Contestant(
        "boolrank: spectral ranker", ours("spectral-ranker"), small=SMALL
    ),
    "item-knn": Contestant(
        "boolrank: cosine, 20 neighbours", ours("item-knn", neighbours=20), small=SMALL
    ),
}
_PEERS = {
    "als": Contestant("implicit: ALS, 64 factors, 15 iterations", als(64), blas_threads=1),
    "als-256": Contestant("implicit: ALS, 256 factors, 15 iterations", als(256), blas_threads=1),
    "bpr": Contestant("implicit: BPR, 64 factors, 100 iterations", bpr, blas_threads=1),
    "cosine": Contestant("implicit: cosine, 20 neighbours", cosine, blas_threads=1),
    "numpy-ease": Contestant("EASE in numpy", ease, arrays=3),
    "slim": Contestant("irspack: SLIM", slim, passes=True),
    "dense": Contestant("dense CF-KOMD, numpy and cvxopt", dense, arrays=7),
}
CONTESTANTS: dict[str, Contestant] = {
    **_RANKERS,
    **{name: who for name, who in _MODELS.items() if name in MODELS},
    **_PEERS,
}
