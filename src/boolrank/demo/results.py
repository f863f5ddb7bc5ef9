"""The measurements of the demonstration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.protocols import paper_protocol
from ..kernels.expressiveness import PairSpectrum
from ..models.spec import ModelSpec
from ..studies.arity import Curve, family, spectral_curve
from ..studies.experiment import Experiment, run_experiment
from ..table import Column, Table
from .tastes import TITLES, PlantedTastes, plant_tastes

if TYPE_CHECKING:
    from ..data.splits import Split
    from ..evaluation.result import Evaluation
    from ..models.recommender import Recommender

# The kernels that are compared, and the baseline.
RANKED = ("linear", "disjunctive(4)")
POPULARITY = "popularity"
_THREADS = 1  # more do not pay for data this small

# Denser where the curves bend.
ARITIES = {"disjunctive": (1, 2, 3, 4, 6, 8, 12, 16, 32, 64), "conjunctive": (1, 2, 3, 4, 6, 8)}

# A viewer likes a taste with more than an even share of the planted liking: mostly one or two.
LIKED = 1 / len(TITLES)
TOP = 5  # films recommended, and films shown of a viewer
_REASONS = 3  # shown of a recommendation
# Films seen by the viewers shown: enough to have a taste, few enough to read.
_FILMS = 12


class Person(NamedTuple):
    """Films of a viewer beside recommendations, and by kernel the reasons for the first one."""

    table: Table
    reasons: Mapping[str, list[tuple[str, float]]]


@dataclass(frozen=True, eq=False)
class Findings:
    """All results."""

    seed: int
    data: PlantedTastes
    split: Split
    evaluations: dict[str, Evaluation]  # by model
    curves: list[Curve]
    people: list[Person]
    hits: Table


def measure(seed: int, n_users: int, progress: Callable[[str], None]) -> Findings:
    """Plant tastes, and measure what models find of them."""
    progress("drawing viewers with planted tastes")
    data = plant_tastes(np.random.default_rng(seed), n_users=n_users)
    progress("measuring (the first run on a machine compiles for a while)")
    split = paper_protocol(data.events, seed=seed)
    swept = [text for name, arities in ARITIES.items() for text in family(name, arities)]
    specs = {name: _spec(name) for name in (POPULARITY, *RANKED, *swept)}
    run = run_experiment(
        Experiment(("planted tastes",), tuple(specs.values()), seed=seed),
        split=split,
        n_threads=_THREADS,
        progress=lambda done, total, what: progress(f"measuring: {done} of {total}, {what}"),
    )
    evaluations = {name: run.evaluations[str(spec)] for name, spec in specs.items()}
    progress("measuring how expressive kernels are")
    pairs = PairSpectrum.of(data.events.T.matrix())
    curves = [spectral_curve(pairs, name, some, evaluations) for name, some in ARITIES.items()]
    progress("recommending films to viewers")
    models = fit_models(data)
    people = [_person(data, models, user) for user in _example_users(data)]
    compared = {name: evaluations[name] for name in models}
    return Findings(seed, data, split, compared, curves, people, _hits(data, models))


def fit_models(data: PlantedTastes) -> dict[str, Recommender]:
    """Return the compared models, fitted on all films seen."""
    return {name: _spec(name).make(_THREADS).fit(data.events) for name in (POPULARITY, *RANKED)}


def _spec(name: str) -> ModelSpec:
    return ModelSpec(name) if name == POPULARITY else ModelSpec("kernel-ranker", {"kernel": name})


def _person(data: PlantedTastes, models: Mapping[str, Recommender], user: int) -> Person:
    """Return a viewer's rarest films, and the recommendations of each kernel with reasons."""
    events, own, viewer = data.events, data.events.rows.row(user), data.events.users[user]
    likes = data.liking[user] > LIKED

    def tastes(films: list[str]) -> list[str]:
        of = data.taste_of[events.items.numbers(films)]
        return [data.tastes[taste] + (" ✓" if likes[taste] else "") for taste in of]

    def listed(values: Any, least: float, form: str) -> str:
        order = [int(k) for k in np.argsort(-values, kind="stable") if values[k] > least]
        return ", ".join(f"{values[k]:{form}} {data.tastes[k]}" for k in order)

    # Rare films say more about a viewer than popular ones.
    rarest = own[np.argsort(events.popularity()[own], kind="stable")][:TOP]
    seen = [events.items[int(k)] for k in rarest]
    columns = [Column("rank", "d"), Column("has seen"), Column("its taste", under="has seen")]
    values: list[list[Any]] = [list(range(1, TOP + 1)), seen, tastes(seen)]
    reasons = {}
    for kernel in RANKED:
        found = models[kernel].recommend([viewer], n=TOP)
        (films,) = found.lists()
        columns += [
            Column(kernel, heading=f"{kernel} recommends"),
            Column(f"{kernel}, taste", under=kernel),
            Column(f"{kernel}, score", ".4f", under=kernel, template=", score {}"),
        ]
        values += [films, tastes(films), found.scores[0].tolist()]
        parts = models[kernel].explain(viewer, films[0])
        others = sum(part for _, part in parts[_REASONS:])
        reasons[kernel] = [*parts[:_REASONS], (f"{len(parts) - _REASONS} others", others)]
    counts = np.bincount(data.taste_of[own], minlength=len(data.tastes))
    title = (
        f"{viewer}, planted taste: {listed(data.liking[user], LIKED, '.0%')}; has seen {len(own)} "
        f"films: {listed(counts, 0, 'd')}"
    )
    return Person(Table(title, columns, list(zip_longest(*values))), reasons)


def _hits(data: PlantedTastes, models: Mapping[str, Recommender]) -> Table:
    """Count recommendations that match the viewer's taste, and the expectation at random."""
    popularity = data.events.popularity()
    likes = data.liking[:, data.taste_of] > LIKED
    rows: list[tuple[Any, ...]] = []
    for name, model in models.items():
        # No viewer has seen more than half of the catalogue, so all lists are full.
        lists = model.recommend(n=TOP).lists()
        chosen = np.array([data.events.items.numbers(films) for films in lists])
        liked = np.take_along_axis(likes, chosen, axis=1)
        rows.append((name, int(liked.sum()), float(liked.mean()), popularity[chosen].mean()))
    unseen = data.events.matrix().toarray() == 0
    even = unseen / unseen.sum(axis=1, keepdims=True)
    chance = float((even * likes).sum(axis=1).mean())
    rows.append(("at random", None, chance, (even @ popularity).mean()))
    columns = {"model": "", "of a liked taste": ",", "share": ".1%", "mean viewers": ".0f"}
    title = f"Recommendations of a taste that the viewer likes, of {TOP} to each viewer"
    return Table.of(title, columns, rows, name="hits")


def _example_users(data: PlantedTastes) -> list[int]:
    """Return viewers with one, two and one tastes, none of them shared, if there are such.

    They are chosen by taste and activity, not by the results.
    """
    likes = data.liking > LIKED
    order = np.argsort(np.abs(np.diff(data.events.indptr) - _FILMS), kind="stable")
    chosen: list[int] = []
    for n_tastes in (1, 2, 1):
        taken = likes[chosen].any(axis=0)
        fits = (likes.sum(axis=1) == n_tastes) & ~(likes & taken).any(axis=1)
        chosen += [int(user) for user in order if fits[user]][:1]
    return chosen
