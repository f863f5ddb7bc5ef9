"""Kernels with a closed form on one or two counts: linear, polynomial, all-subset, Tanimoto."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import Form, Kernel
from .checks import MOST_POWER, real, whole
from .combinatorics import power_decay
from .counts import Counts, Pairs
from .wide import Wide, two_to


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """c: how many variables are active in both vectors.

    >>> Linear()([[1, 1, 0], [0, 1, 1]])
    array([[2., 1.],
           [1., 2.]])
    """

    name: ClassVar[str] = "linear"
    formula: ClassVar[str] = "c"

    @property
    def form(self) -> Form:
        return "common"

    def value(self, k: Counts) -> Wide:
        return k.common

    def features(self, n: Wide) -> Wide:
        return n


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """(scale·c + offset)^degree: products of `degree` variables, repetition allowed.

    >>> Polynomial(2, offset=1).on_counts(n=4, x=2, z=2, c=[0, 1, 2])
    array([1., 4., 9.])
    """

    name: ClassVar[str] = "polynomial"
    formula: ClassVar[str] = "(scale·c + offset)^degree"
    degree: int = field(metadata={"range": f"whole, 1 to {MOST_POWER:,}"})
    scale: float = field(default=1, metadata={"range": "more than 0"})
    offset: float = field(default=0, metadata={"range": "0 or more"})

    def __post_init__(self) -> None:
        whole(self, "degree", self.degree, MOST_POWER)
        real(self, "scale", self.scale)
        real(self, "offset", self.offset, zero_allowed=True)

    @property
    def form(self) -> Form:
        return "common"

    def value(self, k: Counts) -> Wide:
        return (k.common * float(self.scale) + float(self.offset)) ** self.degree


@dataclass(frozen=True, repr=False)
class AllSubset(Kernel):
    """2^c: conjunctions of any number of variables, the empty one included.

    >>> AllSubset().on_counts(n=5, x=3, z=3, c=[1, 3])
    array([2., 8.])
    """

    name: ClassVar[str] = "all_subset"
    formula: ClassVar[str] = "2^c"

    @property
    def form(self) -> Form:
        return "common"

    def value(self, k: Counts) -> Wide:
        return two_to(k.common)

    def cosine(self, k: Counts) -> Wide:
        return power_decay((k.only_x + k.only_z) * 0.5, 1.0) if k.lifted else super().cosine(k)

    def features(self, n: Wide) -> Wide:
        return two_to(n)


@dataclass(frozen=True, repr=False)
class Tanimoto(Kernel):
    """c / u: the share of the active variables that the vectors have in common (Jaccard's index).

    >>> Tanimoto().on_counts(n=9, x=3, z=3, c=[0, 1, 3])
    array([0. , 0.2, 1. ])
    """

    name: ClassVar[str] = "tanimoto"
    formula: ClassVar[str] = "c / u"

    def value(self, k: Counts) -> Wide:
        return k.common / k.union

    def values_of(self, pairs: Pairs, checked: bool = False) -> NDArray[np.float64]:
        """A quotient of whole numbers is correctly rounded as it is; no wide numbers needed."""
        if not checked:
            pairs.check()
        x, z, c = (a.astype(np.int64) for a in (pairs.x, pairs.z, pairs.c))
        union = np.asarray(x + z - c, dtype=np.float64)
        share: NDArray[np.float64] = np.zeros(pairs.shape)
        np.divide(c, union, out=share, where=union > 0)
        return share

    cosines_of = values_of

    @property
    def bytes_per_pair(self) -> int:
        return 28
