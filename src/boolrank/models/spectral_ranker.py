"""SpectralRanker: a neighbourhood model, a low-pass filter and a sharpening filter in one operator.

With K the kernel matrix of items, λ and V its largest eigenvalues and their vectors, λ_1 the first,
d the numbers of users of items, and x a profile,

    b     = x·D^(½-input_exponent)·K/λ_1·D^(½-output_exponent)  +  low_pass·x·D^-½·V·Vᵀ·D^½
    score = b - sharpening·(b·V)·diag(λ/λ_1)·Vᵀ.

The first term counts neighbours. The second adds what they share at large: the projection on the
leading eigenvectors. Sharpening takes back a part of what is common to all, as one backward step of
a diffusion does. Nothing is trained: b is linear in x, so everything with V folds into two m × 2r
factors, and the operator is sparse + low rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, size
from ..counts.overlaps import Overlaps, user_weights
from ..data.interactions import Interactions
from ..errors import InputError, MatrixTooLargeError
from ..kernels import Kernel, Linear, parse_kernel
from ..matrix import CompressedMatrix
from .parameters import param, recency_param, threads_param, user_exponent_param
from .recommender import Recommender
from .scorer import Floats
from .search import Real, Whole
from .spectral_scorer import Singles, SpectralScorer

# Products with the matrix before eigenvectors are taken from the subspace.
_ROUNDS = 4
# Columns that are multiplied, and rows that are turned, at once.
_COLUMNS, _ROWS = 64, 4096
# Eigenvalues of the background below this part of the largest are rounding.
_ROUNDING = 1e-14
# Singular values of the factors below this part of the largest are lost in single precision.
_NEGLIGIBLE = 1e-9


@dataclass(repr=False, eq=False)
class SpectralRanker(Recommender):
    """Neighbours, low-pass filter and sharpening on any boolean kernel; nothing is trained.

    Related methods as settings, all with ``user_exponent=1``: GF-CF (Shen et al., 2021) has
    ``output_exponent=0.5, sharpening=0``; link propagation (Fu et al., 2022) has
    ``low_pass=0, sharpening=0`` and its own exponents; a filter polynomial of second degree
    (Park et al., 2024) has ``low_pass=0`` and the full rank.

    Parameters
    ----------
    kernel : a kernel, or text such as ``"linear"``; its normalised form is used
    user_exponent : users weigh activity^-user_exponent
    input_exponent : above 1/2, popular items of a profile count less
    output_exponent : above 1/2, popular items score less
    low_pass : weight of the projection on the leading eigenvectors
    sharpening : weight of the part of the leading eigenvectors that is taken back
    rank : number of eigenvectors
    rng : seed of the random subspace
    recency : half-life of the weights of a user's items, in events, or in days as ``"30d"``
    n_threads : threads of compiled loops; BLAS has its own setting

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> SpectralRanker().fit(data).recommend([3], n=2).lists()
    [['a', 'c']]
    """

    uses_overlaps: ClassVar[bool] = True
    scorers: ClassVar = (SpectralScorer,)

    kernel: Kernel | str = param("linear")
    user_exponent: float = user_exponent_param(0.75)
    input_exponent: float = param(0.5, low=-10, high=10, search=Real(0.2, 0.8))
    output_exponent: float = param(0.3, low=-10, high=10, search=Real(0.0, 0.6))
    low_pass: float = param(0.2, low=0, high=1e6, search=Real(0.0, 1.0))
    sharpening: float = param(1.0, low=0, high=1e6, search=Real(0.0, 2.5))
    rank: int = param(256, low=1, search=Whole(32, 512, log=True))
    rng: int = param(0, low=0)
    recency: float | str = recency_param()
    n_threads: int | None = threads_param()

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SpectralScorer:
        from .._compiled.weights import fill_similarities

        counts = overlaps or Overlaps.of(data, self.n_threads, self.user_exponent)
        rank = min(self.rank, *data.shape) if self.low_pass or self.sharpening else 0
        _check_room(counts, rank)
        kernel = parse_kernel(self.kernel)
        matrix = _linear(data, counts) if kernel == Linear() else _of_kernel(kernel, counts)
        eigenvalues, vectors, residual = eigenvectors(matrix.times, counts.items, rank, self.rng)
        top = eigenvalues[0] if rank else 1.0
        degrees = np.maximum(counts.degrees, 1.0)
        into = degrees ** (0.5 - self.input_exponent) / top
        out = degrees ** (0.5 - self.output_exponent)
        left, right = [matrix.left * into[:, None]], [matrix.right * out[:, None]]
        if rank:
            root = np.sqrt(degrees)[:, None]
            passed = self.low_pass / root * vectors
            b = into[:, None] * matrix.times(out[:, None] * vectors)
            b += passed @ (vectors.T @ (root * vectors))
            left += [passed, b * (-self.sharpening / top * eigenvalues)]
            right += [root * vectors, vectors]
        values = np.empty(len(matrix.columns), np.float32)
        ends = into * matrix.scale, out * matrix.scale
        fill_similarities(values, *ends, 1.0, matrix.indptr, matrix.columns, matrix.values)
        diagonal, factors = into * matrix.own * out, balanced(left, right)
        return SpectralScorer(matrix.indptr, matrix.columns, values, diagonal, *factors, residual)


class _Matrix(NamedTuple):
    """A kernel matrix in parts: K_ij = scale_i·values_ij·scale_j + left_i·right_j for i ≠ j.

    ``own`` is what is missing on the diagonal, and ``times`` the product with the whole.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[Any]
    scale: Floats
    own: Floats
    left: Floats
    right: Floats
    times: Callable[[Floats], Floats]


def _linear(data: Interactions, counts: Overlaps) -> _Matrix:
    """Return the normalised linear kernel; two passes over the interactions multiply with it."""
    from .._compiled.low_rank import sum_rows
    from .._compiled.rows import transposed

    scale = 1 / np.sqrt(np.maximum(counts.sizes, 1.0))
    weights = user_weights(data.rows.lengths, counts.user_exponent).astype(np.float64)
    start, users, _ = transposed(data.indptr, data.indices, counts.items)

    def times(block: Floats) -> Floats:
        out = np.empty_like(block)
        width = min(_COLUMNS, block.shape[1])
        of_items, of_users = np.empty((len(scale), width)), np.empty((len(weights), width))
        for first in range(0, block.shape[1], width):
            part = block[:, first : first + width]
            if part.shape[1] < width:
                of_items, of_users = np.empty(part.shape), np.empty((len(weights), part.shape[1]))
            np.multiply(scale[:, None], part, out=of_items)
            sum_rows(of_users, of_items, *data.rows, None)
            of_users *= weights[:, None]
            sum_rows(of_items, of_users, start, users, None)
            np.multiply(scale[:, None], of_items, out=out[:, first : first + width])
        return out

    own, none = (counts.sizes > 0).astype(np.float64), np.empty((counts.items, 0))
    return _Matrix(*counts.rows(), scale, own, none, none, times)


def _of_kernel(kernel: Kernel, counts: Overlaps) -> _Matrix:
    """Return any kernel; the background is of low rank."""
    from scipy.sparse import csr_array

    found = CompressedMatrix.of(kernel, counts)
    if found.scale is not None:
        raise InputError(
            f"the values of {kernel} are too small to be filtered",
            hint="take a kernel of lower arity, such as linear",
            parameter="kernel",
        )
    eigenvalues, vectors = np.linalg.eigh(found.background)
    kept = abs(eigenvalues) > _ROUNDING * abs(eigenvalues).max(initial=0.0)
    right = vectors[found.classes][:, kept]
    left, one = right * eigenvalues[kept], np.ones(counts.items)
    if found.distance is not None:  # stored is K_ij - 1 + distance_i + distance_j
        left = np.column_stack([left, one - found.distance, -one])
        right = np.column_stack([right, one, found.distance])
    if found.left is not None and found.right is not None:  # background of weighted users
        left, right = np.column_stack([left, found.left]), np.column_stack([right, found.right])
    own = 1.0 - (left * right).sum(axis=1)
    sparse = csr_array((found.values, found.columns, found.indptr), (counts.items,) * 2)

    def times(block: Floats) -> Floats:
        product: Floats = sparse @ block + own[:, None] * block + left @ (right.T @ block)
        return product

    return _Matrix(found.indptr, found.columns, found.values, one, own, left, right, times)


def eigenvectors(
    times: Callable[[Floats], Floats], m: int, rank: int, seed: int
) -> tuple[Floats, Floats, float]:
    """Return the largest eigenvalues of a positive semi-definite matrix, vectors and residual.

    ``times`` multiplies the matrix with an (m, r) block. Subspace iteration from random vectors,
    a tenth more than asked for. The residual is the largest ‖K·v - λ·v‖ / λ_1.
    """
    if not rank:
        return np.empty(0), np.empty((m, 0)), 0.0
    block = min(m, rank + 10 + rank // 10)
    basis = np.random.default_rng(seed).standard_normal((m, block)) if block < m else np.eye(m)
    for _ in range(_ROUNDS if block < m else 0):
        basis = _orthonormal(times(basis))
    if block < m:
        basis = _orthonormal(basis)
    image = times(basis)
    values, turn = np.linalg.eigh(basis.T @ image)
    values, turn = np.maximum(values[::-1][:rank], 0.0), turn[:, ::-1][:, :rank]
    vectors = basis @ turn
    errors = np.linalg.norm(image @ turn - vectors * values, axis=0)
    return values, vectors, float(errors.max() / max(values[0], 1e-300))


def balanced(left: list[Floats], right: list[Floats]) -> tuple[Singles, Singles]:
    """Return factors of the same product that are those of its singular value decomposition.

    Factors come as blocks of columns. Those returned have columns of the same norms, descending:
    the first ones tell most of a score. Columns lost in single precision are left out.
    """
    of_left, of_right = _root(left), _root(right)
    u, sizes, v = np.linalg.svd(of_left @ of_right)
    kept = sizes > _NEGLIGIBLE * sizes.max(initial=0.0)
    scale = np.sqrt(sizes[kept])
    turns = of_right @ v[kept].T / scale, of_left @ u[:, kept] / scale
    return _turned(left, turns[0]), _turned(right, turns[1])


def _root(blocks: list[Floats]) -> Floats:
    """Return the symmetric root of BᵀB for blocks of columns of B."""
    squares, turn = np.linalg.eigh(np.block([[a.T @ b for b in blocks] for a in blocks]))
    root: Floats = turn * np.sqrt(np.maximum(squares, 0.0)) @ turn.T
    return root


def _turned(blocks: list[Floats], turn: Floats) -> Singles:
    """Return B·turn in single precision, in parts: new memory is slow."""
    out = np.empty((len(blocks[0]), turn.shape[1]), np.float32)
    for first in range(0, len(out), _ROWS):
        part = np.hstack([block[first : first + _ROWS] for block in blocks])
        out[first : first + _ROWS] = part @ turn
    return out


def _orthonormal(block: Floats) -> Floats:
    """Return an orthonormal basis of the columns, a fourth of the time of a QR decomposition.

    It is orthonormal up to rounding times the squared condition; a second call removes that.
    """
    squares, turn = np.linalg.eigh(block.T @ block)
    kept = squares > _ROUNDING * squares[-1]
    basis: Floats = block @ (turn[:, kept] / np.sqrt(squares[kept]))
    return basis


def _check_room(counts: Overlaps, rank: int) -> None:
    # Values of pairs, and six blocks of vectors.
    needed, available = 12 * counts.pairs + 8 * 6 * rank * counts.items, free_memory()
    if needed > available:
        raise MatrixTooLargeError(
            f"the operator of {counts.items:,} items takes {size(needed)}, and {size(available)} "
            "are free",
            hint="take a lower rank, or leave out the rarest items or the most active users",
            parameter="rank",
        )
