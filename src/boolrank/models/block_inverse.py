"""The inverse of a symmetric positive definite matrix, in place and with one sum for each digit.

With A in four blocks, the first one small, R the Cholesky factor of A₁₁ = RᵀR and

    Y = R⁻ᵀ·A₁₂,   T = R⁻¹·Y,   S = A₂₂ - Yᵀ·Y,

    A⁻¹ = [ A₁₁⁻¹ + T·S⁻¹·Tᵀ    -T·S⁻¹ ]
          [ .                     S⁻¹  ],

and S is inverted in the same way. R and Y are rows of the Cholesky factor of A, so the error grows
with the condition of A, as that of LAPACK; with A₁₁⁻¹·A₁₂ in S it would grow with its square.
LAPACK takes the small blocks. Threads take parts of the products in turn, and BLAS has one thread
within a part: the last digits of LAPACK alone depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..engines.threads import on_threads, one_blas_thread, threads

Matrix = NDArray[Any]

# Rows of a small block, and rows or columns of a part.
_SMALL, _ROWS = 512, 256


def inverse_bytes(size: int, dtype: str) -> int:
    """Return the bytes of a matrix and of the blocks that its inverse takes."""
    with threads(None) as count:
        return np.dtype(dtype).itemsize * size * (size + min(size, _SMALL + 3 * _ROWS * count))


def invert_in_place(upper: Matrix) -> Matrix | None:
    """Put the inverse in place of the upper triangle; nothing below the diagonal is read or set.

    Returns the diagonal of the Cholesky factor, or None if the matrix is not positive definite.
    """
    starts, pivots = range(0, len(upper), _SMALL), list[Matrix]()
    with one_blas_thread():
        for start in starts:
            if not _eliminate(upper[start:, start:], pivots):
                return None
        for start in reversed(starts):
            _complete(upper[start:, start:])
    return np.concatenate(pivots)


def _eliminate(upper: Matrix, pivots: list[Matrix]) -> bool:
    """Put R, Y and S in place of A₁₁, A₁₂ and A₂₂."""
    own, across, others = upper[:_SMALL, :_SMALL], upper[:_SMALL, _SMALL:], upper[_SMALL:, _SMALL:]
    root, failed = _of_type(upper, lapack.spotrf, lapack.dpotrf)(np.triu(own))
    if failed:
        return False
    pivots.append(np.diag(root).copy())
    np.copyto(own, root, where=_triangle(len(own)))
    _solve(root, across, across, transposed=True)
    _subtract(others, across, across)
    return True


def _complete(upper: Matrix) -> None:
    """Put the inverse in place of R, Y and S⁻¹."""
    own, across, others = upper[:_SMALL, :_SMALL], upper[:_SMALL, _SMALL:], upper[_SMALL:, _SMALL:]
    root, turned = np.triu(own), np.empty_like(across)  # T
    _solve(root, across, turned, transposed=False)

    def turn_back(part: slice) -> None:
        np.negative(turned @ _columns(others, part), out=across[:, part])

    _by_parts(len(others), across.size * len(others), turn_back)
    inverse = _of_type(upper, lapack.spotri, lapack.dpotri)(root)[0]
    np.copyto(own, inverse, where=_triangle(len(own)))
    _subtract(own, across.T, turned.T)


def _solve(root: Matrix, right: Matrix, out: Matrix, *, transposed: bool) -> None:
    """Put R⁻ᵀ or R⁻¹ times the right-hand sides into the output."""
    solver = _of_type(root, lapack.strtrs, lapack.dtrtrs)

    def solve(part: slice) -> None:
        out[:, part] = solver(root, right[:, part], trans=transposed)[0]

    _by_parts(right.shape[1], right.size * len(root), solve)


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
    bounds = range(0, size, _ROWS)
    on_threads(function, [slice(low, min(low + _ROWS, size)) for low in bounds], work)
