"""Models that are the inverse of a matrix of items: filled, inverted and scaled in its place.

One array of m × m numbers is the matrix, its inverse and the weights, one after the other; beside
it there is never more than what it is filled from. LAPACK inverts by Cholesky factors (potrf and
potri), which need and give one triangle: the half that comes first in each row.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, size
from .._threads import threads
from ..errors import MatrixTooLargeError, ParameterError
from ..interactions import Interactions
from ..kernels import Kernel
from ..kernels.counts import Pairs
from ..overlaps import Overlaps
from ..parameters import checked_overlaps, number, variables_are_users
from ..profiles import Profiles
from ..recommender import Floats, Recommender

__all__ = ["CountsInverse", "ItemWeights", "check_room", "invert", "values_of"]

DTYPES = ("float32", "float64")

# Scores are rounded to about 2^-36 of their terms in double precision, and 2^-16 in single: more
# than what an inverse with these digits is off by, so that items which everybody treats alike tie,
# whatever BLAS there is and however many threads it takes.
_GRIDS = {"float32": 2.0**36, "float64": 2.0**16}

# Rows of kernel values that are computed at a time.
_ROWS = 64

Matrix = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """(m, m) what an item of a profile, by row, adds to the score of each item."""

    values: Matrix

    @staticmethod
    def of(
        inverse: Matrix,
        columns: Floats,
        diagonal: Floats,
        rows: Floats | None = None,
        n_threads: int | None = None,
    ) -> ItemWeights:
        """Weights P[i, j]·rows[i]·columns[j], in the place of P, which is given by its triangle."""
        from .._compiled.weights import spread

        ones = np.ones(len(inverse))
        with threads(n_threads) as count:
            spread(inverse, ones if rows is None else rows, columns, diagonal, count)
        return ItemWeights(inverse)

    def scores(self, profiles: Profiles, n_threads: int | None = None) -> Floats:
        """(u, m) scores of all items for each profile."""
        from .._compiled.weights import add_up

        out = np.empty((len(profiles.start) - 1, len(self.values)))
        with threads(n_threads):
            add_up(out, self.values, *profiles, _GRIDS[self.values.dtype.name])
        return out


def check_room(model: str, items: int, dtype: str) -> None:
    """Raise where two matrices of items would not fit into memory."""
    if dtype not in DTYPES:
        raise ParameterError(f"dtype of {model} is one of {', '.join(DTYPES)}, not {dtype!r}")
    needed, available = 2 * items**2 * np.dtype(dtype).itemsize, free_memory()
    if needed > available:
        half = "use dtype='float32', " if dtype == "float64" and model != "CfOmd" else ""
        raise MatrixTooLargeError(
            f"{model} on {items:,} items would take {size(needed)}, for two matrices of all pairs, "
            f"and there are {size(available)}; {half}leave out the rarest items, or use a model "
            "whose matrix is sparse: kernel-ranker, item-knn"
        )


def counts_of(overlaps: Overlaps, dtype: str, n_threads: int | None = None) -> Matrix:
    """The (m, m) numbers of shared users, the sizes on the diagonal: the upper triangle of it."""
    from .._compiled.weights import fill_from_dense, fill_from_rows

    out = np.empty((overlaps.items, overlaps.items), dtype)
    with threads(n_threads) as count:
        if overlaps.dense is not None:
            fill_from_dense(out, overlaps.dense, count)
        else:
            fill_from_rows(out, overlaps.sizes, *overlaps.rows(), count)
    return out


def values_of(
    kernel: Kernel, overlaps: Overlaps, dtype: str, n_threads: int | None = None
) -> Matrix:
    """The (m, m) normalised kernel matrix; a few rows at a time, so that doubles take no room."""
    from .._compiled.correction import put

    m, sizes, counts = overlaps.items, overlaps.sizes, overlaps.filled()
    out, tables = np.empty((m, m), dtype), dict[Any, Any]()
    with threads(n_threads), variables_are_users(), np.errstate(all="ignore"):
        for first in range(0, m, _ROWS):
            part = slice(first, first + _ROWS)
            users = np.asarray(overlaps.n), sizes[part, None], sizes[None, :]
            values = kernel.cosines_of(Pairs(*users, counts[part], tables), checked=True)
            put(out.reshape(-1), first * m, values.reshape(-1))
    np.fill_diagonal(out, 1.0)
    return out


def invert(model: str, matrix: Matrix, reg: float) -> Floats:
    """Put the inverse of matrix + reg·I, both by their upper triangles; gives its diagonal.

    BLAS decides itself how many threads it takes, and the last digits may depend on that.
    """
    from scipy.linalg import lapack

    single = matrix.dtype == np.float32
    factor, inverse = (lapack.spotrf, lapack.spotri) if single else (lapack.dpotrf, lapack.dpotri)
    diagonal = np.einsum("ii->i", matrix)
    diagonal += reg
    # LAPACK reads columns, so our upper triangle is its lower one.
    _, failed = factor(matrix.T, lower=1, clean=0, overwrite_a=1)
    least, most = diagonal.min(), diagonal.max()
    # The squared ratio is at least as large as the reciprocal of the condition number.
    if failed or (least / most) ** 2 < len(matrix) * np.finfo(matrix.dtype).eps / 8:
        wider = " or dtype='float64'" if single else ""
        raise ParameterError(
            f"reg={reg:g} of {model} leaves the matrix of items singular, or nearly so; use a "
            f"larger reg{wider}"
        )
    inverse(matrix.T, lower=1, overwrite_c=1)
    return np.array(diagonal, np.float64)


class CountsInverse(Recommender):
    """A model that is the inverse of the numbers of shared users, with rows and columns scaled."""

    def __init__(
        self, reg: float = 500.0, dtype: str = "float64", n_threads: int | None = None
    ) -> None:
        self.reg = reg
        self.dtype = dtype
        self.n_threads = n_threads

    @abstractmethod
    def _scaling(self, diagonal: Floats) -> tuple[Floats, Floats]:
        """What the columns of the inverse are multiplied by, and the weights' own diagonal."""

    def fit(self, interactions: Interactions, overlaps: Overlaps | None = None) -> Self:
        """Count the overlaps of items and invert them; gives the model itself.

        Several models on the same interactions can share their ``overlaps``.
        """
        name, data = type(self).__name__, self._given(interactions)
        reg = number(name, "reg", self.reg)
        check_room(name, len(data.items), self.dtype)
        counted = checked_overlaps(data, overlaps, self.n_threads)
        matrix = counts_of(counted, self.dtype, self.n_threads)
        del counted
        scaling = self._scaling(invert(name, matrix, reg))
        self._weights = ItemWeights.of(matrix, *scaling, n_threads=self.n_threads)
        self._interactions = data
        return self

    def _scored(self, profiles: Profiles) -> Floats:
        return self._weights.scores(profiles, self.n_threads)
