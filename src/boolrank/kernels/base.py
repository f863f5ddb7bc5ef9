"""The kernel as a value: what every boolean kernel has, given its formula on counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._memory import free_memory, size
from ..errors import KernelOverflowError, MatrixTooLargeError, ParameterTypeError
from ..table import Table
from .binary import as_binary, overlap_counts
from .counts import Counts, Pairs
from .evaluate import cosines, inverse_root, raw_values
from .wide import Wide, spread

if TYPE_CHECKING:
    from ..data.interactions import MatrixLike
    from .algebra import Composed, Normalized

Form = Literal["common", "agreeing", "union", "any"]

# Matrices up to so many bytes are not worth asking how much memory there is.
_SMALL = 1 << 26
# What follows from a formula: a class with a formula of its own inherits none of it.
_DERIVED = (
    *("form", "own_value", "cosine", "features", "features_in_neither"),
    *("values_of", "cosines_of", "bytes_per_pair", "cosine_bytes_per_pair"),
    *("from_full", "centred_of"),
)
# What takes counts and gives a value for each.
_FORMULAS = ("value", "own_value", "cosine")


class Kernel(ABC):
    """A boolean kernel: a value with a formula on counts, and nothing fitted.

    A kernel of your own is a frozen dataclass with a ``name`` and a ``value``. The formula is
    written on the counts of a pair (``k.n``, ``k.x``, ``k.z``, ``k.common``, ``k.union``,
    ``k.agreeing``), wide numbers that neither overflow nor run out of digits early.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False)
    ... class Dice(Kernel):
    ...     name = "dice"
    ...     formula = "2c / (x + z)"
    ...
    ...     def value(self, k):
    ...         return k.common * 2 / (k.x + k.z)
    >>> Dice()([[1, 1, 0], [0, 1, 1]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    name: ClassVar[str]
    formula: ClassVar[str]

    # numpy scalars on the left of `*` must come to our operators.
    __array_ufunc__ = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "name"):
            cls.name = cls.__name__
        own = {name: member for name, member in vars(cls).items() if name in _FORMULAS}
        for name, formula in own.items():
            setattr(cls, name, _in_wide_numbers(formula))
        if "value" in own:
            for name in _DERIVED:
                if name not in vars(cls):
                    setattr(cls, name, vars(Kernel)[name])

    @property
    def form(self) -> Form:
        """Which counts the formula needs, where that makes it a table: see `evaluate.py`."""
        return "any"

    @abstractmethod
    def value(self, k: Counts) -> Wide:
        """The formula. Null vectors have value 0; no other care is asked for."""

    def own_value(self, k: Counts) -> Wide:
        """The value of a vector with itself, ``k`` being such a pair."""
        return self.value(k)

    def cosine(self, k: Counts) -> Wide:
        """κ(x, z)/√(κ(x, x)·κ(z, z)), and 0 where a vector is null."""
        roots = [inverse_root(self.own_value(own)) for own in (k.of_x(), k.of_z())]
        return self.value(k) * (roots[0] * roots[1])

    def from_full(self, k: Counts) -> Wide | None:  # noqa: ARG002 - for kernels that know it
        """1 - the cosine of a vector with the full one, ``k`` being the vector with itself.

        For kernels that are additive in the union, and know it to all digits however small it is.
        """
        return None

    @property
    def bytes_per_pair(self) -> int:
        """What a Gram matrix takes for each value while it is computed: measured, and rounded."""
        return 80 if self.form == "any" else 12

    @property
    def cosine_bytes_per_pair(self) -> int:
        """The same for normalised values."""
        return self.bytes_per_pair

    def features(self, n: Wide) -> Wide:  # noqa: ARG002 - for kernels that have such features
        """How many features there are over n variables, where each of them is 0 or 1."""
        raise ParameterTypeError(
            f"{self} cannot be the inner kernel of `outer @ inner`: its features are not 0 or 1"
        )

    def features_in_neither(self, k: Counts) -> Wide | None:  # noqa: ARG002 - as above
        """How many of such features are false in both vectors, where no difference is needed."""
        return None

    def on_counts(self, n: ArrayLike, x: ArrayLike, z: ArrayLike, c: ArrayLike) -> NDArray[Any]:
        """Kernel values of pairs given by their counts.

        Parameters
        ----------
        n, x, z, c : whole numbers or arrays of them that broadcast
            Number of variables, active ones in each of the two vectors, and in both.

        Returns
        -------
        array of float64, of the broadcast shape
            Exact below 2^53 and to 1e-12 above, and for normalised kernels.

        >>> from boolrank import Disjunctive
        >>> Disjunctive(2).on_counts(n=10, x=3, z=[2, 4], c=[0, 1])
        array([ 6., 15.])
        """
        pairs = Pairs.of(n, x, z, c)
        with np.errstate(all="ignore"):
            return self.values_of(pairs)

    def __call__(self, X: MatrixLike, Z: MatrixLike | None = None) -> NDArray[np.float64]:
        """Gram matrix of the rows of binary matrices, dense or sparse.

        Parameters
        ----------
        X : (m, n) matrix of 0 and 1
        Z : (k, n) matrix of 0 and 1, or None for X itself

        Returns
        -------
        (m, k) array of float64

        Where that would not fit into memory, an error says so before anything is allocated.
        """
        rows = as_binary(X, "X")
        others = rows if Z is None or Z is X else as_binary(Z, "Z", width=rows.shape[1])
        self._affordable(rows.shape[0], others.shape[0])
        counts = overlap_counts(rows, others)
        x, z = rows.sums, others.sums
        pairs = Pairs(np.asarray(rows.shape[1]), x[:, None], z[None, :], counts)
        with np.errstate(all="ignore"):
            gram = self.values_of(pairs, checked=True)
            if others is rows:
                np.fill_diagonal(gram, self._own_values(rows.shape[1], x))
        return gram

    def diag(self, X: MatrixLike) -> NDArray[np.float64]:
        """Values of the rows of a binary matrix with themselves, without the Gram matrix."""
        rows = as_binary(X, "X")
        with np.errstate(all="ignore"):
            return self._own_values(rows.shape[1], rows.sums)

    def normalized(self) -> Normalized:
        """κ(x, z) / √(κ(x, x)·κ(z, z)); a null vector has 1 with itself and 0 with others."""
        from .algebra import Normalized

        return self if isinstance(self, Normalized) else Normalized(self)

    def values_of(self, pairs: Pairs, checked: bool = False) -> NDArray[np.float64]:
        """Values of pairs, in their broadcast shape; ``checked`` counts are not looked at again."""
        return self._finite(raw_values(self, pairs, checked))

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> NDArray[np.float64]:
        """Normalised values: overridden where they follow from those of the parts."""
        return cosines(self, pairs, checked)

    def centred_of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Normalised values with the full vector as origin, of kernels that know `from_full`.

        Vectors that have nearly everything in common with the full one are told apart by these.
        """
        from .tables import centred

        return centred(self, pairs)

    def _affordable(self, m: int, k: int) -> None:
        needed = m * k * self.bytes_per_pair
        if needed > _SMALL and needed > (free := free_memory()):
            raise MatrixTooLargeError(
                f"a Gram matrix of {m:,} x {k:,} values needs about {size(needed)} to compute, and "
                f"{size(free)} are free; take rows in blocks, such as kernel(X[:1000], X), or a "
                "sample of them; spectral_ratio needs no matrix"
            )

    def _own_values(self, n: int, x: NDArray[np.int64]) -> NDArray[np.float64]:
        distinct, inverse = np.unique(x, return_inverse=True)
        own = Wide.of(distinct)
        return self._finite(self.own_value(Counts(Wide.of(n), own, own, own)).floats())[inverse]

    def _finite(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if not np.isfinite(values).all():
            simple = f"{self}" if str(self).startswith(self.name) else f"({self})"
            raise KernelOverflowError(
                f"a value of {self} is past the largest double; use {simple}.normalized(), "
                "whose values lie between 0 and 1"
            )
        return values

    def __add__(self, other: Any) -> Kernel:
        from .algebra import Sum

        return Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        """``sum`` starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from .algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product.of(self, other)
        weight: Any = other[()] if isinstance(other, np.ndarray) and other.ndim == 0 else other
        if not np.isscalar(weight):
            return NotImplemented
        number: Any = weight
        return Scaled(number, self)

    def __rmul__(self, other: Any) -> Kernel:
        return self.__mul__(other)

    def __pow__(self, exponent: Any) -> Kernel:
        from .algebra import Power

        return Power(self, exponent)

    def __matmul__(self, inner: Any) -> Composed:
        from .algebra import Composed

        return Composed(self, inner) if isinstance(inner, Kernel) else NotImplemented

    def __repr__(self) -> str:
        shown = []
        this: Any = self  # a dataclass, or else check_kernel says so
        for field in fields(this) if is_dataclass(this) else ():
            value = getattr(self, field.name)
            if field.default is MISSING:
                shown.append(repr(value))
            elif value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"{self.name}({', '.join(shown)})" if shown else self.name

    def _repr_html_(self) -> str:
        this: Any = self
        said = (type(self).__doc__ or "").partition("\n\n")[0].replace("`", "")
        if said.startswith(f"{type(self).__name__}("):  # what dataclass writes where nobody did
            said = ""
        formula = getattr(self, "formula", "")
        head, _, words = said.partition(": ")
        said = words if head.replace("…", "...") == formula else said
        rows = [["formula", formula], ["says", " ".join(said.split())]]
        for field in fields(this) if is_dataclass(this) else ():
            allowed = field.metadata.get("range")
            rows.append([field.name, f"{getattr(self, field.name)!r}"])
            rows[-1][1] += f"  ({allowed})" if allowed else ""
        return Table.of(repr(self), ["", ""], [row for row in rows if row[1]]).to_html()


Formula = Callable[[Any, Counts], Any]


def _in_wide_numbers(formula: Formula) -> Formula:
    """The formula, its values as wide numbers of the counts' shape whatever numbers it gives."""

    @wraps(formula)
    def values(self: Kernel, k: Counts) -> Wide:
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
