"""Kernels on masses: users have weights, and a formula of arity d draws d users by weight.

Masses are whole numbers; a formula sees them as shares of the total. Terms are positive, or cancel
a factor of 3 at most, so doubles are right to about 1e-14. Wide numbers serve other values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterTypeError
from .counts import Counts, NoCells, Pairs
from .wide import Wide, by_squaring, inverse_root, where

if TYPE_CHECKING:
    from .base import Kernel

Floats = NDArray[np.float64]

# Less than any share: a divisor in place of 0.
TINY = 2.0**-200
# Pairs that are computed at once: temporaries stay in the second-level cache.
_BLOCK = 1 << 13
# Steps of about 1 ns per pair: few pairs are not worth a thread.
_STEPS = 100
# Distance from the full set beyond which values do not crowd near 1.
_FAR = 0.25
# Values whose exponents are up to this one fit into doubles, times two roots.
_SAFE = 300


class Masses:
    """Shares of pairs of sets in the total mass, as a kernel's formula on masses sees them.

    ``x``, ``z``, ``common``, ``union``, ``only_x``, ``only_z``, ``not_x``, ``not_z`` and
    ``neither`` are arrays of doubles or of wide numbers. ``n`` is the number of users:
    ``n·common`` is the effective number of shared ones. ``neither`` is negative for two large sets
    that are taken as disjoint.
    """

    def __init__(self, pairs: Pairs, x: Any, z: Any, c: Any, number: Callable[[Any], Any]) -> None:
        total = int(pairs.n)
        self.n, self._number, self._total = number(pairs.users), number, number(total)
        self._parts: dict[str, Callable[[], Any]] = {
            "x": lambda: x,
            "z": lambda: z,
            "common": lambda: c,
            "union": lambda: x + z - c,
            "only_x": lambda: x - c,
            "only_z": lambda: z - c,
            "not_x": lambda: total - x,
            "not_z": lambda: total - z,
            "neither": lambda: total - x - z + c,
        }
        self._sides = pairs, (x, z, x + z - c)

    def __getattr__(self, name: str) -> Any:
        """Compute a share when it is first used; it is rounded once."""
        if name not in self._parts:
            raise AttributeError(f"masses have no {name!r}", name=name, obj=self)
        share = self.__dict__[name] = self._number(self._parts[name]()) / self._total
        return share

    @property
    def variables(self) -> Counts:
        """Return the shares in four cells, of a total of 1."""
        return Counts(1.0, self.common, self.only_x, self.only_z, self.neither)

    def lift(self, _: Kernel) -> Counts:
        """Raise: features of kernels have no masses."""
        raise NoCells

    def own(self) -> list[Masses]:
        """Pair with themselves: the first sets, the second ones, and their unions."""
        pairs, sides = self._sides
        return [Masses(pairs, side, side, side, self._number) for side in sides]


def mass_values(kernel: Kernel, pairs: Pairs, normalize: bool) -> Floats:
    """Return κ(x, z) on masses as doubles; optionally normalised."""
    fits = _fits(kernel, pairs)
    known = pairs.roots if normalize and fits else None
    value = partial(mass_cosine, kernel) if normalize and known is None else kernel.mass_value
    out = _in_blocks(value, pairs, np.float64 if fits else Wide.of)
    if known is not None:
        x, z = (np.broadcast_to(each, out.shape) for each in known)
        # The product of the roots comes first, so that the values of (x, z) and (z, x) are equal.
        fill_blocks(out, lambda part: out[part] * (x[part] * z[part]), _BLOCK, _STEPS)
    if np.isnan(out).any():
        raise ParameterTypeError(f"the formula of {kernel} on masses gives NaN")
    return out


def mass_centred_values(kernel: Kernel, pairs: Pairs) -> Floats:
    """Return cosine(x, z) - cosine(x, full) - cosine(z, full) + 1 without cancellation.

    With x, z, u = 1 - cosine with the full set, of two sets and their union, all that is near 1
    cancels by hand. Two sets that are far from the full one need no such care.
    """

    def value(k: Masses) -> Floats:
        x, z, u = (kernel.from_full(own) for own in k.own())
        roots = (1 - x) * (1 - z)
        near = (u * (2 - u) - x * z * (3 - x - z)) / np.where(roots == 0, 1.0, roots)
        far = mass_cosine(kernel, k) + (x + z - 1)
        return np.asarray(np.where((roots == 0) | (np.minimum(x, z) > _FAR), far, near))

    return _in_blocks(value, pairs, np.float64)


def _in_blocks(value: Callable[[Masses], Any], pairs: Pairs, number: Any) -> Floats:
    """Compute the values of pairs on all threads."""
    shape = pairs.shape or (1,)
    x, z, c = (np.atleast_1d(each) for each in (pairs.x, pairs.z, np.broadcast_to(pairs.c, shape)))
    x, z = (each if each.ndim == len(shape) else np.broadcast_to(each, shape) for each in (x, z))
    out = np.empty(shape)

    def of_part(part: slice) -> Any:
        of_x, of_z = (each[part] if len(each) > 1 else each for each in (x, z))
        return value(Masses(pairs, of_x, of_z, c[part], number))

    fill_blocks(out, of_part, _BLOCK, _STEPS)
    return out.reshape(pairs.shape)


def fill_blocks(out: Floats, values: Callable[[slice], Any], block: int, steps: int) -> None:
    """Fill an array on all threads, by slices of about ``block`` values of so many steps each."""
    from .._compiled.ranges import for_ranges

    size = max(block // max(out[:1].size, 1), 1)

    def fill(start: int, stop: int) -> None:
        with np.errstate(all="ignore"):  # threads do not inherit the caller's
            for first in range(start, stop, size):
                part = slice(first, min(first + size, stop))
                out[part] = values(part)

    for_ranges(fill, len(out), steps * out.size)


def mass_cosine(kernel: Kernel, k: Masses) -> Any:
    """Return κ(x, z)/√(κ(x, x)κ(z, z)) in the numbers of ``k``."""
    roots = [inverse_root(kernel.mass_value(own)) for own in k.own()[:2]]
    return kernel.mass_value(k) * (roots[0] * roots[1])


def _fits(kernel: Kernel, pairs: Pairs) -> bool:
    """Tell whether doubles hold the values of the smallest and the largest set with themselves."""
    sizes = np.concatenate([side[side > 0] for side in (pairs.x, pairs.z)])
    if not len(sizes):
        return True
    ends = np.array([sizes.min(), sizes.max()])
    own = Wide.of(kernel.mass_value(Masses(pairs, ends, ends, ends, Wide.of)))
    return bool((np.abs(own.exp[own.hi != 0]) <= _SAFE).all())


def power_minus_one(r: Any, d: int) -> Any:
    """Return (1 + r)^d - 1 by doubling: relative digits stay where r is near 0."""
    result = None
    while True:
        if d & 1:
            result = r if result is None else result + r + result * r
        d >>= 1
        if not d:
            return result
        r = r * (r + 2.0)


def missed_share(met: Any, outside: Any, d: int) -> Any:
    """Return (1 - t)^d, given 1 - (1 - t)^d and 1 - t.

    The difference has an error of 1e-16, the power a relative one of d times that.
    """
    small = (1.0 - met) * d < 1.0
    pick: Any = where if isinstance(met, Wide) else np.where
    return pick(small, by_squaring(outside, d), 1.0 - met)
