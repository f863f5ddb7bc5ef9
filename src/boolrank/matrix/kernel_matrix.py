"""The normalised kernel matrix of items, in the storage that is faster or fits.

Two items without a common user have a value that depends on their sizes alone, so

    K = P·B·Pᵀ + S,   B[a, b] = κ(a, b, 0; n),   S_ij = κ(x_i, x_j, c_ij; n) - B[x_i, x_j],

with P from items to the few distinct sizes ("classes"), and S zero unless the items share a user.
With weighted users, P·B·Pᵀ is a product of low rank. Tags add a part P·V·Pᵀ over distinct sets.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._memory import free_memory, require_memory
from ..counts.overlaps import Overlaps, prefers_dense
from ..errors import ParameterError
from ..kernels import Kernel, Linear
from ..kernels.terms import Terms
from .base import ItemMatrix
from .pairs import CHUNK
from .storages import CompressedMatrix, DenseMatrix
from .tag_part import TagPart, Tags

STORAGES = ("auto", "compressed", "dense")


def kernel_matrix(
    kernel: Kernel,
    overlaps: Overlaps,
    storage: str = "auto",
    tags: Mapping[str, Tags] | None = None,
    *,
    plain: bool = False,
) -> ItemMatrix:
    """Return the normalised kernel matrix of items.

    ``tags`` has the tags of items by column, for terms that are bound to one. Storage ``"auto"`` is
    the one estimated to be faster. ``plain`` values are neither scaled nor centred.
    """
    if storage not in STORAGES:
        raise ParameterError(
            f"storage is one of {', '.join(STORAGES)}, not {storage!r}", parameter="storage"
        )
    terms = Terms.of(kernel)
    part = TagPart.of(terms, tags or {}) if terms.bound else None
    if terms.users is None:  # null vectors over users
        overlaps = Overlaps.of_disjoint(np.zeros(overlaps.items, np.int64))
    m, pairs = overlaps.items, overlaps.pairs
    # A table by size, or two factors of about 20 columns; and one by sets of tags.
    background = 8 * len(np.unique(overlaps.sizes)) ** 2 if overlaps.weighting is None else 320 * m
    background += 0 if part is None else 8 * len(part.first) ** 2
    values = 8 * pairs + overlaps.rows_size + 50 * min(pairs, CHUNK)
    needed = {"dense": 8 * m * m, "compressed": values + background + 20 * m}
    smaller = min(needed, key=needed.__getitem__)
    if overlaps.in_files:
        return CompressedMatrix.of(terms.users or Linear(), overlaps, plain=plain)
    if storage == "auto":
        faster = "dense" if prefers_dense(m, pairs) else "compressed"
        storage = faster if needed[faster] <= free_memory() else smaller
    other = f"use storage={smaller!r}, or " if smaller != storage else ""
    require_memory(
        needed[storage],
        f"a {storage} kernel matrix of {m:,} items takes",
        hint=f"{other}leave out the rarest items or the most active users",
        parameter="storage",
    )
    matrix = DenseMatrix if storage == "dense" else CompressedMatrix
    return matrix.of(terms.users or Linear(), overlaps, part, plain=plain or part is not None)
