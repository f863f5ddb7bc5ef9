"""Kernels over the tags of items, and sums of these and of kernels over users.

``linear[genres]`` is bound to the tags in the column ``genres``. Where a sum has bound terms, each
of its terms is normalised first:

    κ(i, j) = Σ w_t·cosine_t(i, j) / Σ w_t.

An item without users or without tags is a null vector of that term alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from keyword import iskeyword
from typing import NamedTuple

from ..checks import wrong_type
from ..errors import ParameterError
from .algebra import KERNEL, Normalized, SameCosines, Scaled, Sum
from .base import Kernel


def _column(owner: str, name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise wrong_type(owner, name, value, "the name of a column of items")
    return value


@dataclass(frozen=True, repr=False)
class Bound(SameCosines, in_text=False):
    """κ[column]: the kernel with the tags of a column as variables.

    >>> from boolrank import Linear
    >>> Linear()["genres"]([[1, 1, 0], [0, 1, 1]])
    array([[2., 1.],
           [1., 2.]])
    """

    name = "bound"
    kernel: Kernel = field(metadata=KERNEL)
    column: str = field(metadata={"check": _column})

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.kernel, Scaled) or self.kernel.variables != ("",):
            raise ParameterError(
                f"{self.kernel} cannot be bound to {self.column}",
                hint="bind each term, and put its weight before it: 0.5*linear[genres]",
                parameter="kernel",
            )

    @staticmethod
    def of(kernel: Kernel, column: str) -> Kernel:
        """Return a bound kernel, with the weight of the kernel before it."""
        if isinstance(kernel, Scaled):
            return Scaled(kernel.weight, Bound(kernel.kernel, column))
        return Bound(kernel, column)

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.column,)

    def __repr__(self) -> str:
        column = self.column
        if not (column.isascii() and column.isidentifier()) or iskeyword(column):
            # Python's parser would change other letters; comments and runs of spaces are lost.
            column = repr(column).replace("#", r"\x23").replace("  ", r" \x20")
        return f"{self.kernel.in_brackets(4)}[{column}]"


class Terms(NamedTuple):
    """A kernel in parts: over users, with its share, and over columns of tags.

    ``users`` is None and its ``share`` 0 if all terms are bound.
    """

    share: float
    users: Kernel | None
    bound: list[tuple[float, Bound]]

    @staticmethod
    def of(kernel: Kernel) -> Terms:
        """Return the terms of a kernel; their shares sum to 1.

        >>> from boolrank import parse_kernel
        >>> Terms.of(parse_kernel("3*linear + tanimoto[genres]"))
        Terms(share=0.75, users=linear, bound=[(0.25, tanimoto[genres])])
        """
        if kernel.variables == ("",):
            return Terms(1.0, kernel, [])
        free, bound = list[tuple[float, Kernel]](), list[tuple[float, Bound]]()
        for each in kernel.parts if isinstance(kernel, Sum) else (kernel,):
            weight, term = (each.weight, each.kernel) if isinstance(each, Scaled) else (1.0, each)
            inner = term.kernel if isinstance(term, Normalized) else term
            if isinstance(inner, Bound):
                bound.append((weight, inner))
            elif inner.variables != ("",):
                raise ParameterError(
                    f"{term} mixes users and tags, or bound kernels",
                    hint="bound kernels are terms of a sum; write (linear**2)[genres] for a power",
                    parameter="kernel",
                )
            else:
                free.append((weight, term))
        total = sum(weight for weight, _ in (*free, *bound))
        users = [weight * term.normalized() for weight, term in free]
        return Terms(
            sum(weight for weight, _ in free) / total,
            (free[0][1] if len(free) == 1 else Sum(tuple(users))) if free else None,
            [(weight / total, term) for weight, term in bound],
        )
