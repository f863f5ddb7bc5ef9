"""Models that are the inverse of a matrix of items: filled, inverted and scaled in its place.

One array is the matrix, its inverse and the weights, one after the other; beside it there is never
more than what it is filled from. LAPACK inverts by Cholesky factors (potrf and potri), which need
and give one triangle, so only the upper one is filled; the weights are mirrored from it.

Items that the same users have are alike to such a model, so the array has one row for a group of
them. With E the (m, u) groups of items, N their sizes, M the (u, u) matrix of one item of each and

    Q = (N^½·M·N^½ + reg·I)⁻¹,

the inverse P of E·M·Eᵀ + reg·I has Q[g, h] / √(n_g·n_h) for items of two groups, and for two of the
same group, and an item with itself,

    -(1 - reg·Q[g, g]) / (reg·n_g)   and   Q[g, g] / n_g + (1 - 1/n_g) / reg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._memory import free_memory, size
from ..engines.threads import threads
from ..errors import MatrixTooLargeError, ParameterError
from .item_groups import Alike
from .profiles import Profiles
from .recommender import Floats

__all__ = ["ItemWeights", "check_room", "invert"]

DTYPES = ("float32", "float64")
# Models that have double precision only.
_DOUBLE = ("CfOmd", "MeanRanker")

# Scores are rounded to about 2^-36 of their terms in double precision, and 2^-16 in single: more
# than what an inverse with these digits is off by, so that items which everybody treats alike tie,
# whatever BLAS there is and however many threads it takes.
_GRIDS = {"float32": 2.0**36, "float64": 2.0**16}

Matrix = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """What each item of a profile adds to the score of each item, by their groups.

    Attributes
    ----------
    values : (u, u) for two items, one of the group of the row, the other of that of the column
    own : (u,) for an item itself
    alike : the groups
    """

    values: Matrix
    own: Floats
    alike: Alike

    @staticmethod
    def of(
        inverse: Matrix,
        alike: Alike,
        twins: Floats,
        columns: Floats,
        own: Floats,
        rows: Floats | None = None,
        n_threads: int | None = None,
    ) -> ItemWeights:
        """Weights P[i, j]·rows[g]·columns[h], in the place of Q, which is given by its triangle.

        ``twins`` is P[i, j] of two items of a group; ``own`` replaces the weights on the diagonal.
        """
        from .._compiled.weights import spread

        rows = np.ones(len(inverse)) if rows is None else rows
        diagonal, root = np.where(alike.sizes > 1, twins * rows * columns, own), alike.sizes**0.5
        with threads(n_threads) as count:
            spread(inverse, rows / root, columns / root, diagonal, count)
        return ItemWeights(inverse, own, alike)

    def scores(self, profiles: Profiles, n_threads: int | None = None) -> Floats:
        """(people, m) scores of all items for each profile."""
        from .._compiled.weights import add_up, add_up_own

        (start, own), values, grid = profiles, self.values, _GRIDS[self.values.dtype.name]
        group, first, members = self.alike.group, self.alike.start, self.alike.members
        out = np.empty((len(start) - 1, len(group)))
        with threads(n_threads):
            add_up(out, values, start, group[own], group, first, members, grid)
            add_up_own(out, values, start, own, group, first, self.own, grid)
        return out


def check_room(model: str, items: int, dtype: str, alike: Alike | None = None) -> None:
    """Raise where two matrices of items, of one of each group, would not fit into memory."""
    if dtype not in DTYPES:
        raise ParameterError(f"dtype of {model} is one of {', '.join(DTYPES)}, not {dtype!r}")
    rows = items if alike is None else len(alike.sizes)
    needed, available = 2 * rows**2 * np.dtype(dtype).itemsize, free_memory()
    if needed > available:
        half = "use dtype='float32', " if dtype == "float64" and model not in _DOUBLE else ""
        which = f"{items:,}" if rows == items else f"{rows:,} distinct ones of {items:,}"
        raise MatrixTooLargeError(
            f"{model} on {which} items would take {size(needed)}, for two matrices of all pairs, "
            f"and there are {size(available)}; {half}leave out the rarest items, or use a model "
            "whose matrix is sparse: kernel-ranker, item-knn"
        )


def invert(model: str, matrix: Matrix, reg: float, alike: Alike) -> tuple[Floats, Floats]:
    """Put Q in the place of M, both by their upper triangles.

    Gives (u,) values of P: of an item with itself, and with another of its group (0 for none).
    BLAS decides itself how many threads it takes, and the last digits may depend on that.
    """
    from scipy.linalg import lapack

    single = matrix.dtype == np.float32
    factor, inverse = (lapack.spotrf, lapack.spotri) if single else (lapack.dpotrf, lapack.dpotri)
    sizes = alike.sizes
    several = np.flatnonzero(sizes > 1)
    for g in several:  # one by one, which takes no room
        matrix[g, g:] *= np.sqrt(sizes[g])
        matrix[: g + 1, g] *= np.sqrt(sizes[g])
    for g in several:  # below the diagonal LAPACK leaves them alone
        matrix[g, :g], matrix[g + 1 :, g] = matrix[:g, g], matrix[g, g + 1 :]
    diagonal = np.einsum("ii->i", matrix)
    before = diagonal.copy()
    diagonal += reg
    # LAPACK reads columns, so our upper triangle is its lower one.
    _, failed = factor(matrix.T, lower=1, clean=0, overwrite_a=1)
    # The ratio is at least as large as the reciprocal of the condition number: where items are
    # alike, the matrix of all has the eigenvalue reg too, for their differences.
    least, most = float(diagonal.min()) ** 2, float(diagonal.max()) ** 2
    least = min(least, reg) if len(several) else least
    if failed or least / most < len(matrix) * np.finfo(matrix.dtype).eps / 8:
        wider = " or dtype='float64'" if single else ""
        raise ParameterError(
            f"reg={reg:g} of {model} leaves the matrix of items singular, or nearly so; use a "
            f"larger reg{wider}"
        )
    inverse(matrix.T, lower=1, overwrite_c=1)
    own, twins = np.array(diagonal, np.float64), np.zeros(len(matrix))
    for g in several:
        column = np.concatenate((matrix[:g, g], matrix[g, g:])).astype(np.float64)
        terms = column * np.concatenate((matrix[g, :g], before[g : g + 1], matrix[g + 1 :, g]))
        # Both are 1 - reg·Q[g, g]; a large reg leaves no digits of the one, a small one few of the
        # other.
        left = terms.sum() if np.abs(terms).sum() < 1 else 1 - reg * column[g]
        own[g] = column[g] / sizes[g] + (1 - 1 / sizes[g]) / reg
        twins[g] = -left / (reg * sizes[g])
    return own, twins
