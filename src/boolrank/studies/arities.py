"""Sweeps over the arity: how families of kernels are written, and what they are at each arity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from ..data.interactions import Interactions
from ..errors import ParameterError
from ..evaluation.result import Evaluation
from ..kernels import KERNELS, parse_kernel
from ..kernels.expressiveness import PairSpectrum

__all__ = [
    "Curve",
    "SpectralCurve",
    "family",
    "measured_curve",
    "parse_arities",
    "spectral_curves",
]

_RANGE = re.compile(r"\s*(\d+)\s*(?::\s*(\d+)\s*(?::\s*(\d+)\s*)?)?")
_MOST = 10**5


def parse_arities(text: str) -> tuple[int, ...]:
    """Arities of ``"1,2,5"``, ``"1:150"`` (both ends) or ``"1:150:10"``; in order, each once.

    >>> parse_arities("1:4,10:30:10")
    (1, 2, 3, 4, 10, 20, 30)
    """
    found: set[int] = set()
    for part in str(text).split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ParameterError(
                f"arities are written as '1,2,5', '1:150' or '1:150:10', not {text!r}"
            )
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        step = 1 if match[3] is None else int(match[3])
        if not 1 <= first <= last <= _MOST or step < 1:
            raise ParameterError(
                f"the arities {part.strip()!r} must go up, from 1 to {_MOST:,} at most"
            )
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def family(kernel: str, arities: Iterable[int]) -> tuple[str, ...]:
    """The kernel of each arity, as text; ``{}`` stands for the arity where it is not alone.

    >>> family("disjunctive", (1, 2)), family("threshold(2, {})", [5])
    (('disjunctive(1)', 'disjunctive(2)'), ('threshold(2, 5)',))
    """
    if "{}" not in kernel:
        _check_alone(kernel.strip())
        kernel += "({})"
    return tuple(kernel.replace("{}", str(arity)) for arity in arities)


def _check_alone(kernel: str) -> None:
    """Refuse a kernel that is none with a number behind it."""
    takes = {name: [f.name for f in fields(cast("Any", each))] for name, each in KERNELS.items()}
    known = [name for name, names in takes.items() if names[:1] in (["arity"], ["degree"])]
    elsewhere = "write {} where the arity stands, such as in 'threshold(2, {})'"
    if kernel.endswith(")"):
        raise ParameterError(
            f"the arity of {kernel!r} is to be varied, and it has its numbers already; leave them "
            f"out, or {elsewhere}"
        )
    if kernel in takes and kernel not in known:
        given = ", ".join(takes[kernel])
        wrong = f"takes ({given}), not an arity alone" if given else "has no arity"
        raise ParameterError(
            f"{kernel} {wrong}; use {' or '.join(known)}, or in other kernels {elsewhere}"
        )


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
        SpectralCurve(name, tuple(arities), _ratios(pairs, name, arities))
        for name in dict.fromkeys(kernels)
    ]


@dataclass(frozen=True)
class Curve:
    """A metric and the normalised spectral ratio of a family of kernels against the arity.

    There are no ``means`` and ``deviations`` over folds where nothing was measured.
    """

    family: str
    arities: tuple[int, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    ratios: tuple[float, ...]


def measured_curve(
    name: str,
    arities: Sequence[int],
    pairs: PairSpectrum,
    evaluations: Mapping[str, Evaluation],
    metric: str = "auc",
) -> Curve:
    """The curve of a family of which each kernel was measured, or none."""
    found = [evaluations[text] for text in family(name, arities)] if evaluations else []
    return Curve(
        name,
        tuple(arities),
        tuple(each.means[metric] for each in found),
        tuple(each.deviations[metric] for each in found),
        _ratios(pairs, name, arities),
    )


def _ratios(pairs: PairSpectrum, name: str, arities: Sequence[int]) -> tuple[float, ...]:
    return tuple(pairs.ratio(parse_kernel(text).normalized()) for text in family(name, arities))
