"""Exact kernel values in integer arithmetic, and random counts to compare on.

`exact_value` is the raw value as a Fraction; a float parameter is the binary fraction that it is.
`relative_error` compares a double with it, raw or normalised, even if the value has hundreds of
thousands of digits: it is computed exactly, and a `Magnitude` keeps its leading bits.
`feature_spaces` checks the formulas here by enumeration.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boolrank import kernels
from boolrank.errors import ParameterError

# Leading bits that a magnitude keeps: it is right to about 2^-250, a double to 2^-53.
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
        """Keep the leading bits of numerator/denominator·2^exponent."""
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
        """Compute (1 + weight)^m − 1 for a float weight, if the power would fill the memory.

        Squares leading bits only. The subtraction costs at most the bits of the weight's
        denominator, so these are kept on top.
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
        # With a positive exponent the power is past 2^(2·BITS), where the 1 does not show.
        return cls.of(power - (1 << -exponent) if exponent <= 0 else power, 1, exponent)

    @classmethod
    def cosine(cls, value: Magnitude, x: Magnitude, z: Magnitude) -> Magnitude:
        """Compute value/√(x·z), and 0 where x or z is 0."""
        if 0 in (value.mantissa, x.mantissa, z.mantissa):
            return cls(0, 0)
        exponent = 2 * value.exponent - x.exponent - z.exponent
        square = cls.of(value.mantissa**2, x.mantissa * z.mantissa, exponent)
        lift = 2 * BITS + square.exponent % 2
        root = math.isqrt(square.mantissa << lift)
        return cls.of(root, 1, (square.exponent - lift) // 2)

    @property
    def log2(self) -> int:
        """Return the number of bits of the whole part."""
        return self.exponent + self.mantissa.bit_length()

    def error_of(self, value: float) -> float:
        """Return the relative error of a double.

        Below the smallest normal double, 2^-1022, it is relative to that. An exact 0 allows no
        error.

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


# Numerator and denominator, not reduced: the gcd of 200,000-bit numbers would dominate the cost.
Ratio: TypeAlias = tuple[int, int]

# 10**9 choose 10**4 has 180,000 bits and takes 25 ms; 1,024 of them take 23 MB.
comb = lru_cache(maxsize=1024)(math.comb)


class Counts(NamedTuple):
    """The counts of a pair: n variables, x and z active ones, c of them in both."""

    n: int
    x: int
    z: int
    c: int

    @property
    def agreeing(self) -> int:
        """Return the number of variables on which the vectors agree."""
        return self.n - self.x - self.z + 2 * self.c


def _partial_sum(m: int, largest: int, weight: Fraction) -> Ratio:
    """Compute Σ_{1≤j≤largest} weight^j·C(m, j) by binary splitting."""

    def split(low: int, high: int) -> tuple[int, int, int]:
        if high - low == 1:
            step = weight.numerator * (m - low + 1)
            return step, weight.denominator * low, step
        p1, q1, t1 = split(low, middle := (low + high) // 2)
        p2, q2, t2 = split(middle, high)
        return p1 * p2, q1 * q2, t1 * q2 + p1 * t2

    terms = min(largest, m)
    if terms == 0:
        return 0, 1
    _, denominator, numerator = split(1, terms + 1)
    return numerator, denominator


def _conjunctions(kernel: Any, m: int) -> Ratio:
    """Compute the (monotone) DNF kernel of vectors with m shared literals."""
    weight = Fraction(kernel.weight)
    if kernel.max_arity is not None:
        return _partial_sum(m, kernel.max_arity, weight)
    scale = weight.denominator**m
    return (weight.numerator + weight.denominator) ** m - scale, scale


def _hit_both(d: int, p: Counts) -> int:
    """Count d-subsets that meet both vectors, by inclusion and exclusion."""
    missed = comb(p.n - p.x, d) + comb(p.n - p.z, d) - comb(p.n - p.x - p.z + p.c, d)
    return comb(p.n, d) - missed


def _threshold(kernel: Any, p: Counts) -> Ratio:
    """Sum over the numbers of members in both vectors, only in x, and only in z."""
    t, d = kernel.satisfied, kernel.arity
    neither = p.n - p.x - p.z + p.c
    total = 0
    for both in range(min(p.c, d) + 1):
        need = max(t - both, 0)
        for only_x in range(need, min(p.x - p.c, d - both) + 1):
            left = d - both - only_x
            ways = sum(
                comb(p.z - p.c, only_z) * comb(neither, left - only_z)
                for only_z in range(need, min(p.z - p.c, left) + 1)
            )
            total += comb(p.c, both) * comb(p.x - p.c, only_x) * ways
    return total, 1


def _literal_disjunctive(d: int, p: Counts) -> int:
    """Count all 2^d·C(n, d), less the sign patterns that are false in a vector."""
    return (int(2**d) - 2) * comb(p.n, d) + comb(p.agreeing, d)


def _polynomial(kernel: Any, p: Counts) -> Ratio:
    base = Fraction(kernel.scale) * p.c + Fraction(kernel.offset)
    return base.numerator**kernel.degree, base.denominator**kernel.degree


def _composed_dnf(kernel: Any, p: Counts) -> Ratio:
    d = kernel.literals
    if kernel.monotone:
        lifted = Counts(comb(p.n, d), comb(p.x, d), comb(p.z, d), comb(p.c, d))
    else:
        every = comb(p.n, d)
        lifted = Counts(2**d * every, every, every, comb(p.agreeing, d))
    return _hit_both(kernel.clauses, lifted), 1


def _composed_cnf(kernel: Any, p: Counts) -> Ratio:
    d = kernel.literals
    shared = _hit_both(d, p) if kernel.monotone else _literal_disjunctive(d, p)
    return comb(shared, kernel.clauses), 1


def _size(kernel: Any, n: int) -> int:  # noqa: PLR0911 - one for each family
    """Count the features of a kernel of plain 0/1 features over n variables."""
    if isinstance(kernel, kernels.DNF | kernels.MonotoneDNF) and kernel.weight == 1:
        signs = 2 if isinstance(kernel, kernels.DNF) else 1
        largest = n if kernel.max_arity is None else kernel.max_arity
        return sum(signs**j * math.comb(n, j) for j in range(1, largest + 1))
    if isinstance(kernel, kernels.ComposedDNF | kernels.ComposedCNF):
        clauses = (1 if kernel.monotone else 2**kernel.literals) * math.comb(n, kernel.literals)
        return math.comb(clauses, kernel.clauses)
    if isinstance(kernel, kernels.LiteralConjunctive | kernels.LiteralDisjunctive):
        return int(2**kernel.arity * math.comb(n, kernel.arity))
    if isinstance(kernel, kernels.Disjunctive | kernels.Threshold):
        return math.comb(n, kernel.arity)
    if isinstance(kernel, kernels.Linear | kernels.AllSubset | kernels.Conjunctive):
        # The full vector has all conjunctions.
        return _whole(kernel, Counts(n, n, n, n))
    if isinstance(kernel, kernels.Composed):
        return _size(kernel.outer, _size(kernel.inner, n))
    if type(kernel) in LOGICAL:
        return _logical(kernel, Counts(n, n, n, n)).n
    raise ParameterError(f"{kernel!r} has no known number of plain 0/1 features")


def _logical(kernel: Any, p: Counts) -> Counts:
    """Count the features of a propositional kernel by inclusion and exclusion."""
    of = LOGICAL.get(type(kernel))
    return _lifted(kernel, p) if of is None else of(kernel, p)


def _of_parts(kernel: Any, p: Counts) -> list[Counts]:
    return [_logical(part, p) for part in kernel.parts]


def _negated(p: Counts) -> Counts:
    return Counts(p.n, p.n - p.x, p.n - p.z, p.n - p.x - p.z + p.c)


def _all_of(parts: list[Counts]) -> Counts:
    return Counts(*map(math.prod, zip(*parts, strict=True)))


def _either_of(a: Counts, b: Counts) -> Counts:
    """Count the pairs of which one is true: all, less those that are both true or both false."""
    both, none = _all_of([a, b]), _all_of([_negated(a), _negated(b)])
    mixed = sum((p.x - p.c) * (q.z - q.c) for p, q in ((a, b), (b, a)))  # one of x, the other of z
    c = a.c * _negated(b).c + _negated(a).c * b.c + mixed
    return Counts(both.n, both.n - both.x - none.x, both.n - both.z - none.z, c)


def _assignments(text: str, p: Counts) -> Counts:
    """Choose for each letter whether its variable is active in x and in z, and try the formula."""
    letters = letters_of(text)
    sizes = {(1, 1): p.c, (1, 0): p.x - p.c, (0, 1): p.z - p.c, (0, 0): p.n - p.x - p.z + p.c}
    x = z = c = 0
    for chosen in product(sizes, repeat=len(letters)):
        ways = math.prod(sizes[each] for each in chosen)
        of_x, of_z = (
            holds(text, dict(zip(letters, s, strict=True))) for s in zip(*chosen, strict=True)
        )
        x, z, c = x + ways * of_x, z + ways * of_z, c + ways * (of_x and of_z)
    return Counts(p.n ** len(letters), x, z, c)


def letters_of(text: str) -> list[str]:
    """Return the letters of a formula; they have one character."""
    return sorted(set(re.findall(r"\b[a-z]\b", text)))


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Any:
    return compile(text, "formula", "eval")


def holds(text: str, letters: dict[str, Any]) -> bool:
    """Tell whether a formula holds, as Python has it."""
    words = {
        "xor": lambda a, b: a != b,
        "implies": lambda a, b: b or not a,
        "equivalent": lambda a, b: a == b,
    }
    values = {letter: np.bool_(value) for letter, value in letters.items()}
    return bool(eval(_compiled(text), words, values))  # noqa: S307 - formulas of tests


def _whole(kernel: Any, p: Counts) -> int:
    numerator, denominator = _exact(kernel, p)
    return numerator // denominator


def _lifted(inner: Any, p: Counts) -> Counts:
    """Count the features of the inner kernel of a composition."""
    x, z = (_whole(inner, Counts(p.n, size, size, size)) for size in (p.x, p.z))
    return Counts(_size(inner, p.n), x, z, _whole(inner, p))


def _sum(kernel: Any, p: Counts) -> Ratio:
    total = sum((Fraction(*_exact(part, p)) for part in kernel.parts), start=Fraction(0))
    return total.numerator, total.denominator


def _product(kernel: Any, p: Counts) -> Ratio:
    factors = [_exact(part, p) for part in kernel.parts]
    return math.prod(f[0] for f in factors), math.prod(f[1] for f in factors)


def _power(kernel: Any, p: Counts) -> Ratio:
    numerator, denominator = _exact(kernel.kernel, p)
    return numerator**kernel.exponent, denominator**kernel.exponent


def _scaled(kernel: Any, p: Counts) -> Ratio:
    weight = Fraction(kernel.weight)
    numerator, denominator = _exact(kernel.kernel, p)
    return numerator * weight.numerator, denominator * weight.denominator


LOGICAL: dict[type, Callable[[Any, Counts], Counts]] = {
    kernels.Not: lambda k, p: _negated(_logical(k.kernel, p)),
    kernels.Or: lambda k, p: _negated(_all_of([_negated(part) for part in _of_parts(k, p)])),
    kernels.Xor: lambda k, p: reduce(_either_of, _of_parts(k, p)),
    kernels.Formula: lambda k, p: _assignments(k.text, p),
    kernels.Product: lambda k, p: _all_of(_of_parts(k, p)),
    kernels.Power: lambda k, p: _all_of([_logical(k.kernel, p)] * k.exponent),
}

EXACT: dict[type, Callable[[Any, Counts], Ratio]] = {
    kernels.Linear: lambda _, p: (p.c, 1),
    kernels.Polynomial: _polynomial,
    kernels.AllSubset: lambda _, p: (2**p.c, 1),
    kernels.Conjunctive: lambda k, p: (
        _partial_sum(p.c, k.arity, Fraction(1)) if k.up_to else (comb(p.c, k.arity), 1)
    ),
    kernels.Tanimoto: lambda _, p: (p.c, max(p.x + p.z - p.c, 1)),
    kernels.DNF: lambda k, p: _conjunctions(k, p.agreeing),
    kernels.MonotoneDNF: lambda k, p: _conjunctions(k, p.c),
    kernels.Disjunctive: lambda k, p: (_hit_both(k.arity, p), 1),
    kernels.Threshold: _threshold,
    kernels.LiteralConjunctive: lambda k, p: (comb(p.agreeing, k.arity), 1),
    kernels.LiteralDisjunctive: lambda k, p: (_literal_disjunctive(k.arity, p), 1),
    kernels.ComposedDNF: _composed_dnf,
    kernels.ComposedCNF: _composed_cnf,
    kernels.Composed: lambda k, p: _exact(k.outer, _lifted(k.inner, p)),
    kernels.Sum: _sum,
    kernels.Product: _product,
    kernels.Power: _power,
    kernels.Scaled: _scaled,
    **dict.fromkeys([*LOGICAL][:4], lambda k, p: (_logical(k, p).c, 1)),
}


def _exact(kernel: Any, p: Counts) -> Ratio:
    formula = EXACT.get(type(kernel))
    if formula is None:
        raise ParameterError(
            f"{kernel!r} has no exact rational value here; known are "
            f"{', '.join(sorted(each.__name__ for each in EXACT))}"
        )
    return formula(kernel, p)


def exact_value(kernel: Any, n: int, x: int, z: int, c: int) -> Fraction:
    """Compute the raw kernel value exactly.

    >>> from boolrank import Disjunctive
    >>> exact_value(Disjunctive(2), n=10**9, x=1, z=1, c=0)  # two disjoint singletons
    Fraction(1, 1)
    """
    return Fraction(*_exact(kernel, Counts(n, x, z, c)))


def magnitude(kernel: Any, n: int, x: int, z: int, c: int) -> Magnitude:
    """Compute the leading bits of the exact raw value, even if it is too large to write out.

    >>> from boolrank.kernels import AllSubset
    >>> magnitude(AllSubset(), n=10**12, x=10**11, z=10**11, c=10**11).log2
    100000000001
    """
    p = Counts(n, x, z, c)
    if isinstance(kernel, kernels.Composed):
        return magnitude(kernel.outer, *_lifted(kernel.inner, p))
    if isinstance(kernel, kernels.AllSubset):
        return Magnitude(1, c)
    if isinstance(kernel, kernels.DNF | kernels.MonotoneDNF) and kernel.max_arity is None:
        m = p.agreeing if isinstance(kernel, kernels.DNF) else c
        if m > BITS:
            return Magnitude.of_power(Fraction(kernel.weight), m)
    return Magnitude.of(*_exact(kernel, p))


def relative_error(
    value: float, kernel: Any, n: int, x: int, z: int, c: int, *, normalized: bool = True
) -> float:
    """Return the relative error of `value`; see `Magnitude.error_of`.

    >>> from boolrank import Linear
    >>> relative_error(0.5, Linear(), n=10, x=4, z=4, c=2)
    0.0
    >>> relative_error(2.5, Linear(), n=10, x=4, z=4, c=2, normalized=False)
    0.25
    """
    exact = magnitude(kernel, n, x, z, c)
    if normalized:
        own = (magnitude(kernel, n, size, size, size) for size in (x, z))
        exact = Magnitude.cosine(exact, *own)
    return exact.error_of(value)


def _log_uniform(
    rng: np.random.Generator, low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Draw whole numbers in [low, high], each order of magnitude above low equally likely."""
    drawn = low - 1 + np.exp(rng.random(low.shape) * np.log(high - low + 2.0))
    return np.asarray(np.clip(drawn.astype(np.int64), low, high))


def _sizes(
    rng: np.random.Generator, n: NDArray[np.int64], arity: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Draw numbers of active variables: few, nearly all, half, any, or at least the arity."""
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
    """Draw counts n, x, z, c of `size` pairs of vectors, often from where formulas break.

    n is log-uniform from `arity` to `largest_n`. A sixth of the pairs each are equal, as disjoint
    as their sizes allow, nested, and share at least `arity` variables if they can; the rest share
    any number. Uniform counts would hardly ever be disjoint, nested, nearly empty or nearly full.

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
