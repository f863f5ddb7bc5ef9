"""The kernel: a value with a formula on counts, and everything that follows from the formula."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, fields, is_dataclass
from inspect import isabstract
from itertools import pairwise
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels  # classes that are built on this one are looked up when they are used
from .._memory import require_memory
from ..errors import InputError, KernelOverflowError, ParameterError, ParameterTypeError
from .binary_matrix import active, as_binary, overlap_counts
from .counts import Counts, NoCells, Pairs, in_wide_numbers
from .masses import Masses, mass_values
from .values import compute_values
from .wide import Wide, inverse_root

if TYPE_CHECKING:
    from ..data.events import MatrixLike
    from .clauses import Clauses

Form = Literal["common", "agreeing", "union", "any"]

# Values of a Gram matrix that are computed at once: 84 MB at most.
_BLOCK = 1 << 20
# Members that compute wide numbers of counts.
_FORMULAS = {"value", "own_value", "cosine"}

# All kernels that text can name; a class with a name of its own adds itself.
KERNELS: dict[str, type[Kernel]] = {}


class Kernel(ABC):
    """A boolean kernel: a formula on the counts of a pair of binary vectors. Nothing is fitted.

    To write your own, subclass it as a frozen dataclass with a ``name`` and a ``value``; the fields
    are its parameters. ``value`` gets the `Counts` of many pairs at once: ``k.n`` variables,
    ``k.x`` and ``k.z`` active ones in the two vectors, ``k.common`` in both, ``k.union`` in at
    least one, ``k.agreeing`` on which they agree. Each is an array of wide numbers (32 digits, no
    overflow) that takes ``+ - * / **``, comparisons and numpy's functions.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False)
    ... class Damped(Kernel):
    ...     power: float = 0.5
    ...     name = "damped"
    ...
    ...     def value(self, k):
    ...         return np.log1p(k.common) / (k.x * k.z) ** self.power
    >>> Damped()([[1, 1, 0], [0, 1, 1]]).round(3)
    array([[0.549, 0.347],
           [0.347, 0.549]])

    `parse_kernel` finds it by its name, once the class is defined.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    # How tightly the text binds: | is -2, ^ -1, + 0, @ 1, * 2, ** and ~ 3.
    binding: ClassVar[int] = 4
    _shared: ClassVar[bool] = True

    # numpy scalars on the left of `*` must come to our operators.
    __array_ufunc__ = None

    def __init_subclass__(cls, in_text: bool = True, shared: bool = False) -> None:
        """Add the class to `KERNELS` if it has a name, unless it is inside a function.

        A ``shared`` class has what several kernels have in common.
        """
        super().__init_subclass__()
        cls._shared = shared or isabstract(cls)
        known = [b for b in cls.__mro__[1:] if vars(b).get("_shared") is False]
        # All other members follow from these.
        if known and vars(cls).keys() & {"value", "feature_clauses"}:
            message = f"{cls.__name__} has another formula than {known[0].__name__}"
            raise ParameterError(message, hint="derive it from Kernel")
        if "name" in vars(cls) and in_text and "<locals>" not in cls.__qualname__:
            if not cls.name.isidentifier() or iskeyword(cls.name):
                message = f"{cls.name!r} cannot name the kernel {cls.__name__} in text"
                hint = "use letters, digits and _, such as 'my_kernel'"
                raise ParameterError(message, hint=hint, parameter="name")
            both = KERNELS.get(cls.name, cls), cls
            places = [f"{each.__module__}.{each.__qualname__}" for each in both]
            if places[0] != places[1]:  # a class defined again, as in a notebook, is not a twin
                message = f"{cls.name!r} names several kernels: {', '.join(places)}"
                raise ParameterError(message, hint="rename one", parameter="name")
            KERNELS[cls.name] = cls
        if not hasattr(cls, "name"):
            cls.name = cls.__name__
        for name in _FORMULAS & vars(cls).keys():
            setattr(cls, name, in_wide_numbers(vars(cls)[name]))

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # a dataclass
            if "check" in field.metadata:
                value = field.metadata["check"](self.name, field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)

    @property
    def form(self) -> Form:
        """Return the counts that the formula needs, if that makes it a table: see `values`."""
        return "any"

    @property
    def feature_clauses(self) -> Clauses | None:
        """Return the clauses that are its features, if they are; `rules` searches for the best."""
        return None

    @property
    def operands(self) -> list[Kernel]:
        """Return the kernels that it is made of."""
        fields = (each if isinstance(each, tuple) else (each,) for each in vars(self).values())
        return [part for each in fields for part in each if isinstance(part, Kernel)]

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the columns of tags that are its variables; "" stands for users.

        >>> from boolrank import parse_kernel
        >>> parse_kernel("linear + tanimoto[genres]").variables
        ('', 'genres')
        """
        names = (name for part in self.operands for name in part.variables)
        return tuple(dict.fromkeys(names)) or ("",)

    @abstractmethod
    def value(self, k: Counts) -> Wide:
        """Compute the formula. A null vector has value 0."""

    def own_value(self, k: Counts) -> Wide:
        """Compute the value of vectors with themselves; ``k`` has such pairs."""
        return self.value(k)

    def cosine(self, k: Counts) -> Wide:
        """Compute κ(x, z)/√(κ(x, x)·κ(z, z)), and 0 where a vector is null."""
        roots: list[Wide] = [inverse_root(self.own_value(own)) for own in (k.of_x(), k.of_z())]
        return self.value(k) * (roots[0] * roots[1])

    def mass_value(self, k: Masses) -> Any:  # noqa: ARG002 - for kernels with a meaning on masses
        """Compute the formula on masses of weighted users, given as shares of the total.

        Formulas use ``+ - * /`` and numpy's functions: they serve doubles and wide numbers.
        """
        raise InputError(
            f"{self} has no meaning for weighted users",
            hint="use user_exponent=0, or a kernel such as disjunctive, threshold or tanimoto; a "
            "kernel of your own needs a method mass_value",
            parameter="user_exponent",
        )

    def from_full(self, k: Counts | Masses) -> Any:  # noqa: ARG002 - for kernels that know it
        """Compute 1 - the cosine of vectors with the full one, to all digits, or return None.

        For kernels that are additive in the union; ``k`` pairs vectors with themselves.
        """
        return None

    def features(self, n: Wide) -> Wide:  # noqa: ARG002 - for kernels with such features
        """Count the features over n variables, if each of them is 0 or 1."""
        raise ParameterTypeError(
            f"{self} cannot be the inner kernel of `outer @ inner`: its features are not 0 or 1"
        )

    def cells(self, k: Any) -> Counts:
        """Count the features of 0 and 1, which become variables; wide numbers or doubles."""
        found: Counts = k.lift(self)
        return found

    def cell_value(self, k: Any) -> NDArray[np.float64]:  # noqa: ARG002 - for such kernels
        """Compute values from counts in doubles, if no digits can cancel."""
        raise NoCells

    def values_of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Compute the values of pairs, in their broadcast shape."""
        return self._finite(compute_values(self, pairs, normalize=False))

    def cosines_of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Compute the normalised values of pairs, in their broadcast shape."""
        return compute_values(self, pairs, normalize=True)

    def on_counts(self, n: ArrayLike, x: ArrayLike, z: ArrayLike, c: ArrayLike) -> NDArray[Any]:
        """Compute the values of pairs given by their counts.

        These are whole numbers, or arrays of them that broadcast: the number of variables, active
        ones in each of the two vectors, and in both. Values are exact below 2^53, and to 1e-12
        above and for normalised kernels.

        >>> from boolrank import Disjunctive
        >>> Disjunctive(2).on_counts(n=10, x=3, z=[2, 4], c=[0, 1])
        array([ 6., 15.])
        """
        self._check_one_set()
        with np.errstate(all="ignore"):
            return self.values_of(Pairs.of(n, x, z, c))

    def on_masses(
        self, total: int, x: ArrayLike, z: ArrayLike, c: ArrayLike, users: int
    ) -> NDArray[Any]:
        """Compute the values of pairs given by masses: whole numbers, of a total of some users.

        >>> from boolrank import Disjunctive
        >>> Disjunctive(2).on_masses(total=100, x=30, z=[20, 40], c=[0, 10], users=7)
        array([0.12, 0.31])
        """
        self._check_one_set()
        return mass_values(self, Pairs.of(total, x, z, c, users).checked(), normalize=False)

    def __call__(self, X: MatrixLike, Z: MatrixLike | None = None) -> NDArray[np.float64]:
        """Compute the (m, k) Gram matrix of the rows of binary matrices, dense or sparse.

        X is (m, n), Z is (k, n), by default X itself. A matrix too large for the memory raises
        `MatrixTooLargeError` before anything is allocated.
        """
        self._check_one_set()
        rows = as_binary(X, "X")
        others = rows if Z is None or Z is X else as_binary(Z, "Z", width=rows.shape[1])
        (m, n), k = rows.shape, others.shape[0]
        require_memory(
            12 * m * k,  # the values, and the counts in single precision
            f"a Gram matrix of {m:,} x {k:,} values takes",
            hint="compute blocks of rows, such as kernel(X[:1000], X), or take a sample; "
            "spectral_ratio needs no matrix",
        )
        x, z, common = active(rows), active(others), overlap_counts(rows, others)
        gram, tables = np.empty((m, k)), dict[Any, Any]()
        # Blocks of equal length: all of them are computed in the same way, to the last digit.
        blocks = min(-(-m * k // _BLOCK), m)
        with np.errstate(all="ignore"):
            for start, stop in pairwise(m * b // blocks for b in range(blocks + 1)):
                part = slice(start, stop)
                pairs = Pairs(np.asarray(n), x[part, None], z[None, :], common[part], tables)
                gram[part] = self.values_of(pairs)
            if others is rows:
                np.fill_diagonal(gram, self._own_values(n, x))
        return gram

    def diag(self, X: MatrixLike) -> NDArray[np.float64]:
        """Compute the values of the rows of a binary matrix with themselves."""
        self._check_one_set()
        rows = as_binary(X, "X")
        with np.errstate(all="ignore"):
            return self._own_values(rows.shape[1], active(rows))

    def normalized(self) -> kernels.Normalized:
        """Return κ(x, z) / √(κ(x, x)·κ(z, z)); a null vector has 1 with itself, 0 with others."""
        return self if isinstance(self, kernels.Normalized) else kernels.Normalized(self)

    def _check_one_set(self) -> None:
        if len(self.variables) > 1:
            sets = " and ".join(name or "users" for name in self.variables)
            raise InputError(
                f"{self} is over {sets}, and one set of variables is given",
                hint="fit a KernelRanker with it, or evaluate its terms apart",
            )

    def _own_values(self, n: int, x: NDArray[np.int64]) -> NDArray[np.float64]:
        distinct, inverse = np.unique(x, return_inverse=True)
        return self._finite(self.own_value(Counts.of_vectors(n, distinct)).floats())[inverse]

    def _finite(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if np.isinf(values).any():
            raise KernelOverflowError(
                f"a value of {self} is past the largest double",
                hint="use its .normalized() form, whose values lie between 0 and 1",
            )
        return values

    def __add__(self, other: Any) -> Kernel:
        return kernels.Sum((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        # sum() starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return kernels.Product.of(self, other)
        return kernels.Scaled(other, self) if np.isscalar(other) else NotImplemented  # type: ignore[arg-type]

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Kernel:
        return kernels.Power(self, exponent)

    def __matmul__(self, inner: Any) -> kernels.Composed:
        return kernels.Composed(self, inner) if isinstance(inner, Kernel) else NotImplemented

    def __invert__(self) -> Kernel:
        return kernels.Not(self)

    def __and__(self, other: Any) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        kernels.logic.check_propositions("&", (self, other))
        return self * other

    def __or__(self, other: Any) -> Kernel:
        return kernels.Or((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __xor__(self, other: Any) -> Kernel:
        return kernels.Xor((self, other)) if isinstance(other, Kernel) else NotImplemented

    def __getitem__(self, column: str) -> Kernel:
        """Bind the kernel to a column of tags: they are its variables, in place of users.

        >>> from boolrank import Conjunctive, Disjunctive
        >>> 0.8 * Disjunctive(8) + 0.2 * Conjunctive(2)["genres"]
        0.8*disjunctive(8) + 0.2*conjunctive(2)[genres]
        """
        return kernels.Bound.of(self, column)

    __iter__ = None  # a subscript names a column, so a kernel is not a sequence

    def __repr__(self) -> str:
        shown, kernel = list[str](), cast("Any", self)
        for field in fields(kernel) if is_dataclass(kernel) else ():
            value = getattr(self, field.name)
            if field.default is MISSING:
                shown.append(repr(value))
            elif value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"{self.name}({', '.join(shown)})" if shown else self.name

    def in_brackets(self, binding: int) -> str:
        """Return the text, in brackets if it binds less tightly."""
        return f"({self!r})" if self.binding < binding else repr(self)
