"""Counts of pairs of binary vectors, the only input of a boolean kernel.

Two vectors over ``n`` variables divide them into four cells: active in both, in x alone, in z
alone, in neither. The features of a kernel, if they are 0 or 1, are variables again. Connectives of
cells are sums of positive products, so no digits cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CountsError, ParameterTypeError
from .functions import minimum
from .parameters import check_arities
from .wide import Wide, at_least_zero, spread, where

if TYPE_CHECKING:
    from .base import Kernel
    from .values import Layout


class NoCells(Exception):  # noqa: N818 - a signal, never seen by users
    """The kernel has no cells in doubles."""


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of one or many pairs, as a kernel's formula sees them: arrays of wide numbers.

    All attributes broadcast against each other. ``n`` is the number of variables, of which
    ``common`` are active in both vectors, ``only_x`` and ``only_z`` in one, ``neither`` in none.
    ``lifted`` means that these are counts of another kernel's features, without a bound on their
    size. Fast ways to compute values use doubles in place of wide numbers.

    >>> k = Counts.of(np.array(10), np.array(4), np.array([3, 5]), np.array([1, 2]))
    >>> k.union.floats(), k.agreeing.floats(), np.sqrt(k.x * k.z).floats().round(2)
    (array([6., 7.]), array([5., 5.]), array([3.46, 4.47]))
    """

    n: Any
    common: Any
    only_x: Any
    only_z: Any
    neither: Any
    lifted: bool = field(default=False, kw_only=True)

    @staticmethod
    def of(n: Any, x: Any, z: Any, c: Any) -> Counts:
        """Count pairs of vectors by their active variables and the common ones, in int64."""
        return Counts(*map(Wide.of, (n, c, x - c, z - c, n - x - z + c)))

    @staticmethod
    def of_vectors(n: int, sizes: NDArray[np.int64]) -> Counts:
        """Pair vectors of the given sizes with themselves."""
        return Counts.of(n, sizes, sizes, sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays, as numpy has it."""
        return np.broadcast_shapes(self.n.shape, self.neither.shape)

    @cached_property
    def x(self) -> Any:
        """Active in the first vector."""
        return self.common + self.only_x

    @cached_property
    def z(self) -> Any:
        """Active in the second vector."""
        return self.common + self.only_z

    @property
    def union(self) -> Any:
        """Return u, the number active in at least one vector."""
        return self.only_x + self.z

    @property
    def agreeing(self) -> Any:
        """Return s, the number active in both vectors or in neither."""
        return self.neither + self.common

    @property
    def variables(self) -> Counts:
        """Return the features of the linear kernel."""
        return self

    def of_x(self) -> Counts:
        """Pair the first vector with itself."""
        return self._own(self.x, self.only_z)

    def of_z(self) -> Counts:
        """Pair the second vector with itself."""
        return self._own(self.z, self.only_x)

    def _own(self, size: Wide, others: Wide) -> Counts:
        none = size * 0.0
        lacking = others + self.neither
        return replace(self, common=size, only_x=none, only_z=none, neither=lacking)

    def negation(self) -> Counts:
        """Count the negated variables."""
        swapped = {"only_x": self.only_z, "only_z": self.only_x}
        return replace(self, common=self.neither, neither=self.common, **swapped)

    def conjunction(self, other: Counts) -> Counts:
        """Count the pairs of features that are both true."""
        a, b = self, other
        one_false = a.only_x * (b.only_z + b.neither) + a.only_z * (b.only_x + b.neither)
        return Counts(
            a.n * b.n,
            a.common * b.common,
            a.common * b.only_x + a.only_x * (b.common + b.only_x),
            a.common * b.only_z + a.only_z * (b.common + b.only_z),
            a.neither * b.n + a.common * b.neither + one_false,
            lifted=True,
        )

    def disjunction(self, other: Counts) -> Counts:
        """Count the pairs of features with at least one true, by de Morgan's law."""
        return self.negation().conjunction(other.negation()).negation()

    def exclusive(self, other: Counts) -> Counts:
        """Count the pairs of features with exactly one true."""
        both, only_x, only_z, neither = other.common, other.only_x, other.only_z, other.neither

        def matched(w: Any, x: Any, z: Any, n: Any) -> Any:
            return (self.common * w + self.neither * n) + (self.only_x * x + self.only_z * z)

        return Counts(
            self.n * other.n,
            matched(neither, only_z, only_x, both),
            matched(only_z, neither, both, only_x),
            matched(only_x, both, neither, only_z),
            matched(both, only_x, only_z, neither),
            lifted=True,
        )

    def lift(self, kernel: Kernel) -> Counts:
        """Count the features of a kernel in wide numbers, as whole numbers."""
        if not isinstance(self.common, Wide):
            raise NoCells
        own = self.of_x(), self.of_z()
        n = kernel.features(self.n).rounded()
        x, z = (minimum(kernel.own_value(each).rounded(), n) for each in own)
        common = minimum(kernel.value(self).rounded(), minimum(x, z))
        clauses = kernel.feature_clauses
        if clauses is None or not clauses.of_one_length:
            only_x, only_z = x - common, z - common
            return Counts(n, common, only_x, only_z, at_least_zero(n - x - only_z), lifted=True)
        neither = clauses.false_of_both(self).rounded()

        def alone(size: Wide, other: Counts) -> Wide:
            most = (size * 2.0 - n).positive()
            less_common = at_least_zero(size - common)
            if not most.any():
                return less_common
            # Of most features, those that the other vector lacks less those that both lack: the
            # difference of smaller numbers has more digits.
            lacking = clauses.false_of_both(other).rounded()
            return where(most, at_least_zero(lacking - neither), less_common)

        return Counts(n, common, alone(x, own[1]), alone(z, own[0]), neither, lifted=True)


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

    def table(self, make: Callable[..., Any], kernel: Kernel, layout: Layout, *more: Any) -> Any:
        """Return a cached table, built if there is none or one for smaller sizes only."""
        key = make, kernel, *more
        found = self.tables.get(key)
        if found is None or found[0] < layout.most:
            found = self.tables[key] = layout.most, make(kernel, layout, *more)
        return found[1]

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
        return Counts.of(*(column[start:stop] for column in self.columns))
