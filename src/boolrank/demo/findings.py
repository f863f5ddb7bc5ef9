"""What the demonstration finds out: numbers only, for whoever prints or draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..expressiveness import PairSpectrum, spectral_ratio
from ..kernels import Conjunctive, Disjunctive, Kernel, parse_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .tastes import PlantedTastes

__all__ = [
    "ARITIES",
    "COMPARED",
    "SHOWN",
    "Curve",
    "Facts",
    "Neighbour",
    "Neighbourhood",
    "Quality",
    "arity_curves",
    "facts",
    "neighbourhoods",
    "qualities",
    "spectral_ratios",
]

# One of every kernel, by text name, with parameters that make sense for a few hundred users.
SHOWN = (
    "linear",
    "polynomial(3, offset=1)",
    "all_subset",
    "conjunctive(2)",
    "tanimoto",
    "dnf(weight=0.01)",
    "monotone_dnf(weight=0.1)",
    "disjunctive(4)",
    "threshold(2, 8)",
    "literal_conjunctive(2)",
    "literal_disjunctive(2)",
    "composed_dnf(2, 2)",
    "composed_cnf(2, 2)",
)

# The kernels whose neighbours are shown side by side.
COMPARED = ("linear", "tanimoto", "disjunctive(4)")

# Denser where the curves bend.
ARITIES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64)


@dataclass(frozen=True)
class Facts:
    """The size and the shape of the data."""

    n_items: int
    n_users: int
    n_pairs: int
    density: float
    n_tastes: int
    most_popular: str
    most_users: int
    median_users: float
    least_users: int
    head_share: float  # of all pairs, those with one of the most popular tenth of the items


@dataclass(frozen=True)
class Curve:
    """The normalised spectral ratio of one kernel family at each arity."""

    label: str
    arities: tuple[int, ...]
    ratios: tuple[float, ...]


@dataclass(frozen=True)
class Neighbour:
    """An item that a kernel finds similar to another."""

    item: str
    taste: str
    users: int
    similarity: float
    same_taste: bool


@dataclass(frozen=True)
class Neighbourhood:
    """The items most similar to one item, under each of the compared kernels."""

    item: str
    taste: str
    users: int
    neighbours: dict[str, tuple[Neighbour, ...]]


@dataclass(frozen=True)
class Quality:
    """The ten nearest items of every item, in two numbers."""

    kernel: str
    same_taste: float  # share of them that are of the item's own taste
    users: float  # how popular they are on average


def facts(data: PlantedTastes) -> Facts:
    """Describe the data."""
    popularity = data.popularity
    head = np.sort(popularity)[::-1][: len(popularity) // 10]
    n_items, n_users = data.seen.shape
    return Facts(
        n_items=n_items,
        n_users=n_users,
        n_pairs=int(popularity.sum()),
        density=float(popularity.sum() / (n_items * n_users)),
        n_tastes=len(data.tastes),
        most_popular=data.items[int(popularity.argmax())],
        most_users=int(popularity.max()),
        median_users=float(np.median(popularity)),
        least_users=int(popularity.min()),
        head_share=float(head.sum() / popularity.sum()),
    )


def spectral_ratios(data: PlantedTastes) -> list[tuple[str, float]]:
    """Every kernel with its normalised spectral ratio, the least expressive first."""
    pairs = PairSpectrum.of(data.seen)  # the pairs are counted once, for all kernels
    found = [(text, _ratio(parse_kernel(text), pairs)) for text in SHOWN]
    return sorted(found, key=lambda pair: pair[1])


def arity_curves(data: PlantedTastes, arities: Sequence[int] = ARITIES) -> list[Curve]:
    """The two kernel families whose arity turns expressiveness up and down."""
    pairs = PairSpectrum.of(data.seen)
    arities = [arity for arity in arities if arity <= data.seen.shape[1]]  # of that many users
    families: dict[str, type[Conjunctive | Disjunctive]] = {
        "conjunctive": Conjunctive,
        "disjunctive": Disjunctive,
    }
    return [
        Curve(
            label=label,
            arities=tuple(arities),
            ratios=tuple(_ratio(family(arity), pairs) for arity in arities),
        )
        for label, family in families.items()
    ]


def neighbourhoods(data: PlantedTastes, *, n: int = 5) -> list[Neighbourhood]:
    """The ``n`` most similar items of a popular, a middling and a rare item."""
    nearest = {text: _nearest(parse_kernel(text), data, n) for text in COMPARED}
    popularity = data.popularity

    def neighbours(item: int, text: str) -> tuple[Neighbour, ...]:
        order, similarity = nearest[text]
        return tuple(
            Neighbour(
                item=data.items[other],
                taste=data.tastes[data.taste_of[other]],
                users=int(popularity[other]),
                similarity=float(value),
                same_taste=bool(data.taste_of[other] == data.taste_of[item]),
            )
            for other, value in zip(order[item], similarity[item], strict=True)
        )

    return [
        Neighbourhood(
            item=data.items[item],
            taste=data.tastes[data.taste_of[item]],
            users=int(popularity[item]),
            neighbours={text: neighbours(item, text) for text in COMPARED},
        )
        for item in _example_items(data)
    ]


def qualities(data: PlantedTastes, *, n: int = 10) -> list[Quality]:
    """For each compared kernel, what the ``n`` nearest items of all items have in common."""
    found = []
    for text in COMPARED:
        order, _ = _nearest(parse_kernel(text), data, n)
        same = data.taste_of[order] == data.taste_of[:, np.newaxis]
        found.append(
            Quality(text, same_taste=float(same.mean()), users=float(data.popularity[order].mean()))
        )
    return found


def _ratio(kernel: Kernel, pairs: PairSpectrum) -> float:
    # Of the normalised kernel: a raw one says more about popularity than about the features.
    return spectral_ratio(kernel.normalized(), pairs)


def _nearest(
    kernel: Kernel, data: PlantedTastes, n: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The ``n`` most similar items of each item, without itself, and how similar they are."""
    gram = kernel.normalized()(data.seen)
    np.fill_diagonal(gram, -np.inf)
    order = np.argsort(-gram, axis=1, kind="stable")[:, :n]  # stable: ties in catalogue order
    return order, np.take_along_axis(gram, order, axis=1)


def _example_items(data: PlantedTastes) -> list[int]:
    """A popular, a middling and a rare item, each of another taste."""
    ranked = np.argsort(-data.popularity, kind="stable")
    chosen: list[int] = []
    for start in (2, len(ranked) // 2, len(ranked) - 8):
        taken = {int(data.taste_of[item]) for item in chosen}
        chosen.append(next(int(i) for i in ranked[start:] if int(data.taste_of[i]) not in taken))
    return chosen
