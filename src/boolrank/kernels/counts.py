"""Counts of pairs of binary vectors, the only input of a boolean kernel.

Two vectors over ``n`` variables have ``x`` and ``z`` active ones, ``c`` of them in common. The
union is ``u = x + z - c``; they agree on ``s = n - x - z + 2c`` variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..counts.overlaps import Overlaps
from ..errors import CountsError, ParameterTypeError
from .parameters import check_arities
from .wide import Wide, at_least_zero, spread


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The counts of one or many pairs, as a kernel's formula sees them: arrays of wide numbers.

    All attributes broadcast against each other. ``n`` is the number of variables, ``x`` and ``z``
    the active ones of the two vectors, ``common`` those active in both. ``lifted`` means that these
    are counts of another kernel's features, without a bound on their size. ``outside`` is the
    number active in neither vector, and ``alone`` those active in x alone and in z alone, if they
    are known to more digits than a difference has.

    >>> k = Counts(Wide.of(10), Wide.of(4), Wide.of([3, 5]), Wide.of([1, 2]))
    >>> k.union.floats(), k.agreeing.floats(), np.sqrt(k.x * k.z).floats().round(2)
    (array([6., 7.]), array([5., 5.]), array([3.46, 4.47]))
    """

    n: Wide
    x: Wide
    z: Wide
    common: Wide
    lifted: bool = False
    outside: Wide | None = None
    alone: tuple[Wide, Wide] | None = None

    @staticmethod
    def of_vectors(n: int, sizes: NDArray[np.int64]) -> Counts:
        """Pair vectors of the given sizes with themselves."""
        own = Wide.of(sizes)
        return Counts(Wide.of(n), own, own, own)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays, as numpy has it."""
        return np.broadcast_shapes(*(a.shape for a in (self.n, self.x, self.z, self.common)))

    @property
    def union(self) -> Wide:
        """Return u, the number active in at least one vector."""
        return self.only_x + self.z

    @property
    def only_x(self) -> Wide:
        """Active in the first vector alone."""
        return self.x - self.common if self.alone is None else self.alone[0]

    @property
    def only_z(self) -> Wide:
        """Active in the second vector alone."""
        return self.z - self.common if self.alone is None else self.alone[1]

    @property
    def neither(self) -> Wide:
        """Active in neither vector."""
        return at_least_zero(self.n - self.union) if self.outside is None else self.outside

    @property
    def agreeing(self) -> Wide:
        """Return s, the number active in both vectors or in neither."""
        return self.neither + self.common

    def complement(self) -> Counts:
        """Swap active and inactive variables of both vectors."""
        n, alone = self.n, None if self.alone is None else (self.alone[1], self.alone[0])
        return Counts(n, n - self.x, n - self.z, self.neither, self.lifted, self.common, alone)

    def of_x(self) -> Counts:
        """Pair the first vector with itself."""
        return Counts(self.n, self.x, self.x, self.x, self.lifted)

    def of_z(self) -> Counts:
        """Pair the second vector with itself."""
        return Counts(self.n, self.z, self.z, self.z, self.lifted)


def in_wide_numbers(formula: Callable[[Any, Counts], Any]) -> Callable[[Any, Counts], Wide]:
    """Check arities before a formula, and convert its values to wide numbers of one shape."""

    @wraps(formula)
    def values(self: Any, k: Counts) -> Wide:
        check_arities(self, k.n, k.lifted)
        given = formula(self, k)
        try:
            if isinstance(given, Wide) or np.asarray(given).dtype.kind in "biuf":
                return spread(Wide.of(given), k.shape)
        except ValueError:  # does not broadcast
            pass
        raise ParameterTypeError(
            f"{formula.__name__} of {self} must give a number for each pair of counts, such as "
            f"k.common / k.n, not {given!r} of type {type(given).__name__}"
        )

    return values


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Counts of many pairs, as integer arrays that broadcast against each other.

    ``tables`` caches the look-up tables of kernels, and may be shared by pairs over the same n.
    Counts from outside (`of`) are checked before use, or by the loops that use them; others are
    ``trusted``. With ``users``, counts are masses: n is the total weight of that number of users,
    and ``roots`` are 1/√κ(x, x) and 1/√κ(z, z), if known. Tables cover sizes up to ``most`` at
    least: their digits depend on it, and must not depend on which pairs come first.
    """

    n: NDArray[Any]
    x: NDArray[Any]
    z: NDArray[Any]
    c: NDArray[Any]
    tables: dict[Any, Any] = field(default_factory=dict)
    trusted: bool = True
    users: int | None = None
    roots: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    most: int = 0

    @staticmethod
    def of_items(overlaps: Overlaps, x: Any, z: Any, c: Any, tables: Any = None) -> Pairs:
        """Make pairs of items from sizes and shared users, of counts or of masses."""
        users = None if overlaps.weighting is None else overlaps.weighting.active
        most, tables = int(overlaps.sizes.max(initial=0)), {} if tables is None else tables
        return Pairs(np.asarray(overlaps.total), x, z, c, tables, users=users, most=most)

    @staticmethod
    def of(
        n: ArrayLike, x: ArrayLike, z: ArrayLike, c: ArrayLike, users: int | None = None
    ) -> Pairs:
        """Make pairs of counts or masses from outside, which are not trusted."""
        try:
            arrays = [np.asarray(each) for each in (n, x, z, c)]
            np.broadcast_shapes(*(array.shape for array in arrays))
        except (ValueError, TypeError) as error:
            raise CountsError(f"counts must be arrays that broadcast: {error}") from None
        if any(array.dtype.kind not in "iuf" for array in arrays):
            kinds = ", ".join(str(array.dtype) for array in arrays)
            raise CountsError(f"the counts n, x, z and c must be numbers, not {kinds}")
        return Pairs(arrays[0], arrays[1], arrays[2], arrays[3], trusted=False, users=users)

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.n, self.x, self.z, self.c

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays, as numpy has it."""
        return np.broadcast_shapes(*(column.shape for column in self.columns))

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def checked(self) -> Pairs:
        """Return trusted pairs; raise if these are not and some counts are impossible."""
        if self.trusted:
            return self
        self.check()
        return replace(self, trusted=True)

    def check(self) -> None:
        """Raise for the first counts that no pair of vectors has, and say where and why."""
        for name, array in zip("nxzc", self.columns, strict=True):
            if array.dtype.kind == "f":
                whole = np.isfinite(array) & (np.floor(array) == array)
                self._refuse(~whole, f"{name} is not a whole number")
            if array.dtype.kind != "u":
                self._refuse(array < 0, f"{name} is negative")
            bits = 53 if self.users is None else 62
            self._refuse(array >= 2**bits, f"{name} is 2^{bits} or more, beyond exact computation")
        x, z, c = (a.astype(np.int64) for a in (self.x, self.z, self.c))
        self._refuse(c > np.minimum(x, z), "c is more than x or z")
        self._refuse(x + z - c > self.n, "the union x + z - c is more than n")

    def _refuse(self, bad: NDArray[np.bool_], why: str) -> None:
        bad = np.broadcast_to(bad, self.shape)
        if not bad.any():
            return
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        n, x, z, c = (np.broadcast_to(a, self.shape)[at].item() for a in self.columns)
        place = f" at {list(at)}" if at else ""
        raise CountsError(f"impossible counts{place}: n={n}, x={x}, z={z}, c={c}: {why}")

    def flat(self) -> Pairs:
        """Flatten to four 1-d arrays of int64, the smaller vector first.

        Kernels are symmetric, so this makes (x, z) and (z, x) equal to the last digit.
        """
        whole = (np.broadcast_to(a, self.shape).ravel().astype(np.int64) for a in self.columns)
        n, x, z, c = whole
        return Pairs(n, np.minimum(x, z), np.maximum(x, z), c, users=self.users)

    def distinct(self) -> tuple[Pairs, NDArray[np.intp]]:
        """Return each distinct pair of counts once, and the index of every flat pair in them."""
        flat = self.flat()
        key, span = np.zeros(len(flat.c), np.int64), 1
        for column in flat.columns:
            part = column - column.min()
            width = int(part.max()) + 1
            if span * width >= 1 << 62:  # renumber the distinct keys, so that the product fits
                (first, key), (second, part) = (
                    np.unique(each, return_inverse=True) for each in (key, part)
                )
                span, width = len(first), len(second)
            key, span = key * width + part, span * width
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        n, x, z, c = (column[first] for column in flat.columns)
        return Pairs(n, x, z, c, users=self.users), inverse

    def block(self, start: int, stop: int) -> Counts:
        """Return a stretch of flat pairs as wide numbers."""
        n, x, z, c = (Wide.of(a[start:stop]) for a in self.columns)
        return Counts(n, x, z, c)
