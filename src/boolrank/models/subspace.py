"""Leading eigenvectors of large matrices, and balanced factors of low rank.

Matrices with many rows are multiplied in parts. Threads take parts in turn, BLAS uses one thread
within a part, and sums of parts are added in order, so no digit depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.threads import on_threads
from .scorer import Floats

Singles = NDArray[np.float32]
# Vectors of items in columns, in single or double precision.
Block = NDArray[Any]

# Rows of a part: temporary blocks stay in the cache. Sums of at most so many parts are kept.
_ROWS, _PARTS = 2048, 64
# Zeros of the polynomial that damps small eigenvalues, as parts of the smallest one of the block:
# a Chebyshev polynomial of second degree, after one plain product.
_ZEROS = (0.0, 0.8535533905932737, 0.14644660940672624)
# Eigenvalues of Gram matrices below this part of the largest are rounding errors.
_ROUNDING = 1e-14
# Eigenvalues of a matrix below this part of the largest are 0, and their vectors are arbitrary.
_NULL = 1e-12
# Singular values of the factors below this part of the largest are lost in single precision.
_NEGLIGIBLE = 1e-9


def eigenvectors(
    times: Callable[[Block, Block], None], m: int, rank: int, seed: int
) -> tuple[Floats, Floats, float]:
    """Return the largest eigenvalues of a positive semi-definite matrix, vectors and residual.

    ``times`` multiplies the matrix with an (m, r) block into another. Subspace iteration from
    random vectors, a tenth more than asked for, in single precision; the last product, from which
    values and vectors are taken, is in double. The residual is the largest ‖K·v - λ·v‖ / λ_1.
    """
    if not rank:
        return np.empty(0), np.empty((m, 0)), 0.0
    columns = min(m, rank + 10 + rank // 10)
    basis: Block
    if columns == m:
        basis = np.eye(m)
    else:
        basis = np.random.default_rng(seed).standard_normal((m, columns), np.float32)
        image: Block = np.empty_like(basis)
        for step, zero in enumerate(_ZEROS):
            image = image[:, : basis.shape[1]]
            times(basis, image)
            if zero:
                smallest = np.linalg.eigvalsh(_product(basis, image))[0]
                image -= np.float32(zero * max(smallest, 0.0)) * basis
            last = step == len(_ZEROS) - 1
            basis = _orthonormal(image, np.empty(image.shape) if last else basis)
    image = np.empty(basis.shape)
    times(basis, image)
    values, turn = np.linalg.eigh(_product(basis, image))
    least = _NULL * values[-1] if rank < m else -np.inf  # of all vectors, no choice is made
    kept = np.flatnonzero(values > least)[::-1][:rank]
    values, turn = np.maximum(values[kept], 0.0), turn[:, kept]
    vectors = np.empty((m, len(values)))

    def turned(part: slice) -> Floats:
        np.matmul(basis[part], turn, out=vectors[part])
        errors: Floats = ((image[part] @ turn - vectors[part] * values) ** 2).sum(axis=0)
        return errors

    residual = np.sqrt(_sum_by_parts(m, len(values), turned).max()) / values[0]
    return values, vectors, float(residual)


def balanced(
    m: int, left: Callable[[slice], Floats], right: Callable[[slice], Floats]
) -> tuple[Singles, Singles]:
    """Return factors of the same product that are those of its singular value decomposition.

    Factors of m rows come in parts. Those returned have columns of the same norms, descending:
    the first ones tell most of a score. Columns lost in single precision are left out.
    """
    (lefts, of_left), (rights, of_right) = _rows_and_root(m, left), _rows_and_root(m, right)
    u, sizes, v = np.linalg.svd(of_left @ of_right)
    kept = sizes > _NEGLIGIBLE * sizes.max(initial=0.0)
    scale = np.sqrt(sizes[kept])
    return (
        _turned(lefts, of_right @ v[kept].T / scale),
        _turned(rights, of_left @ u[:, kept] / scale),
    )


def weighted_gram(rows: Floats, weights: Floats) -> Floats:
    """Return RᵀDR for the matrix R and the diagonal matrix D of weights."""

    def product(part: slice) -> Floats:
        block: Floats = rows[part].T @ (weights[part, None] * rows[part])
        return block

    return _sum_by_parts(len(rows), rows.shape[1], product)


def _rows_and_root(m: int, rows: Callable[[slice], Floats]) -> tuple[Singles, Floats]:
    """Return all rows in single precision, and the root of their Gram matrix."""
    singles = np.empty((m, rows(slice(0)).shape[1]), np.float32)

    def stored(part: slice) -> Floats:
        block = rows(part)
        singles[part] = block
        gram: Floats = block.T @ block
        return gram

    squares, turn = np.linalg.eigh(_sum_by_parts(m, singles.shape[1], stored))
    return singles, turn * np.sqrt(np.maximum(squares, 0.0)) @ turn.T


def _turned(rows: Singles, turn: Floats) -> Singles:
    """Return the product, in the memory of the rows."""
    width, single = turn.shape[1], turn.astype(np.float32)

    def multiply(part: slice) -> None:
        rows[part, :width] = rows[part] @ single

    _by_parts(len(rows), width, multiply)
    return np.ascontiguousarray(rows[:, :width])


def _orthonormal(block: Block, out: Block) -> Block:
    """Fill with an orthonormal basis of the columns; return the columns of ``out`` that have it.

    It takes a quarter of the time of a QR decomposition, and is orthonormal up to rounding times
    the squared condition.
    """
    squares, turn = np.linalg.eigh(_product(block, block))
    kept = squares > _ROUNDING * squares[-1]
    basis, scaled = out[:, : kept.sum()], (turn[:, kept] / np.sqrt(squares[kept])).astype(out.dtype)

    def multiply(part: slice) -> None:
        np.matmul(block[part].astype(out.dtype, copy=False), scaled, out=basis[part])

    _by_parts(len(block), len(scaled), multiply)
    return basis


def _product(a: Block, b: Block) -> Floats:
    """Return AᵀB in double precision."""

    def product(part: slice) -> Floats:
        of_a = a[part].astype(np.float64, copy=False)
        of_b = of_a if a is b else b[part].astype(np.float64, copy=False)
        block: Floats = of_a.T @ of_b
        return block

    return _sum_by_parts(len(a), a.shape[1], product)


def _sum_by_parts(m: int, width: int, function: Callable[[slice], Floats]) -> Floats:
    """Return the sum of the function's results for all parts of m rows, added in order."""
    total: Floats = np.sum(_by_parts(m, width, function), axis=0)
    return total


def _by_parts(m: int, width: int, function: Callable[[slice], Any]) -> list[Any]:
    """Return the function's results for all parts of m rows, computed on threads.

    ``width`` is the number of columns, from which the work is estimated.
    """
    rows = max(_ROWS, -(-m // _PARTS))
    parts = [slice(first, first + rows) for first in range(0, m, rows)]
    return on_threads(function, parts, m * width**2)
