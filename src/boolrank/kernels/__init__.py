"""Boolean kernels as values: pure functions of the counts of a pair of binary vectors."""

from .algebra import Normalized, Power, Product, Scaled, Sum
from .base import Kernel
from .clauses import (
    DNF,
    Conjunctive,
    Disjunctive,
    LiteralConjunctive,
    LiteralDisjunctive,
    MonotoneDNF,
)
from .composition import Composed, ComposedCNF, ComposedDNF
from .counts import Counts
from .parser import KERNELS, known_kernels, parse_kernel
from .similarities import AllSubset, Linear, Polynomial, Tanimoto
from .threshold import Threshold
from .wide import Wide

__all__ = [
    "DNF",
    "KERNELS",
    "AllSubset",
    "Composed",
    "ComposedCNF",
    "ComposedDNF",
    "Conjunctive",
    "Counts",
    "Disjunctive",
    "Kernel",
    "Linear",
    "LiteralConjunctive",
    "LiteralDisjunctive",
    "MonotoneDNF",
    "Normalized",
    "Polynomial",
    "Power",
    "Product",
    "Scaled",
    "Sum",
    "Tanimoto",
    "Threshold",
    "Wide",
    "known_kernels",
    "parse_kernel",
]
