"""Wide numbers: arrays with twice the digits of a double and an exponent that never overflows.

A wide number is ``(hi + lo)·2^exp`` with ``hi`` in [1/2, 1) and ``|lo| <= ulp(hi)/2``: 106 bits or
32 decimal digits, and an exponent of 64 bits. Binomials of any size fit, and a difference may lose
half of its digits and still be exact as a double. The error-free transformations are Dekker's and
Knuth's.

>>> float((Wide.of(2) ** 5000 / Wide.of(2) ** 4990).floats())
1024.0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import mul
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, NDArray

from ..errors import KernelOverflowError, ParameterTypeError

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]

# Exponent of zero: below all others, and the sum of two of them still fits.
_ZERO = -(1 << 60)
# Largest exponent of a power: the product of a hundred of them still fits.
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
class Wide(NDArrayOperatorsMixin):
    """An array of wide numbers, with ``+ - * / **``, comparisons and numpy's functions.

    ``np.sqrt``, ``np.exp``, ``np.log1p``, ``np.maximum`` and the other functions of
    `boolrank.kernels.functions.UFUNCS` keep all digits. Any other numpy function takes the nearest
    doubles and returns doubles.

    >>> tiny = Wide.of([3, 5]) ** 1000 / Wide.of(7) ** 1000
    >>> (np.log(tiny) / np.log(10)).floats().round(1), np.sqrt(tiny / tiny).floats()
    (array([-368. , -146.1]), array([1., 1.]))
    """

    hi: Floats
    lo: Floats
    exp: NDArray[np.int64]

    @staticmethod
    def of(value: ArrayLike | Wide) -> Wide:
        """Convert doubles, 64-bit integers, or one Python integer of any size, exactly."""
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
            # Each half of the bits is exact as a double.
            hi = (array >> 32).astype(np.float64) * 2.0**32
            return _normal(*_two_sum(hi, (array & 0xFFFFFFFF).astype(np.float64)), np.int64(0))
        mantissa, up = np.frexp(hi)
        return Wide(
            np.asarray(mantissa), np.zeros_like(hi), np.where(hi == 0, _ZERO, up.astype(np.int64))
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays, as numpy has it."""
        return self.hi.shape

    def __getitem__(self, index: Any) -> Wide:
        return _each(lambda part: np.asarray(part[index]), self)

    def floats(self) -> Floats:
        """Return the nearest doubles: infinite past the largest one, 0 where too small."""
        with np.errstate(over="ignore", under="ignore"):
            return times_two_to(self.hi + self.lo, self.exp)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.floats(), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from .functions import UFUNCS

        if any(isinstance(given, Wide) for given in options.get("out", ())):  # as in a += b
            del options["out"]
        if ufunc in UFUNCS and method == "__call__" and not options:
            return UFUNCS[ufunc](Wide.of(inputs[0]), *inputs[1:])
        doubles = (value.floats() if isinstance(value, Wide) else value for value in inputs)
        return getattr(ufunc, method)(*doubles, **options)

    def __float__(self) -> float:
        raise ParameterTypeError(
            "functions of math take one number, and counts are arrays",
            hint="use numpy's function, such as np.sqrt(k.x)",
        )

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
        # 0/0 is 0: the value of a null vector, by whose size kernels divide.
        nothing = self.hi == 0
        first, rest = np.where(nothing, 0.0, first), np.where(nothing, 0.0, rest)
        return _normal(*_quick_two_sum(first, rest), self.exp - other.exp)

    def __pow__(self, power: ArrayLike | Wide) -> Wide:
        if isinstance(power, float | np.floating) and float(power).is_integer():
            power = int(power)
        if not isinstance(power, int | np.integer) or power < 0:
            from .functions import real_power

            return real_power(self, Wide.of(power))
        power = int(power)
        reached = self.exp.astype(np.float64) * power
        if np.any(reached > _HIGHEST):
            raise KernelOverflowError(
                f"the power {power} of a value has an exponent past 2^56",
                hint="use a smaller power",
            )
        if power == 0:
            return Wide.of(np.ones(self.shape))
        value: Wide = by_squaring(where(reached < -_HIGHEST, 0.0, self), power)
        return value

    def sqrt(self) -> Wide:
        """Return the square roots of numbers from 0 on."""
        odd = self.exp & 1
        hi, lo = self.hi * (1.0 + odd), self.lo * (1.0 + odd)
        root = np.sqrt(hi)
        square, rest = _two_product(root, root)
        with np.errstate(invalid="ignore", divide="ignore"):
            correction = np.where(root > 0, ((hi - square) - rest + lo) / (2 * root), 0.0)
        return _normal(*_quick_two_sum(root, correction), (self.exp - odd) >> 1)

    def rounded(self) -> Wide:
        """Return the nearest whole numbers; those past 2^100 stay as they are."""
        small = self.exp <= 100
        hi, lo = (times_two_to(part, np.where(small, self.exp, 0)) for part in (self.hi, self.lo))
        whole = np.rint(hi)
        value = _normal(*_two_sum(whole, np.rint((hi - whole) + lo)), np.int64(0))
        return where(small, value, self)

    def positive(self) -> NDArray[np.bool_]:
        """Tell which numbers are more than 0; cheaper than ``> 0``."""
        return np.asarray(self.hi > 0)


def by_squaring(a: Any, d: int, times: Callable[[Any, Any], Any] = mul) -> Any:
    """Return a^d for d >= 1 by repeated squaring: of doubles, many times as fast as a power."""
    result = None
    while True:
        if d & 1:
            result = a if result is None else times(result, a)
        d >>= 1
        if not d:
            return result
        a = times(a, a)


def _each(function: Callable[..., Any], *args: Wide) -> Wide:
    """Apply a function to each of the three arrays of wide numbers."""
    hi, lo = function(*(a.hi for a in args)), function(*(a.lo for a in args))
    return Wide(hi, lo, function(*(a.exp for a in args)))


def where(condition: NDArray[np.bool_], a: Wide | float, b: Wide | float) -> Wide:
    """Return elements of ``a`` where the condition holds, of ``b`` elsewhere."""
    return _each(lambda *parts: np.where(condition, *parts), Wide.of(a), Wide.of(b))


def inverse_root(own: Any) -> Any:
    """Return 1/√κ(x, x), and 0 for null vectors, in the numbers of ``own``: doubles or wide."""
    if not isinstance(own, Wide):
        return np.where(own > 0, 1 / np.sqrt(own), 0.0)
    some = own.positive()
    return where(some, 1.0 / where(some, own, 1.0).sqrt(), 0.0)


def at_least_zero(a: Wide) -> Wide:
    """Replace negative numbers by 0."""
    return where(a.positive(), a, 0.0)


def stack(values: list[Wide]) -> Wide:
    """Join scalars, or arrays of one shape, into one array."""
    return _each(lambda *parts: np.array(parts), *values)


def spread(a: Wide, shape: tuple[int, ...]) -> Wide:
    """Broadcast to a shape."""
    return a if a.shape == shape else _each(lambda part: np.broadcast_to(part, shape), a)


def on_part(function: Callable[..., Wide], part: NDArray[np.bool_], *args: Any) -> Wide:
    """Apply a function where ``part`` holds only, and return 0 elsewhere.

    Wide arguments are cut to the part; others are passed on.
    """
    shape = part.shape
    hi, lo, exp = np.zeros(shape), np.zeros(shape), np.full(shape, _ZERO)
    if part.any():
        value = function(*(spread(a, shape)[part] if isinstance(a, Wide) else a for a in args))
        hi[part], lo[part], exp[part] = value.hi, value.lo, value.exp
    return Wide(hi, lo, exp)


def times_two_to(values: Floats, power: NDArray[np.int64] | np.int64 | int) -> Floats:
    """Multiply doubles by powers of two of any size."""
    return np.asarray(np.ldexp(values, np.clip(power, -2200, 2200).astype(np.int32)))


def _power_of_two(power: NDArray[np.int64]) -> Floats:
    """Return 2^power for |power| < 1022, made of its bits: ten times as fast as ldexp."""
    return ((power + 1023) << 52).view(np.float64)


def _aligned(a: Wide, exp: NDArray[np.int64]) -> Pair:
    scale = _power_of_two(np.maximum(a.exp - exp, _FAR))
    return a.hi * scale, a.lo * scale


def _normal(hi: Floats, lo: Floats, exp: NDArray[np.int64] | np.int64) -> Wide:
    """Bring hi into [1/2, 1) by its bits, as frexp does; hi must be far from underflow."""
    up = ((np.asarray(hi).view(np.int64) >> 52) & 0x7FF) - 1022
    scale = _power_of_two(-up)
    return Wide(np.asarray(hi * scale), np.asarray(lo * scale), np.where(hi == 0, _ZERO, exp + up))


def grown(a: Wide, power: NDArray[np.int64] | np.int64) -> Wide:
    """Multiply by powers of two."""
    return Wide(a.hi, a.lo, np.where(a.hi == 0, _ZERO, a.exp + power))
