"""Kernels made of kernels: sums, products, powers, weights, normalisation and composition.

``+`` and ``*`` flatten into one node, and weights move to the front, so that expressions that are
written differently but mean the same are often equal as values.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import KernelOverflowError, ParameterError, ParameterTypeError
from .base import Form, Kernel
from .checks import MOST_POWER, real, whole
from .counts import Counts, Pairs
from .evaluate import raw_values
from .wide import Wide, where

Floats = NDArray[np.float64]

# Up to this power, cosines of tables (1e-13) stay within 1e-12; higher ones are raised as wide
# numbers.
_LOW_POWER = 8


@dataclass(frozen=True, repr=False)
class Sum(Kernel):
    """κ₁ + κ₂ + …: the feature spaces side by side.

    >>> from boolrank import Linear, Tanimoto
    >>> Linear() + Tanimoto() == Sum((Linear(), Tanimoto()))
    True
    >>> (Linear() + Tanimoto()).on_counts(n=9, x=3, z=3, c=1)
    array(1.2)
    """

    name: ClassVar[str] = "sum"
    formula: ClassVar[str] = "κ₁ + κ₂ + ..."
    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self))

    @property
    def form(self) -> Form:
        forms = {part.form for part in self.parts}
        return forms.pop() if len(forms) == 1 else "any"

    def value(self, k: Counts) -> Wide:
        return reduce(add, (part.value(k) for part in self.parts))

    def own_value(self, k: Counts) -> Wide:
        return reduce(add, (part.own_value(k) for part in self.parts))

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        """Σ cosineₖ(x, z)·ρₖ(x)·ρₖ(z), with ρₖ(x)² the share of part k in κ(x, x)."""
        if self.form != "any" or pairs.n.size > 1 or pairs.size == 0:
            return super().cosines_of(pairs, checked)
        if not checked:
            pairs.check()
        n = Wide.of(pairs.n.reshape(()))
        total: Floats = np.zeros(pairs.shape)
        for part in self.parts:
            shares = [self._share(part, n, side) for side in (pairs.x, pairs.z)]
            total += _weighted(part.cosines_of(pairs, True), shares[0] * shares[1])
        return total

    @property
    def cosine_bytes_per_pair(self) -> int:
        return super().cosine_bytes_per_pair if self.form != "any" else _together(self.parts)

    def _share(self, part: Kernel, n: Wide, x: NDArray[Any]) -> Floats:
        distinct, inverse = np.unique(x, return_inverse=True)
        own = Wide.of(distinct)
        k = Counts(n, own, own, own)
        whole_value = self.own_value(k)
        some = whole_value.positive()
        share = where(some, part.own_value(k) / where(some, whole_value, 1.0), 0.0)
        return share.sqrt().floats()[inverse].reshape(x.shape)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))


@dataclass(frozen=True, repr=False)
class Product(Kernel):
    """κ₁·κ₂·…: pairs of features, one of each space, both true.

    >>> from boolrank import Linear, Tanimoto
    >>> (Linear() * Tanimoto()).on_counts(n=9, x=3, z=3, c=[1, 3])
    array([0.2, 3. ])
    """

    name: ClassVar[str] = "product"
    formula: ClassVar[str] = "κ₁·κ₂·..."
    parts: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _flat(self))
        if any(isinstance(part, Scaled) for part in self.parts):
            raise ParameterError(
                "the weight of a product stands before it, not at one of its parts; "
                "k1 * k2 puts it there"
            )

    @staticmethod
    def of(*kernels: Kernel) -> Kernel:
        """The product with the weights of its parts before it."""
        weights = [k.weight for k in kernels if isinstance(k, Scaled)]
        product = Product(tuple(k.kernel if isinstance(k, Scaled) else k for k in kernels))
        return Scaled(reduce(mul, weights), product) if weights else product

    @property
    def form(self) -> Form:
        return _shared_form(self.parts)

    def value(self, k: Counts) -> Wide:
        return reduce(mul, (part.value(k) for part in self.parts))

    def own_value(self, k: Counts) -> Wide:
        return reduce(mul, (part.own_value(k) for part in self.parts))

    def cosine(self, k: Counts) -> Wide:
        return reduce(mul, (part.cosine(k) for part in self.parts))

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return reduce(mul, (part.cosines_of(pairs, checked) for part in self.parts))

    @property
    def cosine_bytes_per_pair(self) -> int:
        return _together(self.parts)

    def __repr__(self) -> str:
        return "*".join(_bracketed(part, Sum, Composed, Scaled) for part in self.parts)


@dataclass(frozen=True, repr=False)
class Power(Kernel):
    """κ^p for a whole p up to 2^20: the product of κ with itself.

    >>> from boolrank import Linear
    >>> (Linear() ** 3).on_counts(n=9, x=3, z=3, c=2)
    array(8.)
    """

    name: ClassVar[str] = "power"
    formula: ClassVar[str] = "κ^p"
    kernel: Kernel
    exponent: int

    def __post_init__(self) -> None:
        _check_kernel(self, "kernel")
        whole(self, "exponent", self.exponent, MOST_POWER)

    @property
    def form(self) -> Form:
        return _shared_form((self.kernel,))

    def value(self, k: Counts) -> Wide:
        return self.kernel.value(k) ** self.exponent

    def own_value(self, k: Counts) -> Wide:
        return self.kernel.own_value(k) ** self.exponent

    def cosine(self, k: Counts) -> Wide:
        return self.kernel.cosine(k) ** self.exponent

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        """A power multiplies relative errors, so that high ones start from wide numbers.

        Where those of its values do not fit, those of its cosines do.
        """
        if self.form != "any":
            with suppress(KernelOverflowError):
                return super().cosines_of(pairs, checked)
        elif self.exponent <= _LOW_POWER:
            return self.kernel.cosines_of(pairs, checked) ** self.exponent
        return raw_values(Normalized(self), pairs, checked)

    @property
    def cosine_bytes_per_pair(self) -> int:
        if self.form != "any" or self.exponent > _LOW_POWER:
            return super().cosine_bytes_per_pair
        return _together((self.kernel,))

    def __repr__(self) -> str:
        return f"{_bracketed(self.kernel, Sum, Product, Scaled, Power, Composed)}**{self.exponent}"


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """w·κ for a positive weight w.

    >>> from boolrank import Linear
    >>> (0.5 * Linear()).on_counts(n=9, x=3, z=3, c=[1, 2])
    array([0.5, 1. ])
    """

    name: ClassVar[str] = "scaled"
    formula: ClassVar[str] = "w·κ"
    weight: float
    kernel: Kernel

    def __post_init__(self) -> None:
        _check_kernel(self, "kernel")
        real(self, "weight", self.weight)
        if isinstance(self.kernel, Scaled):
            real(self, "weight", self.weight * self.kernel.weight)
            object.__setattr__(self, "kernel", self.kernel.kernel)

    @property
    def form(self) -> Form:
        return self.kernel.form

    def value(self, k: Counts) -> Wide:
        return self.kernel.value(k) * float(self.weight)

    def own_value(self, k: Counts) -> Wide:
        return self.kernel.own_value(k) * float(self.weight)

    def cosine(self, k: Counts) -> Wide:
        return self.kernel.cosine(k)

    def from_full(self, k: Counts) -> Wide | None:
        return self.kernel.from_full(k)

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return self.kernel.cosines_of(pairs, checked)

    def centred_of(self, pairs: Pairs) -> Floats:
        return self.kernel.centred_of(pairs)

    @property
    def cosine_bytes_per_pair(self) -> int:
        return self.kernel.cosine_bytes_per_pair

    def __repr__(self) -> str:
        return f"{self.weight!r}*{_bracketed(self.kernel, Sum, Composed)}"


@dataclass(frozen=True, repr=False)
class Normalized(Kernel):
    """κ(x, z) / √(κ(x, x)·κ(z, z)); a null vector has 1 with itself and 0 with all others.

    >>> from boolrank import Linear
    >>> Linear().normalized().on_counts(n=9, x=4, z=[1, 4], c=[1, 4])
    array([0.5, 1. ])
    """

    name: ClassVar[str] = "normalized"
    formula: ClassVar[str] = "κ(x,z) / sqrt(κ(x,x) κ(z,z))"
    kernel: Kernel

    def __post_init__(self) -> None:
        _check_kernel(self, "kernel")
        if isinstance(self.kernel, Normalized):
            object.__setattr__(self, "kernel", self.kernel.kernel)

    @property
    def bytes_per_pair(self) -> int:
        return self.kernel.cosine_bytes_per_pair

    def value(self, k: Counts) -> Wide:
        return self.kernel.cosine(k)

    def cosine(self, k: Counts) -> Wide:
        return self.kernel.cosine(k)

    def from_full(self, k: Counts) -> Wide | None:
        return self.kernel.from_full(k)

    def own_value(self, k: Counts) -> Wide:
        return Wide.of(np.ones(k.x.shape))

    def values_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return self.kernel.cosines_of(pairs, checked)

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return self.kernel.cosines_of(pairs, checked)

    def centred_of(self, pairs: Pairs) -> Floats:
        return self.kernel.centred_of(pairs)


@dataclass(frozen=True, repr=False)
class Composed(Kernel):
    """``outer @ inner``: the outer kernel, with the true features of the inner one for variables.

    An inner kernel with features of 0 and 1 lifts counts to counts: of its features, κ(x, x) are
    active in x, κ(z, z) in z, and κ(x, z) in both.

    >>> from boolrank import Conjunctive, Linear
    >>> (Linear() @ Conjunctive(2)).on_counts(n=9, x=4, z=4, c=3)
    array(3.)
    """

    name: ClassVar[str] = "composed"
    formula: ClassVar[str] = "κ_outer on (features, κ(x,x), κ(z,z), κ(x,z)) of κ_inner"
    outer: Kernel
    inner: Kernel

    def __post_init__(self) -> None:
        _check_kernel(self, "outer")
        _check_kernel(self, "inner")

    def value(self, k: Counts) -> Wide:
        return self.outer.value(self._lifted(k))

    def own_value(self, k: Counts) -> Wide:
        return self.outer.own_value(self._lifted(k))

    def cosine(self, k: Counts) -> Wide:
        return self.outer.cosine(self._lifted(k))

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        """With a formula for cosines, where an outer kernel has one: its values fit no exponent."""
        if type(self.outer).cosine is Kernel.cosine:
            return super().cosines_of(pairs, checked)
        return raw_values(Normalized(self), pairs, checked)

    def _lifted(self, k: Counts) -> Counts:
        inner = self.inner
        sizes = inner.features(k.n), inner.own_value(k.of_x()), inner.own_value(k.of_z())
        both, neither = inner.value(k), inner.features_in_neither(k)
        return Counts.of_features(*sizes, both, neither)

    def features(self, n: Wide) -> Wide:
        return self.outer.features(self.inner.features(n).rounded())

    def __repr__(self) -> str:
        inside = _bracketed(self.inner, Sum, Product, Scaled, Composed)
        return f"{_bracketed(self.outer, Sum, Product, Scaled)} @ {inside}"


def _check_kernel(node: Kernel, name: str) -> None:
    kernel = getattr(node, name)
    if not isinstance(kernel, Kernel):
        raise ParameterTypeError(
            f"{name} of {node.name} must be a kernel, not {kernel!r} of type "
            f"{type(kernel).__name__}"
        )


def _flat(node: Sum | Product) -> tuple[Kernel, ...]:
    """The parts of a node, with those of parts of its own kind in their place."""
    if not isinstance(node.parts, tuple | list):
        raise ParameterTypeError(
            f"a {node.name} takes its kernels as one tuple, such as (linear, tanimoto), not "
            f"{node.parts!r} of type {type(node.parts).__name__}"
        )
    for part in node.parts:
        if not isinstance(part, Kernel):
            raise ParameterTypeError(
                f"the parts of a {node.name} are kernels, not {part!r} of type "
                f"{type(part).__name__}"
            )
    parts = tuple(
        inner
        for part in node.parts
        for inner in (part.parts if isinstance(part, type(node)) else (part,))
    )
    if len(parts) < 2:
        raise ParameterError(f"a {node.name} has two kernels or more, not {len(parts)}")
    return parts


def _weighted(values: Floats, weights: Floats) -> Floats:
    """The products in place of the values; as a function, it leaves no name that keeps them."""
    values *= weights
    return values


def _together(parts: tuple[Kernel, ...]) -> int:
    """Bytes per pair of cosines combined: the sum so far, beside a part or two more arrays."""
    return max(28, 8 + max(part.cosine_bytes_per_pair for part in parts))


def _bracketed(kernel: Kernel, *loose: type[Kernel]) -> str:
    return f"({kernel!r})" if isinstance(kernel, loose) else repr(kernel)


def _shared_form(parts: tuple[Kernel, ...]) -> Form:
    """A product of functions of one count is one; a product of sums over the union is not."""
    forms = {part.form for part in parts}
    return forms.pop() if len(forms) == 1 and "union" not in forms else "any"
