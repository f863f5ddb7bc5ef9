"""Wide numbers: arrays with twice the digits of a double and an exponent that never overflows.

A wide number is ``(hi + lo)·2^exp`` with ``hi`` in [1/2, 1) and ``|lo| <= ulp(hi)/2``: 106 bits or
32 decimal digits, and an exponent of 64 bits. Kernel formulas are written with them as they stand
in the text: binomials of any size fit, and a difference may lose half of all digits before the
result is worse than a double. The error-free transformations are Dekker's and Knuth's.

>>> import numpy as np
>>> float((Wide.of(2) ** 5000 / Wide.of(2) ** 4990).floats())
1024.0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import KernelOverflowError

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

# Exponent of zero: so low that it never wins an alignment; sums of two still fit.
_ZERO = -(1 << 60)
# Exponents of powers stop here, so that products of a hundred of them still fit.
_HIGHEST = 2.0**56
# Beyond this distance the smaller summand is below the last bit of the larger one.
_FAR = -1000


def _two_sum(a: Floats, b: Floats) -> Pair:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _quick_two_sum(a: Floats, b: Floats) -> Pair:
    s = a + b
    return s, b - (s - a)


def _split(a: Floats) -> Pair:
    t = 134217729.0 * a
    high = t - (t - a)
    return high, a - high


def _two_product(a: Floats, b: Floats) -> Pair:
    p = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@dataclass(frozen=True, slots=True, eq=False)
class Wide:
    """An array of wide numbers; supports ``+ - * /``, whole powers, and the functions below.

    >>> tiny = Wide.of([3.0, 5.0]) ** 1000 / Wide.of(7.0) ** 1000
    >>> tiny.log2().round(1), (tiny / tiny).floats()
    (array([-1222.4,  -485.4]), array([1., 1.]))
    """

    hi: Floats
    lo: Floats
    exp: NDArray[np.int64]

    # Let `array * wide` come to our reflected operators instead of building an object array.
    __array_ufunc__ = None

    @staticmethod
    def of(value: ArrayLike | Wide) -> Wide:
        """Wide numbers equal to doubles, to int64, or to one Python integer of any size."""
        if isinstance(value, Wide):
            return value
        if isinstance(value, int) and abs(value) >= 1 << 53:
            shift = max(abs(value).bit_length() - 160, 0)
            top = value >> shift
            high = float(top)
            rest = float(top - int(high))
            return _normal(np.asarray(high), np.asarray(rest), np.int64(shift))
        array = np.asarray(value)
        hi = array.astype(np.float64)
        if array.dtype.kind in "iu" and array.size and np.abs(hi).max() >= 2.0**53:
            # The high half is a double whatever the number, so what it leaves is exact in int64.
            hi = (array >> 32).astype(np.float64) * 2.0**32
            return _normal(*_two_sum(hi, (array & 0xFFFFFFFF).astype(np.float64)), np.int64(0))
        mantissa, up = np.frexp(hi)
        return Wide(
            np.asarray(mantissa), np.zeros_like(hi), np.where(hi == 0, _ZERO, up.astype(np.int64))
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""
        return self.hi.shape

    def __getitem__(self, index: Any) -> Wide:
        return Wide(
            np.asarray(self.hi[index]), np.asarray(self.lo[index]), np.asarray(self.exp[index])
        )

    def floats(self) -> Floats:
        """Nearest doubles: infinite past the largest one, 0 where too small."""
        with np.errstate(over="ignore", under="ignore"):
            return times_two_to(self.hi + self.lo, self.exp)

    def __neg__(self) -> Wide:
        return Wide(-self.hi, -self.lo, self.exp)

    def __add__(self, other: ArrayLike | Wide) -> Wide:
        other = Wide.of(other)
        exp = np.maximum(self.exp, other.exp)
        a, b = _aligned(self, exp), _aligned(other, exp)
        s, e = _two_sum(a[0], b[0])
        t, f = _two_sum(a[1], b[1])
        s, e = _quick_two_sum(s, e + t)
        return _normal(*_quick_two_sum(s, e + f), exp)

    def __sub__(self, other: ArrayLike | Wide) -> Wide:
        return self + (-Wide.of(other))

    def __mul__(self, other: ArrayLike | Wide) -> Wide:
        other = Wide.of(other)
        p, e = _two_product(self.hi, other.hi)
        e = e + (self.hi * other.lo + self.lo * other.hi)
        return _normal(*_quick_two_sum(p, e), self.exp + other.exp)

    def __truediv__(self, other: ArrayLike | Wide) -> Wide:
        other = Wide.of(other)
        first = self.hi / other.hi
        p, e = _two_product(first, other.hi)
        rest = ((self.hi - p) - (e + first * other.lo) + self.lo) / other.hi
        # 0/0 is 0: kernels that divide by the size of a null vector give it no value.
        nothing = self.hi == 0
        first, rest = np.where(nothing, 0.0, first), np.where(nothing, 0.0, rest)
        return _normal(*_quick_two_sum(first, rest), self.exp - other.exp)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: ArrayLike) -> Wide:
        return Wide.of(other) - self

    def __rtruediv__(self, other: ArrayLike) -> Wide:
        return Wide.of(other) / self

    def __pow__(self, power: int) -> Wide:
        reached = self.exp.astype(np.float64) * power
        if np.any(reached > _HIGHEST):
            raise KernelOverflowError(
                f"the power {power} of a value has an exponent past 2^56; use a smaller power"
            )
        result, square = None, where(reached < -_HIGHEST, 0.0, self)
        while True:
            if power & 1:
                result = square if result is None else result * square
            power >>= 1
            if not power:
                return Wide.of(np.ones(self.shape)) if result is None else result
            square = square * square

    def sqrt(self) -> Wide:
        """Square roots, of numbers from 0 on."""
        odd = self.exp & 1
        hi, lo = self.hi * (1.0 + odd), self.lo * (1.0 + odd)
        root = np.sqrt(hi)
        square, rest = _two_product(root, root)
        with np.errstate(invalid="ignore", divide="ignore"):
            correction = np.where(root > 0, ((hi - square) - rest + lo) / (2 * root), 0.0)
        return _normal(*_quick_two_sum(root, correction), (self.exp - odd) >> 1)

    def rounded(self) -> Wide:
        """The nearest whole numbers, for counts that were computed; huge ones stay as they are."""
        small = self.exp <= 100
        hi, lo = (times_two_to(part, np.where(small, self.exp, 0)) for part in (self.hi, self.lo))
        whole = np.rint(hi)
        value = _normal(*_two_sum(whole, np.rint((hi - whole) + lo)), np.int64(0))
        return where(small, value, self)

    def positive(self) -> NDArray[np.bool_]:
        """Where the numbers are more than 0."""
        return np.asarray(self.hi > 0)

    def log2(self) -> Floats:
        """Base-two logarithms as doubles: -inf for zero. For values that no double can hold."""
        with np.errstate(divide="ignore"):
            mantissa = np.log2(self.hi) + np.where(self.hi > 0, self.lo / self.hi, 0) / np.log(2)
        return np.asarray(np.where(self.hi > 0, mantissa + self.exp, -np.inf))


def where(condition: NDArray[np.bool_], a: Wide | float, b: Wide | float) -> Wide:
    """Elements of ``a`` where the condition holds, of ``b`` elsewhere."""
    a, b = Wide.of(a), Wide.of(b)
    return Wide(
        np.where(condition, a.hi, b.hi),
        np.where(condition, a.lo, b.lo),
        np.where(condition, a.exp, b.exp),
    )


def smaller(a: Wide, b: Wide) -> Wide:
    """The smaller of each two numbers."""
    return where((a - b).positive(), b, a)


def at_least_zero(a: Wide) -> Wide:
    """The numbers, and 0 for negative ones."""
    return where(a.positive(), a, 0.0)


def stack(values: list[Wide]) -> Wide:
    """Scalars, or arrays of one shape, as one array."""
    return Wide(
        np.array([v.hi for v in values]),
        np.array([v.lo for v in values]),
        np.array([v.exp for v in values]),
    )


def spread(a: Wide, shape: tuple[int, ...]) -> Wide:
    """The same numbers in an array of a shape that they broadcast to."""
    if a.shape == shape:
        return a
    hi, lo = (np.broadcast_to(part, shape) for part in (a.hi, a.lo))
    return Wide(hi, lo, np.broadcast_to(a.exp, shape))


def on_part(function: Callable[..., Wide], part: NDArray[np.bool_], *args: Wide) -> Wide:
    """``function`` computed only where ``part`` holds, 0 elsewhere: cases without wasted work."""
    shape = part.shape
    hi, lo, exp = np.zeros(shape), np.zeros(shape), np.full(shape, _ZERO)
    if part.any():
        value = function(*(spread(a, shape)[part] for a in args))
        hi[part], lo[part], exp[part] = value.hi, value.lo, value.exp
    return Wide(hi, lo, exp)


def times_two_to(values: Floats, power: NDArray[np.int64] | np.int64 | int) -> Floats:
    """Doubles times 2^power for powers of any size."""
    return np.asarray(np.ldexp(values, np.clip(power, -2200, 2200).astype(np.int32)))


def two_to(power: Wide) -> Wide:
    """2^power for whole powers from 0 on."""
    exponent = power.floats()
    if np.any(exponent >= 2.0**53):
        raise KernelOverflowError(
            "2 to the power of 2^53 or more has an exponent that fits nothing"
        )
    half = np.full(power.shape, 0.5)
    return Wide(half, np.zeros(power.shape), exponent.astype(np.int64) + 1)


def _power_of_two(power: NDArray[np.int64]) -> Floats:
    """Doubles 2^power, |power| < 1022, made of their bits: ten times as fast as ldexp."""
    return ((power + 1023) << 52).view(np.float64)


def _aligned(a: Wide, exp: NDArray[np.int64]) -> Pair:
    scale = _power_of_two(np.maximum(a.exp - exp, _FAR))
    return a.hi * scale, a.lo * scale


def _normal(hi: Floats, lo: Floats, exp: NDArray[np.int64] | np.int64) -> Wide:
    """Bring hi into [1/2, 1); like frexp, but on the bits and only for hi far from underflow."""
    up = ((np.asarray(hi).view(np.int64) >> 52) & 0x7FF) - 1022
    scale = _power_of_two(-up)
    return Wide(np.asarray(hi * scale), np.asarray(lo * scale), np.where(hi == 0, _ZERO, exp + up))


# ln 2 to 32 digits, as the sum of two doubles.
_LN2 = Wide.of(0.6931471805599453) + Wide.of(2.319046813846299e-17)
_INVERSE_FACTORIALS = [Wide.of(1.0)]
for _k in range(1, 11):
    _INVERSE_FACTORIALS.append(_INVERSE_FACTORIALS[-1] / float(_k))


def expm1(a: Wide) -> Wide:
    """``exp(a) - 1`` to full relative precision, near 0 too."""
    value, turns = _expm1_reduced(a)
    return where(turns == 0, value, _grown(value + 1.0, turns) - 1.0)


def exp(a: Wide) -> Wide:
    """``exp(a)``, whatever its size."""
    value, turns = _expm1_reduced(a)
    return _grown(value + 1.0, turns)


def _expm1_reduced(a: Wide) -> tuple[Wide, NDArray[np.int64]]:
    """``exp(a - turns·ln 2) - 1``, and the turns: none where a is small."""
    near = a.floats()
    turns = np.rint(near / np.log(2)) * (np.abs(near) > 0.35)
    # |small| < 0.0007, so ten terms of the series reach 1e-37; then nine doublings undo the 2^-9.
    small = _grown(a - _LN2 * turns, np.int64(-9))
    series = _INVERSE_FACTORIALS[10]
    for factor in reversed(_INVERSE_FACTORIALS[1:10]):
        series = series * small + factor
    value = series * small
    for _ in range(9):
        value = value * (value + 2.0)
    return value, turns.astype(np.int64)


def _grown(a: Wide, power: NDArray[np.int64] | np.int64) -> Wide:
    return Wide(a.hi, a.lo, np.where(a.hi == 0, _ZERO, a.exp + power))


def log(a: Wide) -> Wide:
    """Natural logarithm of positive numbers: the double's, mended by one Newton step."""
    rough = Wide.of(np.log(a.hi) + a.exp * np.log(2))
    error = a * exp(-rough) - 1.0
    return rough + (error - error * error * 0.5)


def log1p(y: Wide) -> Wide:
    """``log(1 + y)`` to full relative precision, near 0 too."""
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
