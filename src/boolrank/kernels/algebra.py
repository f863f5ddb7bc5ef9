"""Kernels made of kernels: sums, products, powers, weights and normalisation.

``+`` and ``*`` flatten into one node and weights move to the front, so that many expressions that
mean the same are equal.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import add, mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..checks import wrong_type
from .base import Form, Kernel
from .counts import Counts, Pairs
from .masses import Masses, mass_cosine
from .parameters import exponent, positive
from .values import compute_values
from .wide import Wide, by_squaring, where

Floats = NDArray[np.float64]

# Up to this power, cosines from tables (1e-13) stay within 1e-12; higher ones need wide numbers.
_LOW_POWER = 8


def check_kernel(owner: str, name: str, value: object) -> Kernel:
    """Check a parameter that must be a kernel."""
    if not isinstance(value, Kernel):
        raise wrong_type(owner, name, value, "a kernel")
    return value


KERNEL = {"check": check_kernel}


class Combination(Kernel):
    """A kernel whose values, on counts and masses, follow from those of its parts."""

    @abstractmethod
    def _combine(self, value: Callable[[Kernel], Any]) -> Any:
        """Return the value, given those of the parts."""

    def value(self, k: Counts) -> Any:
        return self._combine(lambda part: part.value(k))

    def own_value(self, k: Counts) -> Any:
        return self._combine(lambda part: part.own_value(k))

    def mass_value(self, k: Masses) -> Any:
        return self._combine(lambda part: part.mass_value(k))


@dataclass(frozen=True, repr=False)
class Joined(Kernel):
    """Two kernels or more, joined by a sign; those of the same kind inside are flattened."""

    sign: ClassVar[str]
    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        given: Any = self.parts
        given = given if isinstance(given, Iterable) else ()
        nested = (part.parts if isinstance(part, type(self)) else (part,) for part in given)
        parts = tuple(chain(*nested))
        if len(parts) < 2 or not all(isinstance(part, Kernel) for part in parts):
            raise wrong_type(self.name, "parts", self.parts, "two kernels or more")
        object.__setattr__(self, "parts", parts)

    def __repr__(self) -> str:
        return self.sign.join(part.in_brackets(self.binding + 1) for part in self.parts)


class SameCosines(Combination, shared=True):
    """A kernel with the normalised values of another one."""

    kernel: Kernel

    @property
    def form(self) -> Form:
        return self.kernel.form

    def _combine(self, value: Callable[[Kernel], Any]) -> Any:
        return value(self.kernel)

    def cosine(self, k: Counts) -> Wide:
        return self.kernel.cosine(k)

    def cosines_of(self, pairs: Pairs) -> Floats:
        return self.kernel.cosines_of(pairs)

    def from_full(self, k: Counts | Masses) -> Any:
        return self.kernel.from_full(k)


@dataclass(frozen=True, repr=False)
class Sum(Joined, Combination, in_text=False):
    """κ₁ + κ₂ + …: the feature spaces side by side.

    >>> from boolrank import Linear, Tanimoto
    >>> Linear() + Tanimoto() == Sum((Linear(), Tanimoto()))
    True
    >>> (Linear() + Tanimoto()).on_counts(n=9, x=3, z=3, c=1)
    array(1.2)
    """

    name, sign, binding = "sum", " + ", 0

    @property
    def form(self) -> Form:
        forms = {part.form for part in self.parts}
        return forms.pop() if len(forms) == 1 else "any"

    def _combine(self, value: Callable[[Kernel], Any]) -> Any:
        return reduce(add, map(value, self.parts))

    def cosines_of(self, pairs: Pairs) -> Floats:
        """Compute Σ cosineₖ(x, z)·ρₖ(x)·ρₖ(z), with ρₖ(x)² the share of part k in κ(x, x)."""
        if self.form != "any" or pairs.n.size > 1 or pairs.size == 0:
            return super().cosines_of(pairs)
        pairs = pairs.checked()
        n = int(pairs.n.reshape(()))
        distinct, inverse = np.unique(
            np.concatenate((pairs.x.ravel(), pairs.z.ravel())), return_inverse=True
        )
        x, z = inverse[: pairs.x.size], inverse[pairs.x.size :]
        own = [part.own_value(Counts.of_vectors(n, distinct)) for part in self.parts]
        whole = reduce(add, own)
        some = whole.positive()
        total: Floats = np.zeros(pairs.shape)
        for part, of_part in zip(self.parts, own, strict=True):
            share = where(some, of_part / where(some, whole, 1.0), 0.0).sqrt().floats()
            weights = share[x].reshape(pairs.x.shape) * share[z].reshape(pairs.z.shape)
            total += part.cosines_of(pairs) * weights
        return total


@dataclass(frozen=True, repr=False)
class Product(Joined, Combination, in_text=False):
    """κ₁·κ₂·…: pairs of features, one of each space, both true.

    >>> from boolrank import Linear, Tanimoto
    >>> (Linear() * Tanimoto()).on_counts(n=9, x=3, z=3, c=[1, 3])
    array([0.2, 3. ])
    """

    name, sign, binding = "product", "*", 2

    @staticmethod
    def of(*kernels: Kernel) -> Kernel:
        """Return the product, with the weights of its parts before it."""
        weights = [k.weight for k in kernels if isinstance(k, Scaled)]
        product = Product(tuple(k.kernel if isinstance(k, Scaled) else k for k in kernels))
        return Scaled(reduce(mul, weights), product) if weights else product

    @property
    def form(self) -> Form:
        forms = {part.form for part in self.parts}
        return forms.pop() if len(forms) == 1 and "union" not in forms else "any"

    def _combine(self, value: Callable[[Kernel], Any]) -> Any:
        return reduce(mul, map(value, self.parts))

    def cells(self, k: Any) -> Counts:
        return reduce(Counts.conjunction, (part.cells(k) for part in self.parts))

    def features(self, n: Wide) -> Wide:
        return reduce(mul, (part.features(n) for part in self.parts))

    def cosine(self, k: Counts) -> Any:
        return self._combine(lambda part: part.cosine(k))

    def cosines_of(self, pairs: Pairs) -> Floats:
        return np.asarray(self._combine(lambda part: part.cosines_of(pairs)))


@dataclass(frozen=True, repr=False)
class Power(Combination, in_text=False):
    """κ^p for a whole p up to 2^20: the product of κ with itself.

    >>> from boolrank import Linear
    >>> (Linear() ** 3).on_counts(n=9, x=3, z=3, c=2)
    array(8.)
    """

    name = "power"
    binding = 3
    kernel: Kernel = field(metadata=KERNEL)
    exponent: int = field(metadata={"check": exponent})

    @property
    def form(self) -> Form:
        return "any" if self.kernel.form == "union" else self.kernel.form

    def _combine(self, value: Callable[[Kernel], Any]) -> Any:
        base = value(self.kernel)
        return base**self.exponent if isinstance(base, Wide) else by_squaring(base, self.exponent)

    def cells(self, k: Any) -> Counts:
        found: Counts = by_squaring(self.kernel.cells(k), self.exponent, Counts.conjunction)
        return found

    def features(self, n: Wide) -> Wide:
        return self.kernel.features(n) ** self.exponent

    def cosine(self, k: Counts) -> Wide:
        return self.kernel.cosine(k) ** self.exponent

    def cosines_of(self, pairs: Pairs) -> Floats:
        """Raise cosines: as doubles to low powers, else in wide numbers, as errors multiply."""
        if self.exponent <= _LOW_POWER:
            return self.kernel.cosines_of(pairs) ** self.exponent
        return compute_values(Normalized(self), pairs, normalize=False)

    def __repr__(self) -> str:
        return f"{self.kernel.in_brackets(4)}**{self.exponent}"


@dataclass(frozen=True, repr=False)
class Scaled(SameCosines, in_text=False):
    """w·κ for a positive weight w.

    >>> from boolrank import Linear
    >>> (0.5 * Linear()).on_counts(n=9, x=3, z=3, c=[1, 2])
    array([0.5, 1. ])
    """

    name = "scaled"
    binding = 2
    weight: float = field(metadata={"check": positive})
    kernel: Kernel = field(metadata=KERNEL)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.kernel, Scaled):
            weight = positive(self.name, "weight", self.weight * self.kernel.weight)
            object.__setattr__(self, "weight", weight)
            object.__setattr__(self, "kernel", self.kernel.kernel)

    def _combine(self, value: Callable[[Kernel], Any]) -> Any:
        return value(self.kernel) * float(self.weight)

    def __repr__(self) -> str:
        return f"{self.weight!r}*{self.kernel.in_brackets(2)}"


@dataclass(frozen=True, repr=False)
class Normalized(SameCosines, in_text=False):
    """κ(x, z) / √(κ(x, x)·κ(z, z)); a null vector has 1 with itself and 0 with all others.

    >>> from boolrank import Linear
    >>> Linear().normalized().on_counts(n=9, x=4, z=[1, 4], c=[1, 4])
    array([0.5, 1. ])
    """

    name = "normalized"
    form = "any"
    kernel: Kernel = field(metadata=KERNEL)

    def value(self, k: Counts) -> Wide:
        return self.cosine(k)

    def mass_value(self, k: Masses) -> Any:
        return mass_cosine(self.kernel, k)

    def own_value(self, k: Counts) -> Wide:
        return Wide.of(np.ones(k.x.shape))

    def values_of(self, pairs: Pairs) -> Floats:
        return self.cosines_of(pairs)
