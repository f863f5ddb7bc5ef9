"""The inverse of a symmetric positive definite matrix, in place and with one sum for each digit.

With A in four blocks, T = A₁₁⁻¹·A₁₂ and S = A₂₂ - A₁₂ᵀ·T,

    A⁻¹ = [ A₁₁⁻¹ + T·S⁻¹·Tᵀ    -T·S⁻¹ ]
          [ .                     S⁻¹  ],

and A₁₁ and S are inverted in the same way. LAPACK inverts small blocks. Threads take parts of the
products in turn, and BLAS has one thread within a part. LAPACK alone would take a fifth less time,
but its last digits depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..engines.threads import on_threads, one_blas_thread

Matrix = NDArray[Any]

# Memory that an inverse takes, with its matrix, as a multiple of the matrix.
INVERTING = 4 / 3
# Rows of a matrix that LAPACK inverts, and rows of a part.
_SMALL, _ROWS = 512, 256


def invert_in_place(upper: Matrix) -> Matrix | None:
    """Put the inverse in place of the upper triangle; nothing below the diagonal is read or set.

    Returns the diagonal of the Cholesky factor, or None if the matrix is not positive definite.
    """
    pivots = list[Matrix]()
    with one_blas_thread():
        return np.concatenate(pivots) if _invert(upper, pivots) else None


def _invert(upper: Matrix, pivots: list[Matrix]) -> bool:
    if len(upper) <= _SMALL:
        return _invert_small(upper, pivots)
    half = -(-len(upper) // (2 * _ROWS)) * _ROWS
    first, across, second = upper[:half, :half], upper[:half, half:], upper[half:, half:]
    if not _invert(first, pivots):
        return False
    turned = np.empty_like(across)  # T

    def turn(part: slice) -> None:
        np.matmul(_rows(first, part), across, out=turned[part])

    def turn_back(part: slice) -> None:
        np.negative(turned @ _rows(second, part).T, out=across[:, part])

    _by_parts(half, across.size * half, turn)
    _subtract(second, across, turned)
    if not _invert(second, pivots):
        return False
    _by_parts(len(second), across.size * len(second), turn_back)
    _subtract(first, across.T, turned.T)
    return True


def _invert_small(upper: Matrix, pivots: list[Matrix]) -> bool:
    single = upper.dtype == np.float32
    factor, inverse = (lapack.spotrf, lapack.spotri) if single else (lapack.dpotrf, lapack.dpotri)
    root, failed = factor(np.triu(upper))
    if failed:
        return False
    pivots.append(np.diag(root).copy())
    np.copyto(upper, inverse(root)[0], where=_triangle(len(upper)))
    return True


def _triangle(size: int) -> NDArray[np.bool_]:
    return np.tri(size, dtype=bool).T


def _rows(upper: Matrix, part: slice) -> Matrix:
    """Return some complete rows of a symmetric matrix."""
    block = np.triu(upper[part, part])
    block += np.triu(block, 1).T
    return np.hstack([upper[: part.start, part].T, block, upper[part, part.stop :]])


def _subtract(upper: Matrix, left: Matrix, right: Matrix) -> None:
    """Subtract leftᵀ·right, which is symmetric, from the upper triangle."""

    def subtract(part: slice) -> None:
        product, block = left[:, part].T @ right[:, part.start :], upper[part, part]
        width = len(block)
        np.subtract(block, product[:, :width], out=block, where=_triangle(width))
        upper[part, part.stop :] -= product[:, width:]

    _by_parts(len(upper), upper.size * len(left) / 2, subtract)


def _by_parts(rows: int, work: float, function: Callable[[slice], None]) -> None:
    bounds = range(0, rows, _ROWS)
    on_threads(function, [slice(low, min(low + _ROWS, rows)) for low in bounds], work)
