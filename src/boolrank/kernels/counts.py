"""Counts of pairs of binary vectors: all that a boolean kernel looks at.

Two vectors over ``n`` variables, with ``x`` and ``z`` active ones, ``c`` of them active in both.
From these follow the union ``u = x + z - c`` and the agreeing variables ``s = n - x - z + 2c``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CountsError
from .wide import Wide, at_least_zero, smaller


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts as wide numbers: what a kernel's formula takes.

    ``lifted`` says that they count the features of another kernel, and so may be of any size;
    ``outside``, how many are active in neither vector, where no difference is needed to know it.

    >>> k = Counts(Wide.of(10), Wide.of(4), Wide.of([3, 5]), Wide.of([1, 2]))
    >>> k.union.floats(), k.agreeing.floats()
    (array([6., 7.]), array([5., 5.]))
    """

    n: Wide
    x: Wide
    z: Wide
    common: Wide
    lifted: bool = False
    outside: Wide | None = None

    @staticmethod
    def of_features(n: Wide, x: Wide, z: Wide, common: Wide, outside: Wide | None) -> Counts:
        """Counts of features, which were computed: made whole, and none past what bounds it."""
        n, x, z, common = (count.rounded() for count in (n, x, z, common))
        x, z = smaller(x, n), smaller(z, n)
        outside = None if outside is None else outside.rounded()
        return Counts(n, x, z, smaller(common, smaller(x, z)), lifted=True, outside=outside)

    @property
    def shape(self) -> tuple[int, ...]:
        """What the counts broadcast to."""
        return np.broadcast_shapes(*(a.shape for a in (self.n, self.x, self.z, self.common)))

    @property
    def union(self) -> Wide:
        """u: active in one of the vectors or both."""
        return self.only_x + self.z

    @property
    def only_x(self) -> Wide:
        """Active in the first vector and not in the second."""
        return self.x - self.common

    @property
    def only_z(self) -> Wide:
        """Active in the second vector and not in the first."""
        return self.z - self.common

    @property
    def neither(self) -> Wide:
        """Active in neither vector."""
        return at_least_zero(self.n - self.union) if self.outside is None else self.outside

    @property
    def agreeing(self) -> Wide:
        """s: active in both vectors or in neither."""
        return self.neither + self.common

    @property
    def things(self) -> str:
        """What is counted."""
        return "feature" if self.lifted else "variable"

    def complement(self) -> Counts:
        """The vectors with all variables negated."""
        n = self.n
        return Counts(n, n - self.x, n - self.z, self.neither, self.lifted, self.common)

    def of_x(self) -> Counts:
        """The first vector paired with itself."""
        return Counts(self.n, self.x, self.x, self.x, self.lifted)

    def of_z(self) -> Counts:
        """The second vector paired with itself."""
        return Counts(self.n, self.z, self.z, self.z, self.lifted)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Counts of many pairs as arrays of whole numbers that broadcast against each other.

    ``tables`` keeps what kernels build to look values up, for parts of the same pairs to share.
    """

    n: NDArray[Any]
    x: NDArray[Any]
    z: NDArray[Any]
    c: NDArray[Any]
    tables: dict[Any, Any] = field(default_factory=dict)

    @staticmethod
    def of(n: ArrayLike, x: ArrayLike, z: ArrayLike, c: ArrayLike) -> Pairs:
        arrays = {}
        for name, given in (("n", n), ("x", x), ("z", z), ("c", c)):
            try:
                array = arrays[name] = np.asarray(given)
            except (ValueError, TypeError) as error:
                raise CountsError(f"{name} is not an array of counts: {error}") from None
            if array.dtype.kind not in "iuf":
                raise CountsError(
                    f"counts are whole numbers, but {name} is an array of {array.dtype}"
                )
        try:
            np.broadcast_shapes(*(array.shape for array in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise CountsError(f"counts must broadcast against each other; got {shapes}") from None
        return Pairs(arrays["n"], arrays["x"], arrays["z"], arrays["c"])

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(self.n.shape, self.x.shape, self.z.shape, self.c.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def check(self) -> None:
        """Raise where no pair of vectors has such counts, and say where and why."""
        for name, array in (("n", self.n), ("x", self.x), ("z", self.z), ("c", self.c)):
            if array.dtype.kind == "f":
                whole = np.isfinite(array) & (np.floor(array) == array)
                self._refuse(~whole, f"{name} is not a whole number")
            if array.dtype.kind != "u":
                self._refuse(array < 0, f"{name} is negative")
            self._refuse(array >= 2**53, f"{name} is 2^53 or more, past what is computed exactly")
        x, z, c = (a.astype(np.int64) for a in (self.x, self.z, self.c))
        self._refuse(c > np.minimum(x, z), "c is more than x or z: no more can be common")
        self._refuse(
            x + z - c > self.n, "x + z - c is more than n: there are not so many variables"
        )

    def _refuse(self, bad: NDArray[np.bool_], why: str) -> None:
        if not bad.any():
            return
        bad = np.broadcast_to(bad, self.shape)
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        n, x, z, c = (
            np.broadcast_to(a, self.shape)[where].item() for a in (self.n, self.x, self.z, self.c)
        )
        place = f" at {list(where)}" if where else ""
        raise CountsError(f"impossible counts{place}: n={n}, x={x}, z={z}, c={c}: {why}")

    def flat(self) -> Pairs:
        """The same pairs as four one-dimensional arrays of int64, the smaller vector first.

        Kernels are symmetric, so (x, z) and (z, x) are one, to the last digit.
        """
        n, x, z, c = (
            np.broadcast_to(a, self.shape).ravel().astype(np.int64)
            for a in (self.n, self.x, self.z, self.c)
        )
        return Pairs(n, np.minimum(x, z), np.maximum(x, z), c)

    def distinct(self) -> tuple[Pairs, NDArray[np.int32]]:
        """Each pair of counts once, and where each of the flat ones is among them."""
        from .._compiled.distinct import distinct_keys

        flat = self.flat()
        columns = (flat.n, flat.x, flat.z, flat.c)
        key = np.zeros(len(flat.c), dtype=np.int64)
        span = 1
        for column in columns:
            part = column - column.min()
            width = int(part.max()) + 1
            if span * width >= 1 << 62:  # number what there is, so that the product fits
                (first, key), (second, part) = distinct_keys(key), distinct_keys(part)
                span, width = len(first), len(second)
            key = key.astype(np.int64) * width + part
            span *= width
        first, inverse = distinct_keys(key)
        return Pairs(*(column[first] for column in columns)), inverse

    def block(self, start: int, stop: int) -> Counts:
        """A stretch of flat pairs as wide numbers."""
        part = slice(start, stop)
        n, x, z, c = (Wide.of(a[part]) for a in (self.n, self.x, self.z, self.c))
        return Counts(n, x, z, c)
