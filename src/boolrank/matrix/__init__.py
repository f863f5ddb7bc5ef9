"""KernelMatrix: the normalised item-item matrix, dense or as background plus correction.

Two items without a common user have a value that depends on their sizes alone, so

    K = P·B·Pᵀ + S,   B[a, b] = κ(a, b, 0; n),   S_ij = κ(x_i, x_j, c_ij; n) - B[x_i, x_j],

with P from items to the few distinct sizes ("classes"), and S zero unless the items share a user.
This is exact for every kernel. Both storages answer the same questions:

- ``means``: the mean of each column without its diagonal (which is 1 for every item, so that it
  moves no score and no weight; left in, it would swallow the small values of expressive kernels);
- ``row``: one row; ``nearness``: its order, to more digits than it has; ``terms``: what a
  profile's score of an item is made of; ``frobenius``: the norm, for the spectral ratio;
- ``arrays``: what the compiled loops over many profiles need (:func:`compiled_arrays`).

Values of very expressive kernels may be smaller than any double. Then each column is scaled by
powers of two of its own (:class:`Scale`): the scores of an item are computed from its column alone,
so nothing that matters is lost, and only comparing scores has to look at the exponents. And values
of very coarse kernels may differ past the last digit of a double near 1: then the matrix is held
with another origin (:mod:`boolrank.matrix.origin`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._memory import free_memory, size
from ..counts.overlaps import Overlaps
from ..errors import MatrixTooLargeError, ParameterError
from ..kernels import Kernel
from .compressed import CompressedMatrix
from .dense import DenseMatrix
from .scale import Scale

if TYPE_CHECKING:
    from .._compiled.matrix import Arrays

__all__ = [
    "STORAGES",
    "CompressedMatrix",
    "DenseMatrix",
    "Estimate",
    "KernelMatrix",
    "Scale",
    "compiled_arrays",
    "kernel_matrix",
]

STORAGES = ("auto", "compressed", "dense")


@dataclass(frozen=True)
class Estimate:
    """What each storage would take: bytes held, and steps to score one item of a profile."""

    dense_bytes: int
    compressed_bytes: int
    dense_steps: float
    compressed_steps: float

    @staticmethod
    def of(overlaps: Overlaps) -> Estimate:
        m, pairs = overlaps.items, overlaps.pairs
        classes = len(np.unique(overlaps.sizes))
        # A scattered addition costs about six streamed ones (measured: 2.4 ns against 0.4 ns).
        scattered = 6.0 * pairs / max(m, 1)
        return Estimate(8 * m * m, 12 * pairs + 8 * classes**2 + 20 * m, float(m), scattered)

    @property
    def chosen(self) -> str:
        return "dense" if self.dense_steps <= self.compressed_steps else "compressed"

    def __str__(self) -> str:
        return (
            f"dense: {size(self.dense_bytes)}, {self.dense_steps:,.0f} steps an item; "
            f"compressed: {size(self.compressed_bytes)}, {self.compressed_steps:,.0f} steps an "
            f"item; faster: {self.chosen}"
        )


KernelMatrix = DenseMatrix | CompressedMatrix

_NONE: dict[str, Any] = {
    "dense": np.empty((0, 0)),
    "background": np.empty((0, 0)),
    "share": np.empty(0),
    "classes": np.empty(0, np.int32),
    "indptr": np.empty(0, np.int64),
    "columns": np.empty(0, np.int32),
    "values": np.empty(0),
}


def compiled_arrays(matrix: KernelMatrix) -> Arrays:
    """The matrix as compiled loops take it: what the other storage has is empty."""
    from .._compiled.matrix import Arrays

    arrays = _NONE | matrix.arrays
    # Places that cannot be negative need no look whether they count from the end: a tenth faster.
    unsigned = {name: arrays[name].view(np.uint32) for name in ("classes", "columns")}
    return Arrays(**(arrays | unsigned), **matrix.scale._asdict(), floor=matrix.scale.floor)


def kernel_matrix(
    kernel: Kernel, overlaps: Overlaps, storage: str = "auto", limit: int | None = None
) -> KernelMatrix:
    """The normalised kernel matrix of items, in the storage asked for or estimated to be faster.

    Parameters
    ----------
    limit : most bytes that it may take; what is free on this machine where not given
    """
    if storage not in STORAGES:
        raise ParameterError(f"storage is one of {', '.join(STORAGES)}, not {storage!r}")
    estimate = Estimate.of(overlaps)
    needed = {"dense": estimate.dense_bytes, "compressed": estimate.compressed_bytes}
    smaller = min(needed, key=needed.__getitem__)
    available = free_memory() if limit is None else limit
    chosen = estimate.chosen if storage == "auto" else storage
    if storage == "auto" and needed[chosen] > available:
        chosen = smaller
    if needed[chosen] > available:
        other = f"use storage={smaller!r}, or " if smaller != chosen else ""
        raise MatrixTooLargeError(
            f"a {chosen} kernel matrix of {overlaps.items:,} items would take "
            f"{size(needed[chosen])}, and there are {size(available)}; {other}leave out the "
            "rarest items or the most active users"
        )
    return (DenseMatrix if chosen == "dense" else CompressedMatrix).of(kernel, overlaps)
