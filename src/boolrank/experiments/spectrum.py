"""Normalised spectral ratio of families of kernels against the arity: pairs are counted once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..expressiveness import PairSpectrum
from ..interactions import Interactions
from ..kernels import parse_kernel
from .arities import family

__all__ = ["SpectralCurve", "spectral_curves"]


@dataclass(frozen=True)
class SpectralCurve:
    """The ratio of one family at each arity: 0 is all items alike, 1 is no two alike.

    >>> curve = SpectralCurve("disjunctive", arities=(1, 2), ratios=(0.5, 0.25))
    >>> curve.ratios[curve.arities.index(2)]
    0.25
    """

    family: str
    arities: tuple[int, ...]
    ratios: tuple[float, ...]


def spectral_curves(
    data: Interactions | PairSpectrum, kernels: Iterable[str], arities: Sequence[int]
) -> list[SpectralCurve]:
    """How expressive kernels of each family are on the items of data, as vectors over its users.

    Parameters
    ----------
    data : interactions, or the counts of their pairs of items
    kernels : families, such as ``"disjunctive"`` or ``"threshold(2, {})"``
    arities : in order

    >>> data = Interactions.from_pairs([1, 1, 2, 2, 3, 3], list("abbcca"))
    >>> [round(ratio, 3) for ratio in spectral_curves(data, ["disjunctive"], [1, 2])[0].ratios]
    [0.566, 0.0]
    """
    pairs = data if isinstance(data, PairSpectrum) else PairSpectrum.of(data.T.matrix())
    return [
        SpectralCurve(
            name,
            tuple(arities),
            tuple(pairs.ratio(parse_kernel(text).normalized()) for text in family(name, arities)),
        )
        for name in dict.fromkeys(kernels)
    ]
