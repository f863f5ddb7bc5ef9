"""Who is measured: each fits on a users × items matrix and gives everybody's ten best items.

Peers are written as their users would: implicit with its own threads, EASE and the dense way of
CF-KOMD in numpy, the latter with the quadratic programs by cvxopt, as its authors did it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from boolrank import Interactions, KernelRanker

Array = NDArray[Any]
TOP = 10
REG = 0.1


def ours(kernel: str) -> Callable[[Interactions], Array]:
    """The ranker of this library with a kernel."""

    def run(data: Interactions) -> Array:
        return KernelRanker(kernel, reg=REG).fit(data).recommend(n=TOP).items

    return run


def als(data: Interactions) -> Array:
    """Implicit's alternating least squares: 64 factors, 15 iterations."""
    from implicit.als import AlternatingLeastSquares

    matrix = implicit_matrix(data)
    model = AlternatingLeastSquares(factors=64, iterations=15, num_threads=2, random_state=0)
    model.fit(matrix, show_progress=False)
    return np.asarray(model.recommend(np.arange(matrix.shape[0]), matrix, N=TOP)[0])


def ease(data: Interactions) -> Array:
    """EASE in numpy: one inverse of the regularised Gram matrix."""
    matrix = data.matrix()
    gram = (matrix.T @ matrix).toarray().astype(np.float64)
    gram[np.diag_indices_from(gram)] += 500.0
    inverse = np.linalg.inv(gram)
    weights = inverse / -np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return best(matrix @ weights, data)


def dense(arity: int) -> Callable[[Interactions], Array]:
    """CF-KOMD the dense way: the whole matrix from logarithms of binomials, a QP per user."""

    def run(data: Interactions) -> Array:
        matrix = dense_disjunctive(data, arity)
        means = matrix.mean(axis=0)
        scores = np.empty(data.shape)
        for user in range(data.shape[0]):
            own = data.row(user)
            weights = qp_by_cvxopt(matrix[np.ix_(own, own)], means[own])
            scores[user] = weights @ matrix[own] - means
        return best(scores, data)

    return run


def dense_disjunctive(data: Interactions, arity: int) -> NDArray[np.float64]:
    """The normalised disjunctive kernel of all pairs, by its formula in shares of C(n, d)."""
    items = data.matrix().T.toarray()
    n, common = data.shape[0], items @ items.T
    sizes = np.diag(common).astype(float)

    def missed(size: Array) -> Array:
        """Share of the d-subsets without any of so many variables."""
        rest = np.maximum(n - size, 0)
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

    size = len(means)
    solvers.options.update(
        show_progress=False, abstol=tolerance, reltol=tolerance, feastol=tolerance
    )
    found = solvers.qp(
        column(2.0 * (matrix + REG * np.eye(size))),
        column(-2.0 * means),
        column(-np.eye(size)),
        column(np.zeros(size)),
        column(np.ones((1, size))),
        column(1.0),
    )
    return np.array(found["x"]).ravel()


def best(scores: Array, data: Interactions) -> Array:
    """The best unseen items of each user, best first."""
    rows = np.repeat(np.arange(data.shape[0]), np.diff(data.indptr))
    scores[rows, data.indices] = -np.inf
    top = np.argpartition(-scores, TOP, axis=1)[:, :TOP]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1)
    return np.asarray(np.take_along_axis(top, order, axis=1))


def implicit_matrix(data: Interactions) -> Any:
    """What implicit wants: a csr_matrix in single precision."""
    from scipy.sparse import csr_matrix

    return csr_matrix(data.matrix())


KERNELS = ("linear", "disjunctive(2)", "disjunctive(20)", "disjunctive(116)")
CONTESTANTS: dict[str, Callable[[Interactions], Array]] = {
    **{kernel: ours(kernel) for kernel in KERNELS},
    "implicit ALS, 64 factors, 15 iterations": als,
    "EASE in numpy": ease,
    "dense CF-KOMD, numpy and cvxopt": dense(116),
}
