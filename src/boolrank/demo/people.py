"""What the ranker recommends to the made-up viewers, why, and how often it meets their tastes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..interactions import Interactions
from ..ranker import KernelRanker
from .tastes import TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .tastes import PlantedTastes

__all__ = [
    "LIKED",
    "RANKED",
    "Advice",
    "Film",
    "Hits",
    "Person",
    "Pick",
    "Reason",
    "fit_rankers",
    "hits",
    "people",
    "viewers",
]

# The kernels whose recommendations are shown side by side.
RANKED = ("linear", "disjunctive(4)")

# A viewer likes a taste that has more than an even share of the planted liking: mostly one or two.
LIKED = 1 / len(TITLES)

# People with about as many films as this are shown: enough to have a taste, few enough to read.
_FILMS = 12


@dataclass(frozen=True)
class Film:
    """A film, and whether it is of a taste that the viewer likes."""

    item: str
    taste: str
    liked: bool


@dataclass(frozen=True)
class Pick(Film):
    """A recommended film."""

    score: float


@dataclass(frozen=True)
class Reason(Film):
    """A film that the viewer has seen, and how much it adds to the score of a recommended one."""

    adds: float


@dataclass(frozen=True)
class Advice:
    """The recommendations of one kernel to one viewer, and why the first of them is there.

    The parts of ``reasons`` and ``others``, what all other films of the viewer add, make the score.
    """

    picks: tuple[Pick, ...]
    reasons: tuple[Reason, ...]
    n_others: int
    others: float


@dataclass(frozen=True)
class Person:
    """One viewer: the planted likings, what was seen, and what each kernel recommends."""

    name: str
    likes: tuple[tuple[str, float], ...]  # taste and share of the liking, the largest first
    n_seen: int
    counts: tuple[tuple[str, int], ...]  # taste and films seen, the most first
    seen: tuple[Film, ...]  # the rarest few: they say most about a person
    advice: dict[str, Advice]


@dataclass(frozen=True)
class Hits:
    """The recommendations to all viewers, in three numbers."""

    way: str
    kernel: bool  # whether the way is a kernel
    liked: float  # share of them that are of a taste that the viewer likes
    n_liked: int | None  # the same as a number; none for an expectation
    users: float  # how many viewers the recommended films have, on average


def viewers(data: PlantedTastes) -> list[str]:
    """Names that a person can tell apart: ``viewer 017``."""
    n_users = data.seen.shape[1]
    width = len(str(n_users))
    return [f"viewer {number:0{width}}" for number in range(1, n_users + 1)]


def fit_rankers(data: PlantedTastes) -> dict[str, KernelRanker]:
    """A ranker for each of the kernels, fitted on all that was seen."""
    events = Interactions.from_matrix(data.seen.T, users=viewers(data), items=data.items)
    return {text: KernelRanker(text).fit(events) for text in RANKED}


def people(data: PlantedTastes, rankers: dict[str, KernelRanker], *, n: int = 5) -> list[Person]:
    """Three viewers of different tastes, the second with two of them, and ``n`` films for each.

    They are chosen by their likings and by how much they have seen, not by what comes out.
    """
    names, number = viewers(data), {item: k for k, item in enumerate(data.items)}
    seen = data.seen.tocsc()

    def film(user: int, item: int) -> Film:
        taste = data.taste_of[item]
        liked = bool(data.liking[user, taste] > LIKED)
        return Film(data.items[item], data.tastes[taste], liked)

    def advice(user: int, ranker: KernelRanker) -> Advice:
        found = ranker.recommend([names[user]], n=n)
        best = found.lists()[0]
        picks = tuple(
            Pick(**vars(film(user, number[item])), score=float(score))
            for item, score in zip(best, found.scores[0], strict=False)
        )
        parts = ranker.explain(names[user], best[0])
        reasons = tuple(Reason(**vars(film(user, number[own])), adds=add) for own, add in parts[:3])
        return Advice(picks, reasons, len(parts[3:]), sum(add for _, add in parts[3:]))

    def person(user: int) -> Person:
        own = seen.indices[seen.indptr[user] : seen.indptr[user + 1]]
        rarest = own[np.argsort(data.popularity[own], kind="stable")][:5]
        counts = np.bincount(data.taste_of[own], minlength=len(data.tastes))
        likings = data.liking[user]
        return Person(
            name=names[user],
            likes=tuple((t, float(share)) for t, share in _most(data, likings) if share > LIKED),
            n_seen=len(own),
            counts=tuple((t, int(count)) for t, count in _most(data, counts) if count),
            seen=tuple(film(user, item) for item in rarest),
            advice={text: advice(user, ranker) for text, ranker in rankers.items()},
        )

    return [person(user) for user in _example_users(data)]


def hits(data: PlantedTastes, rankers: dict[str, KernelRanker], *, n: int = 5) -> list[Hits]:
    """How many of the ``n`` recommendations to each viewer are of a taste that the viewer likes.

    Beside the rankers: the most popular films that the viewer has not seen, and what films drawn
    at random of those not seen would come to.
    """
    unseen = data.seen.toarray().T == 0  # one row a viewer
    likes = data.liking[:, data.taste_of] > LIKED
    number = {item: k for k, item in enumerate(data.items)}
    names = viewers(data)

    def measured(way: str, chosen: NDArray[np.intp]) -> Hits:
        liked = np.take_along_axis(likes, chosen, axis=1)
        users = data.popularity[chosen].mean()
        return Hits(way, way in rankers, float(liked.mean()), int(liked.sum()), float(users))

    def numbers(lists: Sequence[Sequence[str]]) -> NDArray[np.intp]:
        # No viewer has seen more than half of the catalogue, so that all lists have n films.
        return np.array([[number[item] for item in items] for items in lists], dtype=np.intp)

    popular = np.argsort(-np.where(unseen, data.popularity, -1), axis=1, kind="stable")[:, :n]
    even = unseen / unseen.sum(axis=1, keepdims=True)
    chance = (even * likes).sum(axis=1).mean()
    return [
        *(
            measured(text, numbers(ranker.recommend(names, n=n).lists()))
            for text, ranker in rankers.items()
        ),
        measured("the most popular", popular),
        Hits("at random", False, float(chance), None, float((even @ data.popularity).mean())),
    ]


def _most(data: PlantedTastes, values: NDArray[Any]) -> list[tuple[str, Any]]:
    """Tastes with their values, the largest first."""
    order = np.argsort(-values, kind="stable")
    return [(data.tastes[taste], values[taste]) for taste in order]


def _example_users(data: PlantedTastes) -> list[int]:
    """Viewers with one, two and one tastes, none of them shared; fewer if there are none such."""
    likes = data.liking > LIKED
    n_seen = np.bincount(data.seen.indices, minlength=data.seen.shape[1])
    order = np.argsort(np.abs(n_seen - _FILMS), kind="stable")
    chosen: list[int] = []
    for n_tastes in (1, 2, 1):
        taken = likes[chosen].any(axis=0)
        fits = (likes.sum(axis=1) == n_tastes) & ~(likes & taken).any(axis=1)
        chosen += [int(user) for user in order if fits[user]][:1]
    return chosen
