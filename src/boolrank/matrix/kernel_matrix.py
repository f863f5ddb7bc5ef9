"""The normalised kernel matrix of items, in the storage that is faster or fits.

Two items without a common user have a value that depends on their sizes alone, so

    K = P·B·Pᵀ + S,   B[a, b] = κ(a, b, 0; n),   S_ij = κ(x_i, x_j, c_ij; n) - B[x_i, x_j],

with P from items to the few distinct sizes ("classes"), and S zero unless the items share a user.
This is exact for every kernel, and never needs m × m numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._memory import free_memory, size
from ..counts.overlaps import Overlaps
from ..errors import MatrixTooLargeError, ParameterError
from ..kernels import Kernel
from .base import ItemMatrix
from .compressed import CompressedMatrix
from .dense import DenseMatrix

STORAGES = ("auto", "compressed", "dense")


@dataclass(frozen=True)
class Estimate:
    """Cost of each storage: bytes, and steps to score one item of a profile."""

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
            f"dense: {size(self.dense_bytes)}, {self.dense_steps:,.0f} steps per item; "
            f"compressed: {size(self.compressed_bytes)}, {self.compressed_steps:,.0f} steps per "
            f"item; faster: {self.chosen}"
        )


def kernel_matrix(
    kernel: Kernel, overlaps: Overlaps, storage: str = "auto", limit: int | None = None
) -> ItemMatrix:
    """Return the normalised kernel matrix of items.

    Parameters
    ----------
    storage : ``"auto"`` for the one estimated to be faster, ``"dense"`` or ``"compressed"``
    limit : bytes that it may take; by default, those that are free on this machine
    """
    if storage not in STORAGES:
        raise ParameterError(
            f"storage is one of {', '.join(STORAGES)}, not {storage!r}", parameter="storage"
        )
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
            f"a {chosen} kernel matrix of {overlaps.items:,} items takes {size(needed[chosen])}, "
            f"and {size(available)} are free",
            hint=f"{other}leave out the rarest items or the most active users",
            parameter="storage",
        )
    return (DenseMatrix if chosen == "dense" else CompressedMatrix).of(kernel, overlaps)
