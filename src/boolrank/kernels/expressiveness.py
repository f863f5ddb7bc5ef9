"""Expressiveness of a kernel on data: the spectral ratio, from counts, and the rank.

    C(K) = trace(K) / ‖K‖_F,  between 1 (all vectors equal) and √m (all orthogonal),

and its form (C - 1) / (√m - 1) in [0, 1]. Values depend on the counts of a pair only, so distinct
counts and their frequencies are enough: no kernel matrix is built, and a sweep over arities counts
the pairs once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from . import Kernel, parse_kernel
from .binary_matrix import active, as_binary, overlap_counts
from .counts import Counts, Pairs
from .wide import times_two_to

if TYPE_CHECKING:
    from ..data.events import MatrixLike

# Elements of a block of overlap counts: 64 MB with all its temporaries.
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class PairSpectrum:
    """The distinct counts of the pairs of rows of a binary matrix, and their numbers.

    >>> spectrum = PairSpectrum.of([[1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1]])
    >>> [round(spectrum.ratio(f"normalized({name})"), 3) for name in ("linear", "monotone_dnf")]
    [0.356, 0.657]
    """

    n: int  # variables, the columns
    m: int  # vectors, the rows
    sizes: NDArray[np.int64]  # distinct numbers of active variables
    vectors: NDArray[np.int64]  # rows of each size
    # Distinct counts of unordered pairs of different rows, and the number of each.
    x: NDArray[np.int64]
    z: NDArray[np.int64]
    c: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @staticmethod
    def of(X: MatrixLike) -> PairSpectrum:
        """Count the pairs of rows of a binary matrix, dense or sparse, block by block."""
        rows = as_binary(X, "X")
        (m, n), own = rows.shape, active(rows)
        sizes, classes, vectors = np.unique(own, return_inverse=True, return_counts=True)
        p, span = len(sizes), int(sizes[-1]) + 1
        keys, numbers = np.empty((2, 0), np.int64)
        step = max(1, _BLOCK // m)
        for start in range(0, m, step):
            common = overlap_counts(rows[start : start + step], rows)
            i, j = np.triu_indices(len(common), start + 1, m)
            a, b = classes[i + start], classes[j]
            both = np.minimum(a, b) * p + np.maximum(a, b)
            found = np.unique(both * span + common[i, j].astype(np.int64), return_counts=True)
            keys, inverse = np.unique(np.concatenate((keys, found[0])), return_inverse=True)
            weights = np.concatenate((numbers, found[1]))
            numbers = np.bincount(inverse, weights=weights, minlength=len(keys)).astype(np.int64)
        both, c = np.divmod(keys, span)
        return PairSpectrum(n, m, sizes, vectors, sizes[both // p], sizes[both % p], c, numbers)

    def ratio(self, kernel: Kernel | str, normalized: bool = True) -> float:
        """Compute the spectral ratio of a kernel on these vectors; if ``normalized``, in [0, 1]."""
        kernel = parse_kernel(kernel)
        with np.errstate(all="ignore"):
            diagonal = kernel.own_value(Counts.of_vectors(self.n, self.sizes))
            # κ(x, z)² = cosine²·κ(x, x)·κ(z, z); the ratio does not depend on the scale.
            scaled = times_two_to(diagonal.hi, diagonal.exp - diagonal.exp.max())
            cosines = kernel.cosines_of(Pairs(np.asarray(self.n), self.x, self.z, self.c))
        trace = float(scaled @ self.vectors)
        if trace == 0:
            raise InputError(
                f"all vectors are null under {kernel}, so it has no spectral ratio",
                hint="use its .normalized() form or a smaller arity",
            )
        x, z = (scaled[np.searchsorted(self.sizes, side)] for side in (self.x, self.z))
        weights = self.pairs * x * z
        squares = float((scaled**2) @ self.vectors + 2 * (cosines**2 @ weights))
        value = trace / sqrt(squares)
        if not normalized:
            return value
        # Rounding may exceed the bounds by the last digit.
        return 1.0 if self.m == 1 else min(max((value - 1) / (sqrt(self.m) - 1), 0.0), 1.0)


def spectral_ratio(
    kernel: Kernel | str, X: MatrixLike | PairSpectrum, normalized: bool = True
) -> float:
    """Compute the expressiveness of a kernel, usually normalised, on rows of a binary matrix.

    Returns (C - 1)/(√m - 1), from 0 for equal vectors to 1 for orthogonal ones; with
    ``normalized=False``, C = trace / Frobenius norm.

    >>> from boolrank import Conjunctive, Disjunctive, Linear
    >>> X = [[1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1]]
    >>> [
    ...     round(spectral_ratio(k.normalized(), X), 3)
    ...     for k in (Disjunctive(2), Linear(), Conjunctive(2))
    ... ]
    [0.0, 0.356, 0.774]
    """
    spectrum = X if isinstance(X, PairSpectrum) else PairSpectrum.of(X)
    return spectrum.ratio(kernel, normalized)


def kernel_rank(kernel: Kernel | str, X: MatrixLike) -> int:
    """Compute the rank of the Gram matrix: the number of rows that a linear separator shatters.

    All eigenvalues are computed: a minute for 4096 rows.

    >>> from boolrank import Linear, MonotoneDNF
    >>> X = [[1, 0], [0, 1], [1, 1]]
    >>> kernel_rank(Linear(), X), kernel_rank(MonotoneDNF(), X)
    (2, 3)
    """
    return int(np.linalg.matrix_rank(parse_kernel(kernel)(X), hermitian=True))
