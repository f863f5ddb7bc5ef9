"""Features of a pair of vectors, counted in four cells: true of both, of one alone, or of neither.

Logical connectives act on cells by sums of products, all positive: not even NOT subtracts, so no
digits cancel. The two operands of a connective choose their features independently: n_A·n_B pairs.
The numbers are wide ones, or doubles.

>>> a = Cells(4.0, 1.0, 1.0, 0.0, 2.0)
>>> a.negation().both, a.conjunction(a).both, a.disjunction(a).both, a.exclusive(a).both
(2.0, 1.0, 7.0, 4.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .counts import Counts
from .functions import minimum
from .masses import Masses
from .wide import Wide, at_least_zero, on_part, where

if TYPE_CHECKING:
    from .base import Kernel


class Cells(NamedTuple):
    """Numbers of features: all, true of both vectors, of x alone, of z alone, and of neither."""

    total: Any
    both: Any
    only_x: Any
    only_z: Any
    neither: Any

    @staticmethod
    def of(k: Counts | Masses) -> Cells:
        """Count variables; shares of masses have a total of 1."""
        total = k.n if isinstance(k, Counts) else 1.0
        return Cells(total, k.common, k.only_x, k.only_z, k.neither)

    def negation(self) -> Cells:
        """Count the negated features."""
        return Cells(self.total, self.neither, self.only_z, self.only_x, self.both)

    def conjunction(self, other: Cells) -> Cells:
        """Count the pairs of features that are both true."""
        total, both, only_x, only_z, neither = other
        return Cells(
            self.total * total,
            self.both * both,
            self.both * only_x + self.only_x * (both + only_x),
            self.both * only_z + self.only_z * (both + only_z),
            self.neither * total
            + self.both * neither
            + (self.only_x * (only_z + neither) + self.only_z * (only_x + neither)),
        )

    def disjunction(self, other: Cells) -> Cells:
        """Count the pairs of features of which one is true, or both are: de Morgan's law."""
        return self.negation().conjunction(other.negation()).negation()

    def exclusive(self, other: Cells) -> Cells:
        """Count the pairs of features of which exactly one is true."""
        total, both, only_x, only_z, neither = other

        def matched(w: Any, x: Any, z: Any, n: Any) -> Any:
            return (self.both * w + self.neither * n) + (self.only_x * x + self.only_z * z)

        return Cells(
            self.total * total,
            matched(neither, only_z, only_x, both),
            matched(only_z, neither, both, only_x),
            matched(only_x, both, neither, only_z),
            matched(both, only_x, only_z, neither),
        )

    def power(self, exponent: int) -> Cells:
        """Count the sequences of so many features that are all true."""
        result, square = None, self
        while True:
            if exponent & 1:
                result = square if result is None else result.conjunction(square)
            exponent >>= 1
            if not exponent:
                return square if result is None else result
            square = square.conjunction(square)


def lifted(kernel: Kernel, k: Counts) -> Counts:
    """Count the features of a kernel, as whole numbers: its features become variables."""
    n = kernel.features(k.n).rounded()
    x, z = (minimum(kernel.own_value(own).rounded(), n) for own in (k.of_x(), k.of_z()))
    common = minimum(kernel.value(k).rounded(), minimum(x, z))
    found = kernel.features_in_neither(k)
    if found is None:
        return Counts(n, x, z, common, lifted=True)
    neither = found.rounded()

    def lacking(n: Wide, size: Wide, neither: Wide) -> Wide:
        found = kernel.features_in_neither(Counts(n, size, size, size, k.lifted))
        return at_least_zero((neither if found is None else found.rounded()) - neither)

    def alone(own: Wide, other: Wide) -> Wide:
        # Less common, or, of most features, those that z lacks less those that both lack: the
        # difference of smaller numbers has more digits.
        most = (own * 2.0 - n).positive()
        return where(most, on_part(lacking, most, k.n, other, neither), at_least_zero(own - common))

    only = alone(x, k.z), alone(z, k.x)
    return Counts(n, x, z, common, lifted=True, outside=neither, alone=only)


def wide_cells(kernel: Kernel, k: Counts) -> Cells:
    """Count the features of a kernel in wide numbers."""
    return Cells.of(lifted(kernel, k))


def wide_neither(kernel: Kernel, k: Counts) -> Wide:
    """Count the features of a kernel that are true of neither vector, by its cells."""
    neither: Wide = kernel.cells(lambda part: wide_cells(part, k)).neither
    return neither
