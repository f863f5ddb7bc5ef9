"""How expressive a kernel is on given data: the spectral ratio, from counts, and the rank.

    C(K) = trace(K) / ‖K‖_F,  between 1 (all vectors alike) and √m (all orthogonal),

and its form (C - 1) / (√m - 1) in [0, 1]. Both sums run over pairs of vectors, and a kernel's value
depends on the counts of a pair alone, so it is enough to know how often each counts occur: no
matrix of kernel values is built, and a sweep over arities counts the pairs once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from . import Kernel, parse_kernel
from .binary import Binary, as_binary, overlap_counts
from .counts import Counts, Pairs
from .evaluate import FEW_PAIRS
from .wide import Wide, times_two_to

if TYPE_CHECKING:
    from ..data.interactions import MatrixLike

# Elements of a block of overlap counts: with all that is made of them, 64 MB.
_BLOCK = 1 << 20
# Rows up to which the rank is computed: the matrix takes 128 MB there, its eigenvalues a minute.
_MOST_FOR_RANK = 4096


@dataclass(frozen=True, eq=False)
class PairSpectrum:
    """How often each counts occur among the pairs of rows of a binary matrix.

    Attributes
    ----------
    n, m : number of variables (columns) and of vectors (rows)
    sizes, vectors : distinct numbers of active variables, and how many rows have each
    x, z, c, pairs : distinct counts of unordered pairs of different rows, and how many have each

    >>> spectrum = PairSpectrum.of([[1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1]])
    >>> [round(spectrum.ratio(f"normalized({name})"), 3) for name in ("linear", "monotone_dnf")]
    [0.356, 0.657]
    """

    n: int
    m: int
    sizes: NDArray[np.int64]
    vectors: NDArray[np.int64]
    x: NDArray[np.int64]
    z: NDArray[np.int64]
    c: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @staticmethod
    def of(X: MatrixLike) -> PairSpectrum:
        """Count the pairs of rows of a binary matrix, dense or sparse, block by block."""
        rows = as_binary(X, "X")
        m, n = rows.shape
        sizes, classes, vectors = np.unique(rows.sums, return_inverse=True, return_counts=True)
        p, span = len(sizes), int(sizes[-1]) + 1
        tally = _Tally()
        step = max(1, _BLOCK // m)
        for start in range(0, m, step):
            stop = min(start + step, m)
            block = Binary(rows.matrix[start:stop], rows.sums[start:stop])
            i, j, c = _later_pairs(overlap_counts(block, rows), start)
            low, high = np.minimum(classes[i], classes[j]), np.maximum(classes[i], classes[j])
            tally.add(*_counted((low * p + high) * span + c))
        keys, numbers = tally.total()
        zero_keys, zero_numbers = _disjoint_pairs(vectors, keys // span, numbers, p)
        keys = np.concatenate((keys, zero_keys * span))
        numbers = np.concatenate((numbers, zero_numbers))
        both, c = np.divmod(keys, span)
        return PairSpectrum(n, m, sizes, vectors, sizes[both // p], sizes[both % p], c, numbers)

    def ratio(self, kernel: Kernel | str, normalized: bool = True) -> float:
        """The spectral ratio of a kernel on these vectors; with ``normalized``, in [0, 1]."""
        kernel = parse_kernel(kernel)
        own = Wide.of(self.sizes)
        with np.errstate(all="ignore"):
            diagonal = kernel.own_value(Counts(Wide.of(self.n), own, own, own))
            # κ(x, z)² = cosine²·κ(x, x)·κ(z, z), and the ratio does not depend on the scale.
            scaled = times_two_to(diagonal.hi, diagonal.exp - diagonal.exp.max())
            cosines = kernel.cosines_of(Pairs(np.asarray(self.n), self.x, self.z, self.c), True)
        trace = float(scaled @ self.vectors)
        if trace == 0:
            raise InputError(
                f"all vectors are null under {kernel}, so it has no spectral ratio; "
                "use its .normalized() form or a smaller arity"
            )
        x, z = (scaled[np.searchsorted(self.sizes, side)] for side in (self.x, self.z))
        weights = self.pairs * x * z
        squares = float((scaled**2) @ self.vectors + 2 * (cosines**2 @ weights))
        value = trace / sqrt(squares)
        if not normalized:
            return value
        # Rounding may lead past the bounds by the last digit.
        return 1.0 if self.m == 1 else min(max((value - 1) / (sqrt(self.m) - 1), 0.0), 1.0)


def spectral_ratio(
    kernel: Kernel | str, X: MatrixLike | PairSpectrum, normalized: bool = True
) -> float:
    """How expressive a kernel is on the rows of a binary matrix.

    Parameters
    ----------
    kernel : the kernel or its text, most often its ``.normalized()`` form
    X : (m, n) matrix of 0 and 1, dense or sparse, or a `PairSpectrum` of one
    normalized : True for (C - 1)/(√m - 1), from 0 for vectors all alike to 1 for orthogonal ones;
        False for the plain ratio C = trace / Frobenius norm

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


def kernel_rank(kernel: Kernel | str, X: MatrixLike, tolerance: float | None = None) -> int:
    """Numerical rank of the Gram matrix: how many of the rows a linear separator can shatter.

    Parameters
    ----------
    kernel : the kernel or its text, most often its ``.normalized()`` form
    X : (m, n) matrix of 0 and 1 with at most 4096 rows
    tolerance : eigenvalues up to this one count as 0; the default is numpy's for the matrix

    >>> from boolrank import Linear, MonotoneDNF
    >>> X = [[1, 0], [0, 1], [1, 1]]
    >>> kernel_rank(Linear(), X), kernel_rank(MonotoneDNF(), X)
    (2, 3)
    """
    rows = as_binary(X, "X")
    if rows.shape[0] > _MOST_FOR_RANK:
        raise InputError(
            f"the rank needs all eigenvalues of a matrix of {rows.shape[0]} rows; take a sample of "
            f"at most {_MOST_FOR_RANK} rows, or use spectral_ratio, which needs no matrix"
        )
    return int(np.linalg.matrix_rank(parse_kernel(kernel)(X), tol=tolerance, hermitian=True))


def _later_pairs(
    block: NDArray[Any], start: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Pairs (i, j) with j > i and something in common, of a block of rows that begins at a row."""
    i, j = np.nonzero(block)
    later = j > i + start
    i, j = i[later], j[later]
    return i + start, j, block[i, j].astype(np.int64)


def _counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each key once, and how often it occurs."""
    if len(keys) <= FEW_PAIRS:
        return np.unique(keys, return_counts=True)
    from .._compiled.distinct import distinct_keys

    first, inverse = distinct_keys(keys)
    return keys[first], np.bincount(inverse)


class _Tally:
    """Numbers by key, block after block; added up whenever the new ones outgrow the old."""

    def __init__(self) -> None:
        self.keys, self.numbers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        self.waiting = 0

    def add(self, keys: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        self.keys.append(keys)
        self.numbers.append(numbers)
        self.waiting += len(keys)
        if self.waiting > max(len(self.keys[0]), _BLOCK):
            self.total()

    def total(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each key once, in order, and the sum of its numbers."""
        keys, inverse = np.unique(np.concatenate(self.keys), return_inverse=True)
        weights = np.concatenate(self.numbers)
        numbers = np.bincount(inverse, weights=weights, minlength=len(keys)).astype(np.int64)
        self.keys, self.numbers, self.waiting = [keys], [numbers], 0
        return keys, numbers


def _disjoint_pairs(
    vectors: NDArray[np.int64], met: NDArray[np.int64], numbers: NDArray[np.int64], p: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of classes, as low·p + high, and how many of their pairs of rows are disjoint.

    ``met`` are the pairs of classes of rows that are not, in order, and ``numbers`` how many.
    """
    met, first = np.unique(met, return_index=True)
    seen = np.add.reduceat(numbers, first) if len(first) else numbers
    keys, found = [], []
    for low in range(p):
        rest = vectors[low] * vectors[low:]
        rest[0] = vectors[low] * (vectors[low] - 1) // 2
        start = low * p + low
        part = slice(*np.searchsorted(met, (start, low * p + p)))
        rest[met[part] - start] -= seen[part]
        some = np.flatnonzero(rest)
        keys.append(start + some)
        found.append(rest[some])
    return np.concatenate(keys), np.concatenate(found)
