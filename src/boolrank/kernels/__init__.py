"""Boolean kernels as values: pure functions of the counts of a pair of binary vectors."""

from .algebra import Normalized, Power, Product, Scaled, Sum
from .base import Kernel
from .clauses import (
    Conjunctive,
    Disjunctive,
    LiteralConjunctive,
    LiteralDisjunctive,
    Threshold,
)
from .counts import Counts
from .normal_forms import DNF, Composed, ComposedCNF, ComposedDNF, MonotoneDNF
from .parser import KERNELS, known_kernels, parse_kernel
from .similarities import AllSubset, Linear, Polynomial, Tanimoto
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
