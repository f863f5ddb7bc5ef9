"""Boolean kernels as values: pure functions of the counts of a pair of binary vectors."""

from .algebra import Normalized, Power, Product, Scaled, Sum
from .base import KERNELS, Kernel
from .similarities import AllSubset, Linear, Polynomial, Tanimoto

# The table of kernels has the order of these imports.
# isort: split
from .arities import (
    Conjunctive,
    Disjunctive,
    LiteralConjunctive,
    LiteralDisjunctive,
    Threshold,
)
from .counts import Counts
from .formula import Formula, kernel_of
from .logic import Not, Or, Xor, equivalent, implies
from .normal_forms import DNF, Composed, ComposedCNF, ComposedDNF, MonotoneDNF
from .parser import parse_kernel
from .terms import Bound
from .wide import Wide

__all__ = [
    "DNF",
    "KERNELS",
    "AllSubset",
    "Bound",
    "Composed",
    "ComposedCNF",
    "ComposedDNF",
    "Conjunctive",
    "Counts",
    "Disjunctive",
    "Formula",
    "Kernel",
    "Linear",
    "LiteralConjunctive",
    "LiteralDisjunctive",
    "MonotoneDNF",
    "Normalized",
    "Not",
    "Or",
    "Polynomial",
    "Power",
    "Product",
    "Scaled",
    "Sum",
    "Tanimoto",
    "Threshold",
    "Wide",
    "Xor",
    "equivalent",
    "implies",
    "kernel_of",
    "parse_kernel",
]
