"""Numbers of subsets: the counting functions that kernel formulas are made of.

They take wide whole numbers, possibly far past the largest double, and lose no digits to
cancellation: differences of near-equal numbers are summed from positive terms, or are ``expm1`` of
a logarithm.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from ..errors import KernelOverflowError
from .functions import exp, expm1, log, log1p
from .wide import Wide, at_least_zero, on_part, spread, stack, times_two_to, where

if TYPE_CHECKING:
    from .counts import Counts

# Products have up to this many factors; beyond, Stirling's series is good to 1e-34.
_FEW = 64
# With more elements than this, a table of all sizes is faster than each size on its own.
_MANY = 1024
# Longest table of binomials.
_LONGEST = 1 << 14
# B_2k / (2k·(2k-1)) for k = 1..10: the coefficients of Stirling's series in 1/z, 1/z^3, ...
_TOPS = (1, -1, 1, -1, 1, -691, 1, -3617, 43867, -174611)
_BOTTOMS = (12, 360, 1260, 1680, 1188, 360360, 156, 122400, 244188, 125400)
_STIRLING = [Wide.of(a) / Wide.of(b) for a, b in zip(_TOPS, _BOTTOMS, strict=True)]
_FACTORIALS = stack([Wide.of(factorial(i)) for i in range(_FEW + 1)])
_TWO_PI = Wide.of(6.283185307179586) + Wide.of(2.4492935982947064e-16)
_TINY = 1e-34
# Whole numbers from here on are not all doubles.
_EXACT = 2.0**53
_DEEPEST = 2.0**50


def choose(k: Wide, d: int) -> Wide:
    """Return C(k, d), the number of subsets of size d among k things; 0 where k < d."""
    if d == 1:
        return k
    # Exponents of nested compositions have any size: 2^(2^30) itself is not to be computed.
    reach = 1 << min(max(int(np.max(k.exp, initial=0)), 0), 62)
    if k.hi.size > _MANY and reach <= min(2 * k.hi.size, _LONGEST):
        at = times_two_to(k.hi, k.exp).astype(np.int64)
        return _binomials(d, reach)[np.maximum(at, 0)]
    return _choose(k, d)


@lru_cache(maxsize=64)
def _binomials(d: int, stop: int) -> Wide:
    """Return C(k, d) for all k below a bound: at most 0.4 MB, shared by all blocks of pairs."""
    return _choose(Wide.of(np.arange(stop)), d)


def _choose(k: Wide, d: int) -> Wide:
    rest = k - float(d)
    fewest = np.minimum(rest.floats(), float(d))
    few = (fewest >= 0) & (fewest <= _FEW)
    many = fewest > _FEW
    product = on_part(_falling_product, few, k, Wide.of(np.where(few, fewest, 0.0)))
    return where(many, on_part(_stirling_choose, many, k, d), product)


def _falling_product(k: Wide, d: Wide) -> Wide:
    """Return k·(k-1)···(k-d+1) / d! for small d, one for each element."""
    steps = d.floats().astype(np.int64)
    value = Wide.of(np.ones(k.shape))
    for i in range(int(steps.max())):
        value = where(i < steps, value * (k - float(i)), value)
    return value / _FACTORIALS[steps]


def _stirling_choose(k: Wide, d: int) -> Wide:
    rest = k - float(d)
    size = Wide.of(float(d))
    bulk = -(size * log(size / k)) - rest * log1p(-(size / k))
    edge = log(k / (_TWO_PI * size * rest)) * 0.5
    return exp(bulk + edge + (_series(k) - _series(size) - _series(rest)))


def _series(z: Wide) -> Wide:
    """Return ln z! less Stirling's formula, for z >= 64."""
    square = Wide.of(1.0) / (z * z)
    value = _STIRLING[-1]
    for factor in reversed(_STIRLING[:-1]):
        value = value * square + factor
    return value / z


def hits(n: Wide, t: Wide, d: int) -> Wide:
    """Return C(n, d) - C(n-t, d): subsets of size d among n things that meet a set of t of them.

    The share of subsets that miss is symmetric in t and d, so the shorter loop of the two serves.
    If both are long, the share is a second difference of Stirling's formula.
    """
    most = t.floats().max()
    if n.shape == () and t.hi.size > _MANY and most <= 2 * t.hi.size:
        from .._compiled.draws import hit_shares

        hi, lo = hit_shares(int(n.floats()), d, int(most))
        at = t.floats().astype(np.int64)
        share = Wide.of(hi[at]) + Wide.of(lo[at])
    else:
        few = np.asarray(np.minimum(t.floats(), float(d)) <= _FEW)
        by_steps = on_part(_share_hit_by_steps, few, n, t, d)
        share = where(few, by_steps, on_part(_share_hit_by_series, ~few, n, t, d))
    return share * choose(n, d)


def _share_hit_by_steps(n: Wide, t: Wide, d: int) -> Wide:
    larger = where(t.floats() > d, t, float(d))
    steps = np.minimum(t.floats(), float(d))
    hit, missed = Wide.of(np.zeros(n.shape)), Wide.of(np.ones(n.shape))
    for i in range(int(steps.max())):
        now = where((i < steps) & missed.positive(), missed * larger / (n - float(i)), 0.0)
        hit, missed = hit + now, missed - now
    return hit


def _share_hit_by_series(n: Wide, t: Wide, d: int) -> Wide:
    missed = choose(n - t, d) / choose(n, d)
    mostly = np.asarray(missed.floats() > 0.5)
    return where(mostly, on_part(_share_hit_rarely, mostly, n, t, d), 1.0 - missed)


def _share_hit_rarely(n: Wide, t: Wide, d: int) -> Wide:
    """Return 1 - C(n-t, d)/C(n, d) below a half: -expm1 of a second difference of ln n!.

    The three terms of the bulk are of similar size, so cancellation costs at most a factor of 3.
    """
    size = Wide.of(float(d))
    rest = n - t - size
    both = log1p(t * size / (n * rest))
    bulk = (rest + 0.5) * both + size * log1p(-(t / n)) + t * log1p(-(size / n))
    ends = _series(n - t) + _series(n - size) - _series(n) - _series(rest)
    return -expm1(bulk + ends)


def count_sets(k: Counts, least: int, size: int) -> Wide:
    """Count the sets of `size` variables with at least `least` active in x, and as many in z."""
    if least == size:
        return choose(k.common, size)
    if least > 1:
        return _sum_of_sets(k, least, size)
    if k.lifted:
        return _sum_of_draws(k, size)
    # Sets that meet x, plus those that meet z, less those that meet the union. A share of about
    # n/(d·z) of the digits cancels: 10 of 32 at n = 10^10. Lifted counts have no bound on n/x. One
    # call for all three is faster on few pairs.
    union = k.union
    met = hits(k.n, stack([spread(each, union.shape) for each in (k.x, k.z, union)]), size)
    return met[0] + met[1] - met[2]


def _sum_of_draws(k: Counts, size: int) -> Wide:
    """Draw `size` variables one by one, and count the ordered draws by the vectors met so far.

    As `_sum_of_sets`, it only adds; it keeps no lists of `size` arrays.
    """
    union = k.union
    none = Wide.of(np.ones(union.shape))
    first = second = both = Wide.of(np.zeros(union.shape))
    for drawn in range(size):
        left = k.n - float(drawn)
        both = both * left + none * k.common + first * k.z + second * k.x
        first = first * at_least_zero(left - k.z) + none * k.only_x
        second = second * at_least_zero(left - k.x) + none * k.only_z
        none = none * at_least_zero(left - union)
    return both / Wide.of(factorial(size))


def _sum_of_sets(k: Counts, least: int, size: int) -> Wide:
    """Sum over the numbers of members from the common part and from x alone; all terms positive.

    With i common members and j of x alone, the rest must have at least ``least - i`` of z alone.
    """
    zero, one = (Wide.of(np.full(k.common.shape, value)) for value in (0.0, 1.0))

    def subsets(a: Wide, largest: int) -> list[Wide]:
        """Return C(a, j) for j = 0..largest."""
        found = [one]
        for j in range(min(largest, _most(a))):
            found.append(found[-1] * (a - float(j)) / float(j + 1))
        return found + [zero] * (largest + 1 - len(found))

    most, others = size - least, k.only_z + k.neither
    of_x, of_z, of_neither = (subsets(a, most) for a in (k.only_x, k.only_z, k.neither))
    both, not_both = subsets(k.common, size), subsets(k.only_x + others, most)
    highest = min(_most(k.common), size)
    total = sum((both[i] * not_both[size - i] for i in range(least, highest + 1)), start=zero)
    first = max(least - most, 0)
    # Sets of m + 1 of the others that have enough of z alone have so before the last one, or by it.
    needed, rest = least - first, [zero] * (most + 1)
    for m in range(needed - 1, most):
        ways = of_z[needed] * of_neither[m - needed + 1] * float(needed)
        rest[m + 1] = (rest[m] * at_least_zero(others - float(m)) + ways) / float(m + 1)
    for i in range(first, min(least, highest + 1)):
        members = range(least - i, min(most, _most(k.only_x)) + 1)
        total = total + both[i] * sum((of_x[j] * rest[size - i - j] for j in members), start=zero)
        for m in range(least - i - 1, most + 1):  # the next needs one less
            rest[m] = rest[m] + of_z[least - i - 1] * of_neither[m - (least - i - 1)]
    return total


def _most(a: Wide) -> int:
    """Return the largest of whole numbers, capped for loops."""
    return int(min(a.floats().max(), 2.0**62))


def weighted_subsets(k: Wide, weight: float, largest: int | None = None) -> Wide:
    """Return Σ_{1≤j≤largest} weight^j·C(k, j), or over all j: (1+weight)^k - 1."""
    if largest is None:
        return _power_minus_one(k, weight)
    # Terms rise up to the peak and fall after it. Sum from the cut to the side on which they fall:
    # over 100,000 terms on the other side take 15 s.
    size = k.floats()
    more, rising = size > largest, largest <= weight * (size + 1) / (1 + weight)
    down = np.asarray(more & (rising | (size >= _EXACT)))
    some = on_part(_terms_down, down, k, weight, largest)
    upper = on_part(_terms_up, np.asarray(more & ~down), k, weight, largest + 1)
    return where(down, some, on_part(_power_minus_one, ~down, k, weight) - upper)


def _power_minus_one(k: Wide, weight: float) -> Wide:
    """Return (1+weight)^k - 1 by repeated doubling of the difference itself, which only adds."""
    size = k.floats()
    if np.any(size >= _EXACT):
        raise KernelOverflowError(
            "a value over all subsets of 2^53 or more features overflows the exponent",
            hint="set max_arity, or normalise the kernel on its own, outside of sums",
        )
    bits = size.astype(np.int64)
    value, step = Wide.of(np.zeros(k.shape)), Wide.of(float(weight))
    while (bits > 0).any():
        value = where((bits & 1) == 1, value + step + value * step, value)
        bits = bits >> 1
        step = step * (step + 2.0)
    return value


def power_cosine(s: Wide, x: Wide, z: Wide, fewer: Wide, weight: float) -> Wide:
    """Return ((1+w)^s - 1)/√(((1+w)^x - 1)·((1+w)^z - 1)), even if no exponent holds one factor.

    ``fewer`` is (x+z)/2 - s, given apart to keep its digits.
    """
    some = s.positive() & x.positive() & z.positive()
    shares = [-expm1(-_fall(where(some, a, 1.0), weight)) for a in (s, x, z)]
    return where(some, power_decay(fewer, weight) * shares[0] / (shares[1] * shares[2]).sqrt(), 0.0)


def power_decay(size: Wide, weight: float) -> Wide:
    """Return (1+weight)^-size for sizes of any magnitude, at least 2^-2^51."""
    return exp(-_fall(size, weight))


def _fall(size: Wide, weight: float) -> Wide:
    fall = size * log1p(Wide.of(weight))
    return where(fall.floats() > _DEEPEST, _DEEPEST, fall)


def _terms_down(k: Wide, weight: float, largest: int) -> Wide:
    """Sum the terms from the largest subsets down, until the others are too small to count."""
    term = choose(k, largest) * Wide.of(float(weight)) ** largest
    total = term
    for j in range(largest, 1, -1):
        term = term * float(j) / ((k - float(j - 1)) * weight)
        total = total + term
        if np.all((term / total).floats() < _TINY):
            break
    return total


def _terms_up(k: Wide, weight: float, smallest: int) -> Wide:
    """Sum the terms from the smallest subsets up, until the others are too small to count."""
    term = choose(k, smallest) * Wide.of(float(weight)) ** smallest
    total = term
    for j in range(smallest, int(k.floats().max())):
        left = k - float(j)
        term = where(left.positive(), term * left * weight / float(j + 1), 0.0)
        total = total + term
        if np.all((term / total).floats() < _TINY):
            break
    return total
