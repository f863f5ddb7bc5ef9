"""Boolean kernels as values: pure functions of the counts of a pair of binary vectors."""

from .algebra import Composed, Normalized, Power, Product, Scaled, Sum
from .base import Kernel
from .clauses import Conjunctive, Disjunctive, LiteralConjunctive, LiteralDisjunctive
from .counts import Counts
from .normal_forms import DNF, ComposedCNF, ComposedDNF, MonotoneDNF
from .parse import KERNELS, parse_kernel
from .simple import AllSubset, Linear, Polynomial, Tanimoto
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
    "parse_kernel",
]
