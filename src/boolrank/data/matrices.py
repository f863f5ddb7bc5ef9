"""Interactions in dense and sparse matrices: their nonzero cells."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import sparray, spmatrix

    MatrixLike = ArrayLike | sparray[Any, Any] | spmatrix[Any]

Ids = Sequence[Hashable] | None
Ints = NDArray[np.int64]


def read_matrix(
    matrix: MatrixLike, users: Ids, items: Ids
) -> tuple[Vocabulary, Vocabulary, Ints, Ints]:
    """Return users, items, and the row and column number of each nonzero cell."""
    from scipy.sparse import coo_array

    unchecked: Any = matrix
    try:
        cells = coo_array(unchecked)
    except (TypeError, ValueError) as error:
        raise InputError(f"{type(matrix).__name__} is not a matrix: {error}") from None
    if cells.ndim != 2:
        raise InputError(f"a matrix of users and items has 2 dimensions, not {cells.ndim}")
    cells.sum_duplicates()
    nan = np.flatnonzero(cells.data != cells.data)  # True for NaN
    if len(nan):
        row, column = int(cells.row[nan[0]]), int(cells.col[nan[0]])
        raise InputError(
            f"the matrix has {len(nan):,} NaN, the first in row {row}, column {column}",
            hint="put 0 where there is no interaction",
        )
    some = cells.data != 0
    names, rows = _side(users, "user", cells.shape[0])
    titles, columns = _side(items, "item", cells.shape[1])
    return names, titles, rows[cells.row[some]], columns[cells.col[some]]


def _side(given: Ids, kind: str, size: int) -> tuple[Vocabulary, Ints]:
    """Return the ids of the rows or columns of a matrix, by default their numbers."""
    names, numbers = Vocabulary.of(np.arange(size) if given is None else given, kind)
    if len(numbers) != size:
        raise InputError(f"the matrix has {size} {kind}s, but {len(numbers)} ids are given")
    if len(names) != size:
        raise InputError(f"the ids of {kind}s are not distinct", parameter=f"{kind}s")
    return names, numbers
