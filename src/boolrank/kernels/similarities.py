"""Kernels with a closed form on one or two counts: linear, polynomial, all-subset, Tanimoto."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Kernel
from .clauses import ClauseKernel, Clauses, Conjunctions
from .counts import Counts, Pairs
from .masses import TINY, Masses
from .parameters import DEGREE, NOT_NEGATIVE, POSITIVE
from .wide import by_squaring


@dataclass(frozen=True, repr=False)
class Linear(ClauseKernel):
    """c: the number of variables active in both vectors.

    >>> Linear()([[1, 1, 0], [0, 1, 1]])
    array([[2., 1.],
           [1., 2.]])
    """

    name = "linear"
    formula = "c"
    feature_clauses = Clauses(1, 1)

    def cells(self, k: Any) -> Counts:
        found: Counts = k.variables
        return found


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """(scale·c + offset)^degree: products of `degree` variables, repetition allowed.

    >>> Polynomial(2, offset=1).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([1., 4., 9.])
    """

    name = "polynomial"
    formula = "(scale·c + offset)^degree"
    form = "common"
    degree: int = field(metadata=DEGREE)
    scale: float = field(default=1, metadata=POSITIVE)
    offset: float = field(default=0, metadata=NOT_NEGATIVE)

    def value(self, k: Counts) -> Any:
        return (k.common * float(self.scale) + float(self.offset)) ** self.degree

    def mass_value(self, k: Masses) -> Any:
        return by_squaring(k.common * (k.n * self.scale) + float(self.offset), self.degree)


@dataclass(frozen=True, repr=False)
class AllSubset(Conjunctions):
    """2^c: conjunctions of any number of variables, including the empty one.

    >>> AllSubset().on_counts(n=5, x=3, z=3, c=[1, 3])
    array([2., 8.])
    """

    name = "all_subset"
    formula = "2^c"
    feature_clauses = Clauses(0)


@dataclass(frozen=True, repr=False)
class Tanimoto(Kernel):
    """c / u: the share of the active variables that the vectors have in common (Jaccard's index).

    >>> Tanimoto().on_counts(n=9, x=3, z=3, c=[0, 1, 3])
    array([0. , 0.2, 1. ])
    """

    name = "tanimoto"
    formula = "c / u"

    def value(self, k: Counts) -> Any:
        return k.common / k.union

    def mass_value(self, k: Masses) -> Any:
        return k.common / np.maximum(k.union, TINY)

    def values_of(self, pairs: Pairs) -> NDArray[np.float64]:
        """Divide whole numbers as doubles, which is correctly rounded."""
        pairs = pairs.checked()
        x, z, c = (a.astype(np.int64) for a in (pairs.x, pairs.z, pairs.c))
        union = np.asarray(x + z - c, dtype=np.float64)
        share: NDArray[np.float64] = np.zeros(pairs.shape)
        np.divide(c, union, out=share, where=union > 0)
        return share

    cosines_of = values_of
