"""Kernels made of kernels: sums, products, powers, weights, normalisation and composition.

``+`` and ``*`` flatten into one node, and weights move to the front, so that expressions that are
written differently but mean the same are often equal as values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import Form, Kernel, real, whole
from .counts import Counts, Pairs
from .evaluate import cosine
from .wide import Wide, where

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Sum(Kernel):
    """κ₁ + κ₂ + …: the feature spaces side by side."""

    name: ClassVar[str] = "sum"
    formula: ClassVar[str] = "κ₁ + κ₂ + ..."
    parts: tuple[Kernel, ...]

    @staticmethod
    def of(*kernels: Kernel) -> Sum:
        return Sum(tuple(p for k in kernels for p in (k.parts if isinstance(k, Sum) else (k,))))

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
            total += part.cosines_of(pairs, True) * shares[0] * shares[1]
        return total

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
    """κ₁·κ₂·…: pairs of features, one of each space, both true."""

    name: ClassVar[str] = "product"
    formula: ClassVar[str] = "κ₁·κ₂·..."
    parts: tuple[Kernel, ...]

    @staticmethod
    def of(*kernels: Kernel) -> Kernel:
        weights = [k.weight for k in kernels if isinstance(k, Scaled)]
        plain = [k.kernel if isinstance(k, Scaled) else k for k in kernels]
        parts = (p for k in plain for p in (k.parts if isinstance(k, Product) else (k,)))
        product = Product(tuple(parts))
        return Scaled(reduce(mul, weights), product) if weights else product

    @property
    def form(self) -> Form:
        return _shared_form(self.parts)

    def value(self, k: Counts) -> Wide:
        return reduce(mul, (part.value(k) for part in self.parts))

    def own_value(self, k: Counts) -> Wide:
        return reduce(mul, (part.own_value(k) for part in self.parts))

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return reduce(mul, (part.cosines_of(pairs, checked) for part in self.parts))

    def __repr__(self) -> str:
        return "*".join(_bracketed(part, Sum, Composed, Scaled) for part in self.parts)


@dataclass(frozen=True, repr=False)
class Power(Kernel):
    """κ^p for a whole p: the product of κ with itself."""

    name: ClassVar[str] = "power"
    formula: ClassVar[str] = "κ^p"
    kernel: Kernel
    exponent: int

    def __post_init__(self) -> None:
        whole(self, "exponent", self.exponent)

    @property
    def form(self) -> Form:
        return _shared_form((self.kernel,))

    def value(self, k: Counts) -> Wide:
        return self.kernel.value(k) ** self.exponent

    def own_value(self, k: Counts) -> Wide:
        return self.kernel.own_value(k) ** self.exponent

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return self.kernel.cosines_of(pairs, checked) ** self.exponent

    def __repr__(self) -> str:
        return f"{_bracketed(self.kernel, Sum, Product, Scaled, Power, Composed)}**{self.exponent}"


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """w·κ for a positive weight w."""

    name: ClassVar[str] = "scaled"
    formula: ClassVar[str] = "w·κ"
    weight: float
    kernel: Kernel

    def __post_init__(self) -> None:
        real(self, "weight", self.weight)

    @staticmethod
    def of(weight: Any, kernel: Kernel) -> Kernel:
        scaled = Scaled(weight, kernel)
        if isinstance(kernel, Scaled):
            return Scaled(scaled.weight * kernel.weight, kernel.kernel)
        return scaled

    @property
    def form(self) -> Form:
        return self.kernel.form

    def value(self, k: Counts) -> Wide:
        return self.kernel.value(k) * float(self.weight)

    def own_value(self, k: Counts) -> Wide:
        return self.kernel.own_value(k) * float(self.weight)

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return self.kernel.cosines_of(pairs, checked)

    def __repr__(self) -> str:
        return f"{self.weight!r}*{_bracketed(self.kernel, Sum, Composed)}"


@dataclass(frozen=True, repr=False)
class Normalized(Kernel):
    """κ(x, z) / √(κ(x, x)·κ(z, z)); a null vector has 1 with itself and 0 with all others."""

    name: ClassVar[str] = "normalized"
    formula: ClassVar[str] = "κ(x,z) / sqrt(κ(x,x) κ(z,z))"
    kernel: Kernel

    def value(self, k: Counts) -> Wide:
        return cosine(self.kernel, k)

    def own_value(self, k: Counts) -> Wide:
        return Wide.of(np.ones(k.x.shape))

    def values_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return self.kernel.cosines_of(pairs, checked)

    def cosines_of(self, pairs: Pairs, checked: bool = False) -> Floats:
        return self.kernel.cosines_of(pairs, checked)


@dataclass(frozen=True, repr=False)
class Composed(Kernel):
    """``outer @ inner``: the outer kernel, with the true features of the inner one for variables.

    An inner kernel with features of 0 and 1 lifts counts to counts: of its features, κ(x, x) are
    active in x, κ(z, z) in z, and κ(x, z) in both.
    """

    name: ClassVar[str] = "composed"
    formula: ClassVar[str] = "κ_outer on (features, κ(x,x), κ(z,z), κ(x,z)) of κ_inner"
    outer: Kernel
    inner: Kernel

    def value(self, k: Counts) -> Wide:
        inner = self.inner
        sizes = inner.features(k.n), inner.own_value(k.of_x()), inner.own_value(k.of_z())
        both, neither = inner.value(k), inner.features_in_neither(k)
        return self.outer.value(Counts.of_features(*sizes, both, neither))

    def features(self, n: Wide) -> Wide:
        return self.outer.features(self.inner.features(n).rounded())

    def __repr__(self) -> str:
        inside = _bracketed(self.inner, Sum, Product, Scaled, Composed)
        return f"{_bracketed(self.outer, Sum, Product, Scaled)} @ {inside}"


def _bracketed(kernel: Kernel, *loose: type[Kernel]) -> str:
    return f"({kernel!r})" if isinstance(kernel, loose) else repr(kernel)


def _shared_form(parts: tuple[Kernel, ...]) -> Form:
    """A product of functions of one count is one; a product of sums over the union is not."""
    forms = {part.form for part in parts}
    return forms.pop() if len(forms) == 1 and "union" not in forms else "any"
