"""The inverse of a symmetric positive definite matrix, in place and with one sum for each digit.

With A in four blocks, R the Cholesky factor of A₁₁ = RᵀR and

    Y = R⁻ᵀ·A₁₂,   T = R⁻¹·Y,   S = A₂₂ - Yᵀ·Y,

    A⁻¹ = [ A₁₁⁻¹ + T·S⁻¹·Tᵀ    -T·S⁻¹ ]
          [ .                     S⁻¹  ],

and A₁₁ and S are factored and inverted in the same way. R and Y are rows of the Cholesky factor of
A, so the error grows with the condition of A, as that of LAPACK; with A₁₁⁻¹·A₁₂ in S it would grow
with its square. LAPACK takes small blocks. Threads take parts of the products in turn, and BLAS has
one thread within a part: the last digits of LAPACK alone depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..engines.threads import on_threads, one_blas_thread, threads

Matrix = NDArray[Any]

# Rows of a block that LAPACK takes, and rows or columns of a part.
_ROWS = 256


def inverse_bytes(size: int, dtype: str) -> int:
    """Return the bytes of a matrix and of the blocks that its inverse takes."""
    half = -(-size // 2)
    with threads(None) as count:
        blocks = 4 * half * half // 3 + 3 * _ROWS * min(count * size, half * size)
        return np.dtype(dtype).itemsize * (size * size + min(blocks, size * size))


def invert_in_place(upper: Matrix) -> Matrix | None:
    """Put the inverse in place of the upper triangle; nothing below the diagonal is read or set.

    Returns the diagonal of the Cholesky factor, or None if the matrix is not positive definite.
    """
    pivots = list[Matrix]()
    with one_blas_thread():
        if not _factor(upper, pivots):
            return None
        _invert(upper)
    return np.concatenate(pivots)


def _factor(upper: Matrix, pivots: list[Matrix]) -> bool:
    """Put the Cholesky factor in place of the matrix; return whether there is one."""
    if len(upper) <= _ROWS:
        root, failed = _of_type(upper, lapack.spotrf, lapack.dpotrf)(np.triu(upper))
        np.copyto(upper, root, where=_triangle(len(upper)))
        pivots.append(np.diag(root).copy())
        return not failed
    first, across, second = _halves(upper)
    if not _factor(first, pivots):
        return False
    _solve(first, across, across, transposed=True)
    _subtract(second, across, across)
    return _factor(second, pivots)


def _invert(upper: Matrix) -> None:
    """Put the inverse of the matrix in place of its Cholesky factor."""
    if len(upper) <= _ROWS:
        inverse = _of_type(upper, lapack.spotri, lapack.dpotri)(np.triu(upper))[0]
        np.copyto(upper, inverse, where=_triangle(len(upper)))
        return
    first, across, second = _halves(upper)
    turned = np.empty_like(across)  # T
    _solve(first, across, turned, transposed=False)
    _invert(second)

    def turn_back(part: slice) -> None:
        np.negative(turned @ _columns(second, part), out=across[:, part])

    _by_parts(len(second), across.size * len(second), turn_back)
    _invert(first)
    _subtract(first, across.T, turned.T)


def _halves(upper: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    half = -(-len(upper) // (2 * _ROWS)) * _ROWS
    return upper[:half, :half], upper[:half, half:], upper[half:, half:]


def _solve(root: Matrix, right: Matrix, out: Matrix, *, transposed: bool) -> None:
    """Put R⁻ᵀ or R⁻¹ times the right-hand sides into the output."""
    solver = _of_type(root, lapack.strtrs, lapack.dtrtrs)
    blocks = _parts(len(root))

    def solve(part: slice) -> None:
        for block in blocks if transposed else reversed(blocks):
            if transposed:
                known = root[: block.start, block].T @ out[: block.start, part]
            else:
                known = root[block, block.stop :] @ out[block.stop :, part]
            rest = right[block, part] - known
            out[block, part] = solver(np.triu(root[block, block]), rest, trans=transposed)[0]

    _by_parts(right.shape[1], right.size * len(root) / 2, solve)


def _subtract(upper: Matrix, left: Matrix, right: Matrix) -> None:
    """Subtract leftᵀ·right, which is symmetric, from the upper triangle."""

    def subtract(part: slice) -> None:
        product, block = left[:, part].T @ right[:, part.start :], upper[part, part]
        width = len(block)
        np.subtract(block, product[:, :width], out=block, where=_triangle(width))
        upper[part, part.stop :] -= product[:, width:]

    _by_parts(len(upper), upper.size * len(left) / 2, subtract)


def _columns(upper: Matrix, part: slice) -> Matrix:
    """Return some complete columns of a symmetric matrix."""
    block = np.triu(upper[part, part])
    block += np.triu(block, 1).T
    return np.vstack([upper[: part.start, part], block, upper[part, part.stop :].T])


def _triangle(size: int) -> NDArray[np.bool_]:
    return np.tri(size, dtype=bool).T


def _of_type(matrix: Matrix, single: Any, double: Any) -> Any:
    return single if matrix.dtype == np.float32 else double


def _by_parts(size: int, work: float, function: Callable[[slice], None]) -> None:
    on_threads(function, _parts(size), work)


def _parts(size: int) -> list[slice]:
    return [slice(low, min(low + _ROWS, size)) for low in range(0, size, _ROWS)]
