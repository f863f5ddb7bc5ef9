"""SpectralRanker: a neighbourhood model, a low-pass filter and a sharpening filter in one operator.

With K the kernel matrix of items, λ and V its largest eigenvalues and their vectors, λ_1 the first,
d the numbers of users of items, and x a profile,

    S     = D^(½-input_exponent)·K·D^(½-output_exponent)
    b     = x·S/λ_1 + low_pass·x·D^-½·V·Vᵀ·D^½
    score = b - sharpening·(b·V)·diag(λ/λ_1)·Vᵀ.

The first term counts neighbours; ``locality`` is a power of each element of S. The second adds what
they share at large: the projection on the leading eigenvectors. Sharpening takes back a part of
what is common to all, as one backward step of a diffusion does. Nothing is trained: b is linear in
x, so everything with V folds into two m × 2r factors, and the operator is sparse + low rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._memory import require_memory
from ..counts.overlaps import Overlaps
from ..counts.weighting import user_weights
from ..data.interactions import Interactions
from ..engines.threads import one_blas_thread
from ..errors import InputError, ParameterError
from ..kernels import Kernel, Linear, parse_kernel
from ..matrix import CompressedMatrix
from ..storage.disk_array import mapped
from .parameters import (
    activity_cap_param,
    param,
    recency_param,
    threads_param,
    user_exponent_param,
)
from .profiles import Profiles
from .recommender import Recommender
from .scorer import Floats
from .search import Real, Whole
from .spectral_scorer import SpectralScorer
from .subspace import Block, Singles, balanced, eigenvectors, weighted_gram

# Columns that are multiplied at once.
_COLUMNS = 64
# Eigenvalues of the background below this part of the largest are rounding errors.
_ROUNDING = 1e-14


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
    locality : power of the similarities of two items, for the linear kernel; above 1, the nearest
        items count more
    low_pass : weight of the projection on the leading eigenvectors; if this and ``sharpening`` are
        0, none are computed, and scores are not divided by λ_1
    sharpening : weight of the part of the leading eigenvectors that is taken back
    rank : number of eigenvectors
    rng : seed of the random subspace
    recency : half-life of the weights of a user's items, in events, or in days as ``"30d"``
    activity_cap : users with more items than this are not counted, an approximation that saves
        most steps; they are ranked by all their items
    n_threads : threads of loops and of products

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> SpectralRanker().fit(data).recommend([3], n=2).lists()
    [['a', 'c']]
    """

    uses_overlaps: ClassVar[bool] = True
    scales: ClassVar[bool] = True
    scorers: ClassVar = (SpectralScorer,)

    kernel: Kernel | str = param("linear")
    user_exponent: float = user_exponent_param(0.75)
    input_exponent: float = param(0.5, low=-10, high=10, search=Real(0.2, 0.8))
    output_exponent: float = param(0.3, low=-10, high=10, search=Real(0.0, 0.6))
    # Not searched: 30 trials over one more range found worse settings on two sets.
    locality: float = param(1.0, low=0.01, high=100)
    low_pass: float = param(0.2, low=0, high=1e6, search=Real(0.0, 1.0))
    sharpening: float = param(1.0, low=0, high=1e6, search=Real(0.0, 2.5))
    rank: int = param(256, low=1, search=Whole(32, 512, log=True))
    rng: int = param(0, low=0)
    recency: float | str = recency_param()
    activity_cap: int | None = activity_cap_param()
    n_threads: int | None = threads_param()

    def memory_beside_pairs(self, users: int, items: int) -> int:
        """Return the bytes of blocks of vectors, and of a few columns of them by user."""
        return 48 * min(self.rank, items) * items + 256 * users

    def needs_pairs(self) -> str:
        """Return why a fit needs all pairs in memory."""
        return "" if parse_kernel(self.kernel) == Linear() else "counts in files are linear kernels"

    def _learn(self, data: Interactions, overlaps: Overlaps | None) -> SpectralScorer:
        counts = overlaps or Overlaps.of(data, user_exponent=self.user_exponent)
        rank = min(self.rank, *data.shape) if self.low_pass or self.sharpening else 0
        kernel = self.kernel_for(len(data.users))
        if self.locality != 1 and kernel != Linear():
            raise ParameterError(
                f"locality={self.locality} needs the linear kernel, not {kernel}",
                hint="set locality=1, or take the linear kernel",
                parameter="locality",
            )
        _check_room(counts, rank, 4 if kernel == Linear() else 12)
        with one_blas_thread():
            matrix = _linear(data, counts) if kernel == Linear() else _of_kernel(kernel, counts)
            return self._filtered(matrix, counts, rank)

    def _filtered(self, matrix: _Matrix, counts: Overlaps, rank: int) -> SpectralScorer:
        """Return the operator of a kernel matrix and its filters."""
        from .._compiled.low_rank import sum_rows
        from .._compiled.weights import fill_similarities

        eigenvalues, vectors, residual = eigenvectors(matrix.times, counts.items, rank, self.rng)
        top = eigenvalues[0] if rank else 1.0
        degrees = np.maximum(counts.degrees, 1.0)
        into = degrees ** (0.5 - self.input_exponent) / top ** (1 / self.locality)
        out = degrees ** (0.5 - self.output_exponent)
        ends = into * matrix.scale, out * matrix.scale

        def fill(values: Singles, rows: slice, *pairs: NDArray[Any]) -> None:
            fill_similarities(values, ends[0][rows], ends[1], self.locality, *pairs)

        if counts.in_files:
            values = mapped(counts.pair_values(fill, "float32"))
        else:
            values = np.empty(len(matrix.columns), np.float32)
            fill(values, slice(None), matrix.indptr, matrix.columns, matrix.values)
        operator = matrix.indptr, mapped(matrix.columns), values
        diagonal = (into * matrix.own * out) ** self.locality
        root, both = np.sqrt(degrees), np.empty_like(vectors, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.locality == 1:  # two passes over the interactions, which are fewer than pairs
                matrix.times((out[:, None] * vectors).astype(np.float32), both)
                both *= into[:, None].astype(np.float32)
            else:
                sum_rows(both, vectors.astype(np.float32), *operator)
                both += (diagonal[:, None] * vectors).astype(np.float32)
        if not np.isfinite(both).all():
            raise InputError(
                "the scores are too large for single precision",
                hint="take exponents nearer to 1/2",
                parameter="output_exponent",
            )
        shared = self.low_pass * weighted_gram(vectors, root)
        taken = -self.sharpening / top * eigenvalues

        def left(part: slice) -> Floats:
            passed = vectors[part] / root[part, None]
            b = both[part] + passed @ shared
            return np.hstack(
                [matrix.left[part] * into[part, None], self.low_pass * passed, b * taken]
            )

        def right(part: slice) -> Floats:
            of_kernel = matrix.right[part] * out[part, None]
            return np.hstack([of_kernel, root[part, None] * vectors[part], vectors[part]])

        return SpectralScorer(*operator, diagonal, *balanced(counts.items, left, right), residual)


class _Matrix(NamedTuple):
    """A kernel matrix in parts: K_ij = scale_i·values_ij·scale_j + left_i·right_j for i ≠ j.

    ``own`` is what is missing on the diagonal, and ``times`` multiplies a block with the whole
    into another.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[Any]
    scale: Floats
    own: Floats
    left: Floats
    right: Floats
    times: Callable[[Block, Block], None]


def _linear(data: Interactions, counts: Overlaps) -> _Matrix:
    """Return the normalised linear kernel; two passes over the interactions multiply with it."""
    from .._compiled.low_rank import sum_rows
    from .._compiled.rows import transposed

    scale = 1 / np.sqrt(np.maximum(counts.sizes, 1.0))
    weights = user_weights(data.rows.lengths, counts.user_exponent)
    start, users, _ = transposed(data.indptr, data.indices, counts.items)

    def times(block: Block, out: Block) -> None:
        of_item, of_user = (each[:, None].astype(block.dtype) for each in (scale, weights))
        for first in range(0, block.shape[1], _COLUMNS):
            part = slice(first, first + _COLUMNS)
            of_items = block[:, part] * of_item
            of_users = np.empty((len(weights), of_items.shape[1]), block.dtype)
            sum_rows(of_users, of_items, *Profiles(*data.rows))
            of_users *= of_user
            sum_rows(of_items, of_users, *Profiles(start, users))
            np.multiply(of_items, of_item, out=out[:, part])

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

    def times(block: Block, out: Block) -> None:
        out[:] = sparse @ block + own[:, None] * block + left @ (right.T @ block)

    return _Matrix(found.indptr, found.columns, found.values, one, own, left, right, times)


def _check_room(counts: Overlaps, rank: int, each: int) -> None:
    # Values of pairs, and six blocks of vectors.
    pairs = 0 if counts.in_files else each * counts.pairs + counts.rows_size
    require_memory(
        pairs + 8 * 6 * rank * counts.items,
        f"the operator of {counts.items:,} items takes",
        hint="take a lower rank, or leave out the rarest items or the most active users",
        parameter="rank",
    )
