"""What the demonstration finds out: numbers only, for whoever prints or draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.protocols import paper_protocol
from ..evaluation.folds import evaluate
from ..kernels import parse_kernel
from ..kernels.expressiveness import PairSpectrum
from ..models import Popularity
from ..models.kernel_ranker import KernelRanker
from ..report.results import arity_curves
from ..report.sections import example
from ..studies import Experiment, RankerSpec
from ..studies.arities import family
from ..studies.run import run_experiment
from .tastes import TITLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..data.splits import Split
    from ..evaluation.result import Evaluation
    from ..report.blocks import Example
    from ..studies.arities import Curve
    from .tastes import PlantedTastes

__all__ = [
    "ARITIES",
    "LIKED",
    "POPULARITY",
    "RANKED",
    "SHOWN",
    "TOP",
    "Findings",
    "Hits",
    "fit_models",
    "hits",
    "measure",
    "people",
    "spectral_ratios",
]

# The kernels that are compared, with popularity beside them.
RANKED = ("linear", "disjunctive(4)")
POPULARITY = "popularity"
# Data this small are through before a second thread has started.
_THREADS = 1

# Denser where the curves bend. No conjunction of more variables tells these films apart better.
ARITIES = {"disjunctive": (1, 2, 3, 4, 6, 8, 12, 16, 32, 64), "conjunctive": (1, 2, 3, 4, 6, 8)}

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

# A viewer likes a taste that has more than an even share of the planted liking: mostly one or two.
LIKED = 1 / len(TITLES)

# So many films are recommended.
TOP = 5

# People with about as many films as this are shown: enough to have a taste, few enough to read.
_FILMS = 12


@dataclass(frozen=True)
class Hits:
    """The recommendations to all viewers, in three numbers."""

    model: str
    liked: float  # share of them that are of a taste that the viewer likes
    n_liked: int | None  # the same as a number; none for an expectation
    users: float  # how many viewers the recommended films have, on average


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that was found.

    Attributes
    ----------
    seed, data : what was drawn
    split, evaluations : how the compared models rank, by name
    curves : AUC and spectral ratio of both families of kernels, against the arity
    ratios : the spectral ratio of every kernel
    people : three viewers, with what is recommended to them, and why
    hits : how often recommendations are of a taste that the viewer likes
    seconds : how long all this took
    """

    seed: int
    data: PlantedTastes
    split: Split
    evaluations: dict[str, Evaluation]
    curves: list[Curve]
    ratios: list[tuple[str, float]]
    people: list[Example]
    hits: list[Hits]
    seconds: float


def measure(
    data: PlantedTastes, seed: int, progress: Callable[[str], None]
) -> tuple[Split, dict[str, Evaluation], list[Curve]]:
    """By the paper's protocol, the compared models and kernels of each arity.

    Overlaps are counted once a fold, for all kernels.
    """
    split = paper_protocol(data.events, seed=seed)
    swept = [text for name, arities in ARITIES.items() for text in family(name, arities)]
    models = tuple(RankerSpec(text) for text in (*RANKED, *swept))
    run = run_experiment(
        Experiment(("planted tastes",), models, seed=seed),
        split=split,
        n_threads=_THREADS,
        progress=lambda done, total, what: progress(f"measuring: {done} of {total}, {what}"),
    )
    compared = {POPULARITY: evaluate(Popularity(), split, n_threads=_THREADS)}
    compared |= {text: run.evaluations[text] for text in RANKED}
    progress("measuring how expressive kernels are")
    return split, compared, arity_curves(run)


def spectral_ratios(data: PlantedTastes) -> list[tuple[str, float]]:
    """Every kernel with its normalised spectral ratio, the least expressive first."""
    pairs = PairSpectrum.of(data.events.T.matrix())  # the pairs are counted once, for all kernels
    # Of the normalised kernel: a raw one says more about popularity than about the features.
    found = [(text, pairs.ratio(parse_kernel(text).normalized())) for text in SHOWN]
    return sorted(found, key=lambda pair: pair[1])


def fit_models(data: PlantedTastes) -> dict[str, KernelRanker | Popularity]:
    """The compared models, fitted on all that was seen."""
    models: dict[str, KernelRanker | Popularity] = {POPULARITY: Popularity()}
    models |= {text: KernelRanker(text, n_threads=_THREADS) for text in RANKED}
    return {name: model.fit(data.events) for name, model in models.items()}


def people(data: PlantedTastes, models: Mapping[str, Any]) -> list[Example]:
    """Three viewers of different tastes, the second with two of them, and films for each.

    They are chosen by their likings and by how much they have seen, not by what comes out.
    """
    rankers = {text: models[text] for text in RANKED}
    items, users = data.events.items, data.events.users

    def shown(user: int) -> Example:
        def tag(film: str) -> tuple[str, bool]:
            taste = data.taste_of[items.number(film)]
            return data.tastes[taste], bool(data.liking[user, taste] > LIKED)

        own = data.events.row(user)
        counts = _most(data, np.bincount(data.taste_of[own], minlength=len(data.tastes)))
        likes = [(taste, share) for taste, share in _most(data, data.liking[user]) if share > LIKED]
        planted = ", ".join(f"{share:.0%} {taste}" for taste, share in likes)
        seen = ", ".join(f"{count} {taste}" for taste, count in counts if count)
        about = f"planted liking: {planted}; has seen {len(own)} films: {seen}"
        tags = [taste for taste, _ in likes]
        return example(rankers, users[user], n=TOP, tags=tags, about=about, tag=tag)

    return [shown(user) for user in _example_users(data)]


def hits(data: PlantedTastes, models: Mapping[str, Any]) -> list[Hits]:
    """How many of the recommendations to each viewer are of a taste that the viewer likes.

    Beside the models: what films drawn at random of those not seen would come to.
    """
    popularity = data.events.popularity()
    likes = data.liking[:, data.taste_of] > LIKED
    found = []
    for name, model in models.items():
        # No viewer has seen more than half of the catalogue, so that all lists are full.
        lists = model.recommend(n=TOP).lists()
        chosen = np.array([data.events.items.numbers(films) for films in lists])
        liked = np.take_along_axis(likes, chosen, axis=1)
        users = float(popularity[chosen].mean())
        found.append(Hits(name, float(liked.mean()), int(liked.sum()), users))
    unseen = data.events.matrix().toarray() == 0
    even = unseen / unseen.sum(axis=1, keepdims=True)
    chance = float((even * likes).sum(axis=1).mean())
    return [*found, Hits("at random", chance, None, float((even @ popularity).mean()))]


def _most(data: PlantedTastes, values: NDArray[Any]) -> list[tuple[str, Any]]:
    """Tastes with their values, the largest first."""
    order = np.argsort(-values, kind="stable")
    return [(data.tastes[taste], values[taste]) for taste in order]


def _example_users(data: PlantedTastes) -> list[int]:
    """Viewers with one, two and one tastes, none of them shared; fewer if there are none such."""
    likes = data.liking > LIKED
    n_seen = np.diff(data.events.indptr)
    order = np.argsort(np.abs(n_seen - _FILMS), kind="stable")
    chosen: list[int] = []
    for n_tastes in (1, 2, 1):
        taken = likes[chosen].any(axis=0)
        fits = (likes.sum(axis=1) == n_tastes) & ~(likes & taken).any(axis=1)
        chosen += [int(user) for user in order if fits[user]][:1]
    return chosen
