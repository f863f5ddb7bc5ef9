"""Propositional kernels: NOT, AND, OR and XOR of kernels.

After Polato and Aiolli, Propositional kernels, Entropy 23, 2021. A kernel with features of 0 and 1
counts propositions that are true of both vectors. A connective of two kernels has the n_A·n_B pairs
of their propositions as features; NOT has their negations. Values are computed from `cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, ParameterTypeError
from .algebra import KERNEL, Joined, Product
from .base import Kernel
from .counts import Counts, NoCells
from .masses import Masses
from .wide import Wide


class Propositional(Kernel, shared=True):
    """A kernel whose features are propositions about those of its parts; it has `cells`."""

    def value(self, k: Any) -> Any:
        """Count the propositions that are true of both, in the numbers of ``k``."""
        return self.cells(k).common

    def cell_value(self, k: Any) -> NDArray[np.float64]:
        return np.asarray(self.cells(k).common)

    def mass_value(self, k: Masses) -> Any:
        """Compute the share of sequences of draws; parts are linear ones and formulas."""
        try:
            return self.cells(k).common
        except NoCells:
            return super().mass_value(k)  # raises

    def features(self, n: Wide) -> Wide:
        return reduce(mul, (part.features(n) for part in self.operands))


@dataclass(frozen=True, repr=False)
class Not(Propositional, in_text=False):
    """``~a``: the negated features.

    >>> from boolrank import Linear
    >>> (~Linear()).on_counts(n=9, x=4, z=3, c=2)  # variables active in neither vector
    array(4.)
    """

    name = "not"
    binding = 3
    kernel: Kernel = field(metadata=KERNEL)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_propositions("~", (self.kernel,))

    def cells(self, k: Any) -> Counts:
        return self.kernel.cells(k).negation()

    def __repr__(self) -> str:
        return f"~{self.kernel.in_brackets(3)}"


class _Connective(Joined, Propositional):
    """A connective of two kernels or more."""

    combine: ClassVar[Callable[[Counts, Counts], Counts]]

    def __post_init__(self) -> None:
        given = self.parts
        super().__post_init__()
        check_propositions(self.sign.strip(), given)

    def cells(self, k: Any) -> Counts:
        return reduce(type(self).combine, (part.cells(k) for part in self.parts))


@dataclass(frozen=True, repr=False)
class Or(_Connective, in_text=False):
    """``a | b``: pairs of features, one of each kernel, at least one of them true.

    >>> from boolrank import Linear
    >>> (Linear() | Linear()).on_counts(n=3, x=1, z=1, c=0)
    array(2.)
    """

    name, sign, binding = "or", " | ", -2
    combine = Counts.disjunction


@dataclass(frozen=True, repr=False)
class Xor(_Connective, in_text=False):
    """``a ^ b``: pairs of features, one of each kernel, exactly one of them true.

    >>> from boolrank import Linear
    >>> (Linear() ^ Linear()).on_counts(n=3, x=1, z=1, c=[0, 1])
    array([2., 4.])
    """

    name, sign, binding = "xor", " ^ ", -1
    combine = Counts.exclusive


def implies(a: Any, b: Any) -> Any:
    """Return ``~a | b``: pairs of features where the first implies the second.

    >>> from boolrank import Linear
    >>> implies(Linear(), Linear() * Linear())
    ~linear | linear*linear
    """
    return ~a | b


def equivalent(a: Any, b: Any) -> Any:
    """Return ``~(a ^ b)``: pairs of features that are both true or both false.

    >>> from boolrank import Linear
    >>> equivalent(Linear(), Linear())
    ~(linear ^ linear)
    """
    return ~(a ^ b)


def check_propositions(operator: str, kernels: Iterable[Kernel]) -> None:
    """Raise unless the features of kernels are 0 or 1, over users."""
    # A propositional kernel has been checked, which keeps long chains of operators linear.
    one, new = Wide.of(1.0), (each for each in kernels if not isinstance(each, Propositional))
    for kernel in chain(*(each.parts if isinstance(each, Product) else (each,) for each in new)):
        if kernel.variables != ("",):
            raise ParameterError(
                f"{kernel} is bound to tags, and {operator} takes kernels that are not",
                hint="bind the whole: (~linear)[genres]",
                parameter="kernel",
            )
        try:
            kernel.features(one)
        except ParameterTypeError:
            raise ParameterTypeError(
                f"{operator} cannot take {kernel}: its features are not 0 or 1",
                hint="use kernels such as linear, conjunctive, disjunctive and threshold, without "
                "weights; normalise the result: (~k).normalized()",
                parameter="kernel",
            ) from None
