"""Numbers far outside the range of a double, by their leading bits: to compare, not to compute.

Kernel values are computed exactly, with all the cancellation that they contain; only the result is
cut to its leading 256 bits, so a magnitude is right to about 2^-250, where a double has 2^-53.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

__all__ = ["BITS", "Magnitude"]

BITS = 256


class Magnitude(NamedTuple):
    """mantissa·2^exponent.

    >>> Magnitude.of(3**1000).log2
    1585
    """

    mantissa: int
    exponent: int

    @classmethod
    def of(cls, numerator: int, denominator: int = 1, exponent: int = 0) -> Magnitude:
        """The leading bits of numerator/denominator·2^exponent."""
        if denominator != 1:
            drop = max(denominator.bit_length() - 2 * BITS, 0)
            denominator >>= drop
            lift = denominator.bit_length() + 2 * BITS - numerator.bit_length()
            numerator = numerator << lift if lift >= 0 else numerator >> -lift
            numerator, exponent = numerator // denominator, exponent - drop - lift
        drop = max(numerator.bit_length() - BITS, 0)
        return cls(numerator >> drop, exponent + drop)

    @classmethod
    def of_power(cls, weight: Fraction, m: int) -> Magnitude:
        """(1 + weight)^m − 1, where the weight is a float and the power would fill the memory.

        Squaring with leading bits only; the subtraction costs at most as many bits as the
        weight's denominator has, so these are kept on top.
        """
        base = weight + 1
        step = 1 - base.denominator.bit_length()  # a float's denominator is a power of two
        bits = 2 * BITS + 2 * base.denominator.bit_length()
        power, exponent = 1, 0
        for digit in f"{m:b}":
            power, exponent = power * power, 2 * exponent
            if digit == "1":
                power, exponent = power * base.numerator, exponent + step
            drop = max(power.bit_length() - bits, 0)
            power, exponent = power >> drop, exponent + drop
        # With a positive exponent the power has all its bits above 2^(2·BITS): the 1 is not seen.
        return cls.of(power - (1 << -exponent) if exponent <= 0 else power, 1, exponent)

    @classmethod
    def cosine(cls, value: Magnitude, x: Magnitude, z: Magnitude) -> Magnitude:
        """value/√(x·z), and 0 where x or z is."""
        if 0 in (value.mantissa, x.mantissa, z.mantissa):
            return cls(0, 0)
        exponent = 2 * value.exponent - x.exponent - z.exponent
        square = cls.of(value.mantissa**2, x.mantissa * z.mantissa, exponent)
        lift = 2 * BITS + square.exponent % 2
        root = math.isqrt(square.mantissa << lift)
        return cls.of(root, 1, (square.exponent - lift) // 2)

    @property
    def log2(self) -> int:
        """How many bits the whole part has."""
        return self.exponent + self.mantissa.bit_length()

    def error_of(self, value: float) -> float:
        """How far a double is from this number, as a share of it.

        Below the smallest normal double the spacing of doubles no longer shrinks, so there the
        error is a share of that double, 2^-1022. An exact 0 must be met exactly.

        >>> Magnitude.of(4).error_of(3.0)
        0.25
        """
        if not math.isfinite(value) or self.log2 > 1100:
            return math.inf
        if self.mantissa == 0:
            return 0.0 if value == 0 else math.inf
        unit = -1400  # doubles end at 2^-1074; 326 bits below that are for the exact number
        fraction, power = math.frexp(value)
        given = int(fraction * 2**53) << (power - 53 - unit)
        shift = self.exponent - unit
        wanted = self.mantissa << shift if shift >= 0 else self.mantissa >> -shift
        return abs(given - wanted) / max(wanted, 1 << (-1022 - unit))
