"""From a formula on counts to doubles.

A formula takes about a microsecond per pair in wide numbers. Few pairs are computed directly. Of
many pairs, each distinct (n, x, z, c) is computed once, unless the kernel's ``form`` allows to look
values up in a table:

===========  ===========================  ==========================================
form         κ(x, z)                      table f
===========  ===========================  ==========================================
common       f(c)                         f(t) = κ of a vector of t with itself
agreeing     f(s), s = n - x - z + 2c     f(s) = κ of a vector of n - s with the empty one
union        f(x) + f(z) - f(u)           f(t) = κ of a vector of t with itself
===========  ===========================  ==========================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterTypeError
from .counts import Pairs
from .tables import table_values
from .wide import Wide, where

if TYPE_CHECKING:
    from .base import Kernel

# Up to this many pairs, loading compiled code costs more than it saves.
FEW_PAIRS = 1 << 13
# Pairs of one block: its wide temporaries stay in the second-level cache.
_BLOCK = 1 << 13


def compute_values(kernel: Kernel, pairs: Pairs, normalize: bool) -> NDArray[np.float64]:
    """Return κ(x, z) as doubles, infinite where they overflow.

    With ``normalize``, return κ(x, z)/√(κ(x, x)κ(z, z)), 0 where a vector is null.
    """
    if pairs.size == 0:
        return np.zeros(pairs.shape)
    if pairs.size > FEW_PAIRS and kernel.form != "any" and pairs.n.size == 1:
        values = table_values(kernel, pairs, normalize)
        if values is not None:
            return values
    pairs = pairs.checked()
    if pairs.size <= FEW_PAIRS:
        return _in_blocks(kernel, pairs.flat(), normalize).reshape(pairs.shape)
    distinct, inverse = pairs.distinct()
    return _in_blocks(kernel, distinct, normalize)[inverse].reshape(pairs.shape)


def scaled_cosines(kernel: Kernel, pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return cosines as mantissas in [1/2, 1) and exponents of two, even if no double holds them.

    The exponent of 0 is far below all others.
    """
    distinct, inverse = pairs.distinct()
    hi, exp = np.empty(len(distinct.c)), np.empty(len(distinct.c), np.int64)
    for start in range(0, len(hi), _BLOCK):
        part = slice(start, start + _BLOCK)
        value = kernel.cosine(distinct.block(start, start + _BLOCK))
        hi[part], exp[part] = value.hi, value.exp
    return hi[inverse].reshape(pairs.shape), exp[inverse].reshape(pairs.shape)


def inverse_root(own: Wide) -> Wide:
    """Return 1/√κ(x, x), and 0 for null vectors."""
    some = own.positive()
    return where(some, 1.0 / where(some, own, 1.0).sqrt(), 0.0)


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
    if np.isnan(out).any():
        raise ParameterTypeError(f"the formula of {kernel} gives NaN")
    return out


def _vectors(pairs: Pairs) -> tuple[Pairs, NDArray[np.intp]]:
    """Pair each distinct vector with itself; return also the index of each x, then of each z."""
    n, x = np.concatenate((pairs.n, pairs.n)), np.concatenate((pairs.x, pairs.z))
    if n.min() == n.max():
        distinct, inverse = np.unique(x, return_inverse=True)
        n = np.full(len(distinct), n[0])
    else:
        (n, distinct), inverse = np.unique(np.stack((n, x)), axis=1, return_inverse=True)
    return Pairs(n, distinct, distinct, distinct), inverse.ravel()
