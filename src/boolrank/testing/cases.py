"""Random counts of pairs of binary vectors that cover the corners where formulas break.

Uniformly drawn counts would hardly ever be disjoint, nested, equal, nearly empty, nearly full or
cover all variables, and it is there that terms cancel, underflow or vanish.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_counts"]


def _log_uniform(
    rng: np.random.Generator, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Whole numbers in [low, high], each order of magnitude above low equally likely."""
    drawn = low - 1 + np.exp(rng.random(low.shape) * np.log(high - low + 2.0))
    return np.asarray(np.clip(drawn.astype(np.int64), low, high))


def _sizes(
    rng: np.random.Generator, n: NDArray[np.int64], arity: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many variables are active: few, nearly all, half, any, or at least the arity."""
    nothing = np.zeros_like(n)
    few = np.minimum(rng.integers(0, 6, n.shape), n)
    choices = (
        few,
        n - few,
        n // 2,
        _log_uniform(rng, nothing, n),
        n - _log_uniform(rng, nothing, n),
        _log_uniform(rng, arity, n),
        _log_uniform(rng, arity, n),
    )
    drawn: NDArray[np.int64] = np.choose(rng.integers(0, len(choices), n.shape), choices)
    return drawn


def draw_counts(
    rng: np.random.Generator, size: int, *, arity: int = 1, largest_n: int = 10**9
) -> NDArray[np.int64]:
    """Counts n, x, z, c of `size` pairs of vectors: four rows of whole numbers, all possible.

    n is log-uniform from `arity` to `largest_n`. A sixth of the pairs each are equal, disjoint (or
    as disjoint as their sizes allow, so that x + z − c = n), nested, and share at least `arity`
    variables where they can; the rest share any number.

    >>> n, x, z, c = draw_counts(np.random.default_rng(0), 1000, arity=3)
    >>> bool(((c <= np.minimum(x, z)) & (x + z - c <= n)).all())
    True
    """
    least = np.full(size, arity, dtype=np.int64)
    n = _log_uniform(rng, least, np.full(size, largest_n, dtype=np.int64))
    x, z = _sizes(rng, n, least), _sizes(rng, n, least)
    relation = rng.integers(0, 6, size)
    z = np.where(relation == 0, x, z)
    # Some pairs cover all variables between them: the second has at least what the first lacks.
    z = np.where((relation == 1) & (rng.random(size) < 0.5), np.maximum(z, n - x), z)
    low, high = np.maximum(x + z - n, 0), np.minimum(x, z)
    choices = (
        high,
        low,
        high,
        _log_uniform(rng, np.clip(least, low, high), high),
        _log_uniform(rng, low, high),
        high - _log_uniform(rng, np.zeros_like(n), high - low),
    )
    return np.stack((n, x, z, np.choose(relation, choices)))
