"""Functions of wide numbers, correct to about 30 digits, and the table of numpy's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .wide import Wide, grown, on_part, where

# ln 2 to 32 digits, as the sum of two doubles.
_LN2 = Wide.of(0.6931471805599453) + Wide.of(2.319046813846299e-17)
_INVERSE_FACTORIALS = [Wide.of(1.0)]
for _k in range(1, 11):
    _INVERSE_FACTORIALS.append(_INVERSE_FACTORIALS[-1] / float(_k))


def expm1(a: Wide) -> Wide:
    """Return ``exp(a) - 1`` to full relative precision, near 0 too."""
    value, turns = _expm1_reduced(a)
    return where(turns == 0, value, grown(value + 1.0, turns) - 1.0)


def exp(a: Wide) -> Wide:
    """Return ``exp(a)`` of any size."""
    value, turns = _expm1_reduced(a)
    return grown(value + 1.0, turns)


def _expm1_reduced(a: Wide) -> tuple[Wide, NDArray[np.int64]]:
    """Return ``exp(a - turns·ln 2) - 1``, and the turns: 0 where a is small."""
    near = a.floats()
    turns = np.rint(near / np.log(2)) * (np.abs(near) > 0.35)
    # |small| < 0.0007, so ten terms of the series reach 1e-37; then nine doublings undo the 2^-9.
    small = grown(a - _LN2 * turns, np.int64(-9))
    series = _INVERSE_FACTORIALS[10]
    for factor in reversed(_INVERSE_FACTORIALS[1:10]):
        series = series * small + factor
    value = series * small
    for _ in range(9):
        value = value * (value + 2.0)
    return value, turns.astype(np.int64)


def log(a: Wide) -> Wide:
    """Return the natural logarithm of positive numbers: the double's, and one Newton step."""
    rough = Wide.of(np.log(a.hi) + a.exp * np.log(2))
    error = a * exp(-rough) - 1.0
    return rough + (error - error * error * 0.5)


def log1p(y: Wide) -> Wide:
    """Return ``log(1 + y)`` to full relative precision, near 0 too."""
    near = np.asarray(y.exp < -8)
    return where(near, on_part(_log1p_near, near, y), on_part(lambda v: log(v + 1.0), ~near, y))


def _log1p_near(y: Wide) -> Wide:
    # log(1 + y) = 2·atanh(w): w < 2^-9, so seven terms reach 2^-126.
    w = y / (y + 2.0)
    square = w * w
    series = Wide.of(1.0) / 13.0
    for k in (11.0, 9.0, 7.0, 5.0, 3.0, 1.0):
        series = series * square + Wide.of(1.0) / k
    return w * series * 2.0


def real_power(base: Wide, power: Wide) -> Wide:
    """Return base^power for bases from 0 on; 0 to a positive power is 0, to the power 0 it is 1."""
    some = base.hi != 0
    result = exp(power * log(where(some, base, 1.0)))
    return where(some | (power.hi == 0), result, 0.0)


def minimum(a: Wide, b: ArrayLike | Wide) -> Wide:
    """Return the smaller of each two numbers."""
    return where((a - b).positive(), Wide.of(b), a)


# numpy's functions that keep all digits of wide numbers; others compute in doubles.
UFUNCS: Mapping[np.ufunc, Callable[..., Any]] = {
    np.add: Wide.__add__,
    np.subtract: Wide.__sub__,
    np.multiply: Wide.__mul__,
    np.divide: Wide.__truediv__,
    np.power: Wide.__pow__,
    np.float_power: Wide.__pow__,
    np.negative: Wide.__neg__,
    np.absolute: lambda a: where(a.hi < 0, -a, a),
    np.less: lambda a, b: (a - b).hi < 0,
    np.less_equal: lambda a, b: (a - b).hi <= 0,
    np.greater: lambda a, b: (a - b).hi > 0,
    np.greater_equal: lambda a, b: (a - b).hi >= 0,
    np.equal: lambda a, b: (a - b).hi == 0,
    np.not_equal: lambda a, b: (a - b).hi != 0,
    np.maximum: lambda a, b: where((a - b).positive(), a, Wide.of(b)),
    np.minimum: minimum,
    np.sqrt: Wide.sqrt,
    np.square: lambda a: a * a,
    np.exp: exp,
    np.expm1: expm1,
    np.exp2: lambda a: exp(a * _LN2),
    np.log: log,
    np.log1p: log1p,
    np.log2: lambda a: log(a) / _LN2,
    np.log10: lambda a: log(a) / log(Wide.of(10.0)),
}
