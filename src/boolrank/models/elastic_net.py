"""Elastic nets: every item as a sparse sum of others, in one or several models at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from .._memory import require_memory
from ..data.rows import Rows
from ..errors import ConvergenceWarning
from ..table import counted
from .scorer import Floats

# Weights that are solved for at once: 8 MB.
_BLOCK = 1 << 20
# Steps, as parts of the target's length: descent ends below, and a last one above is reported.
_TOLERANCE, _LOOSE = 1e-9, 1e-6


class Operators(NamedTuple):
    """Sparse operators of several models, whose rows follow each other.

    Row i of model p is ``columns`` and ``values`` from ``indptr[p, i]`` to ``indptr[p, i + 1]``.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Floats

    @staticmethod
    def empty(models: int, items: int) -> Operators:
        """Return operators without weights."""
        return Operators(
            np.zeros((models, items + 1), np.int64), np.empty(0, np.int32), np.empty(0)
        )

    @staticmethod
    def of_columns(blocks: list[Any], models: int, items: int) -> Operators:
        """Return the operators whose columns are the rows of sparse blocks."""
        turned: Any = csr_array(vstack(blocks, format="csr").T)
        turned.sort_indices()
        starts = turned.indptr.astype(np.int64)
        indptr = np.stack([starts[p * items : (p + 1) * items + 1] for p in range(models)])
        return Operators(indptr, turned.indices.astype(np.int32), turned.data)

    def dense_columns(self, targets: NDArray[np.int64]) -> Floats:
        """(targets, models × items) Return some columns."""
        models, items = len(self.indptr), self.indptr.shape[1] - 1
        starts = np.append(self.indptr[:, :-1].ravel(), self.indptr[-1, -1])
        stacked = csr_array((self.values, self.columns, starts), shape=(models * items, items))
        return np.ascontiguousarray(stacked[:, targets].toarray().T)


class Subsets(NamedTuple):
    """Users in several subsets, with the share of the model of all users in their scores."""

    numbers: NDArray[np.int64]
    shares: Floats

    @staticmethod
    def none(users: int) -> Subsets:
        """Return users whose scores are those of the model of all."""
        return Subsets(np.zeros(users, np.int64), np.ones(users))


@dataclass(frozen=True)
class ElasticNet:
    """Costs of weights: on their sum and on half of their squares, for each model.

    The first model is that of all users; others are those of subsets.
    """

    l1: tuple[float, ...]
    l2: tuple[float, ...]
    positive: bool
    neighbours: int | None

    def solve(
        self,
        rows: Rows,
        items: int,
        subsets: Subsets,
        start: Operators,
        tolerance: float = _TOLERANCE,
    ) -> Operators:
        """Return the weights of all items; the descent begins with those of ``start``."""
        from .._compiled.slim import descend

        gram = _products(rows, items, subsets, len(self.l1) - 1)
        diagonals = np.diagonal(gram, axis1=1, axis2=2).astype(np.float64)
        squares = np.concatenate((diagonals[0], *diagonals[len(self.l1) :]))
        costs = np.array(self.l1), np.array(self.l2), self.positive
        blocks, steps = [], np.zeros(items)
        for targets in np.array_split(np.arange(items), -(-items * len(squares) // _BLOCK)):
            block, last = start.dense_columns(targets), np.zeros(len(targets))
            descend((block, last), targets, squares, gram, costs, tolerance)
            steps[targets] = last
            blocks.append(csr_array(self._kept(block.reshape(-1, items)).reshape(block.shape)))
            if len(blocks) == 1:
                weights = blocks[0].nnz * items // len(targets)
                require_memory(
                    12 * weights + 16 * min(_BLOCK, items**2),
                    f"about {weights:,} weights of {items:,} items take",
                    hint="set neighbours, raise reg or l1_ratio, or leave out the rarest items",
                )
        steps /= np.sqrt(np.maximum(np.bincount(rows.indices, minlength=items), 1))
        loose = steps[steps > max(_LOOSE, tolerance)]
        if len(loose):
            warnings.warn(
                f"the weights of {counted(len(loose), 'item')} still moved by {loose.max():.1e} "
                "when learning ended; a larger reg makes them well-defined",
                ConvergenceWarning,
                stacklevel=4,
            )
        return Operators.of_columns(blocks, len(self.l1), items)

    def _kept(self, weights: Floats) -> Floats:
        """Return the largest weights of each row, with 0 in place of others."""
        if self.neighbours is not None and self.neighbours < weights.shape[1]:
            sizes = np.abs(weights)
            least = -np.partition(-sizes, self.neighbours - 1)[:, self.neighbours - 1]
            weights[sizes < least[:, None]] = 0.0
        return weights


def _products(rows: Rows, items: int, subsets: Subsets, local: int) -> NDArray[np.float32]:
    """(1 + 2·local, items, items) Return the products of features; see `_compiled.slim`.

    Sums are made in double precision. Counts of users stay exact up to 2^24.
    """
    from .._compiled.rows import transposed
    from .._compiled.slim import fill_products

    matrices, (numbers, g) = 1 + 2 * local, subsets
    require_memory(
        4 * matrices * items**2 + 32 * min(_BLOCK, items**2),
        f"the shared users of {items:,} items, {matrices} times, take",
        hint=f"{'use fewer subsets, ' if local else ''}leave out the rarest items, or fit "
        "ease(storage=sparse)",
    )
    first, users, _ = transposed(*rows, items)
    out = np.empty((matrices, items, items), np.float32)
    weights = [g**2]
    weights += [np.where(numbers == p, g * (1 - g), 0.0) for p in range(local)]
    weights += [np.where(numbers == p, (1 - g) ** 2, 0.0) for p in range(local)]
    for matrix, each in zip(out, weights, strict=True):
        fill_products(matrix, first, users, *rows, each)
    return out
