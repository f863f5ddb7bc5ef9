"""From a formula on counts to doubles: directly, once per distinct counts, or from tables.

Formulas are computed in wide numbers, about a microsecond each. Three things make them cheap:

- few pairs are computed as they are;
- a kernel that needs one count only, or is additive in the union, is a table, and the table is read
  off its values of vectors with themselves (``form`` tells which):

  ===========  ===========================  ==========================================
  form         κ(x, z)                      table f
  ===========  ===========================  ==========================================
  common       f(c)                         f(t) = κ of a vector of t with itself
  agreeing     f(s), s = n - x - z + 2c     f(s) = κ of a vector of n - s with the empty one
  union        f(x) + f(z) - f(u)           f(t) = κ of a vector of t with itself
  ===========  ===========================  ==========================================

  and a compiled loop looks the values up;
- for any other kernel each distinct (n, x, z, c) is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .counts import Pairs
from .wide import Wide, where

if TYPE_CHECKING:
    from .base import Kernel

# Below this many pairs, loading compiled code costs more than it saves.
FEW_PAIRS = 1 << 13
# Wide temporaries of one block stay in the second-level cache.
_BLOCK = 1 << 13
# Longest table worth building: a few seconds and 200 MB.
LONGEST_TABLE = 1 << 22


def raw_values(kernel: Kernel, pairs: Pairs, checked: bool = False) -> NDArray[np.float64]:
    """κ(x, z) as doubles, infinite where they overflow."""
    return _by_size(kernel, pairs, normalize=False, checked=checked)


def cosines(kernel: Kernel, pairs: Pairs, checked: bool = False) -> NDArray[np.float64]:
    """κ(x, z)/√(κ(x, x)κ(z, z)) as doubles; 0 where a vector is null."""
    return _by_size(kernel, pairs, normalize=True, checked=checked)


def inverse_root(own: Wide) -> Wide:
    """1/√κ(x, x), and 0 for null vectors."""
    some = own.positive()
    return where(some, 1.0 / where(some, own, 1.0).sqrt(), 0.0)


def scaled_cosines(kernel: Kernel, pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Cosines as doubles in [1/2, 1) and exponents of two, for those that no double can hold.

    0 has the exponent of the smallest wide number, far below all others.
    """
    distinct, inverse = pairs.distinct()
    hi, exp = np.empty(len(distinct.c)), np.empty(len(distinct.c), np.int64)
    for start in range(0, len(hi), _BLOCK):
        part = slice(start, start + _BLOCK)
        value = kernel.cosine(distinct.block(start, start + _BLOCK))
        hi[part], exp[part] = value.hi, value.exp
    return hi[inverse].reshape(pairs.shape), exp[inverse].reshape(pairs.shape)


def _by_size(kernel: Kernel, pairs: Pairs, normalize: bool, checked: bool) -> NDArray[np.float64]:
    if pairs.size == 0:
        return np.zeros(pairs.shape)
    if pairs.size > FEW_PAIRS and kernel.form != "any" and pairs.n.size == 1:
        from .tables import table_values

        values = table_values(kernel, pairs, normalize, LONGEST_TABLE)
        if values is not None:
            return values
    if not checked:
        pairs.check()
    if pairs.size <= FEW_PAIRS:
        return _in_blocks(kernel, pairs.flat(), normalize).reshape(pairs.shape)
    distinct, inverse = pairs.distinct()
    return _in_blocks(kernel, distinct, normalize)[inverse].reshape(pairs.shape)


def _in_blocks(kernel: Kernel, pairs: Pairs, normalize: bool) -> NDArray[np.float64]:
    size = len(pairs.c)
    out = np.empty(size)
    own, inverse = _vectors(pairs)
    roots = inverse_root(kernel.own_value(own.block(0, len(own.c)))) if normalize else Wide.of(1.0)
    for start in range(0, size, _BLOCK):
        stop = min(start + _BLOCK, size)
        value = kernel.value(pairs.block(start, stop))
        if normalize:
            x, z = (roots[inverse[start + side : stop + side]] for side in (0, size))
            value = value * (x * z)
        out[start:stop] = value.floats()
    return out


def _vectors(pairs: Pairs) -> tuple[Pairs, NDArray[np.intp]]:
    """Each vector of the pairs once, paired with itself, and where those of x, then of z, are."""
    n, x = np.concatenate((pairs.n, pairs.n)), np.concatenate((pairs.x, pairs.z))
    if n.min() == n.max():
        distinct, inverse = np.unique(x, return_inverse=True)
        n = np.full(len(distinct), n[0])
    else:
        (n, distinct), inverse = np.unique(np.stack((n, x)), axis=1, return_inverse=True)
    return Pairs(n, distinct, distinct, distinct), inverse.ravel()
