"""The measurements of the demonstration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from ..data.protocols import hold_out
from ..data.rows import Rows
from ..data.splits import Split
from ..evaluation import Rankings
from ..kernels.expressiveness import PairSpectrum
from ..models import Recommender
from ..models.spec import ModelSpec, parse_model
from ..studies import Experiment, run_experiment
from ..studies.arity import Curve, family, spectral_curve
from ..studies.choose import Choice, choose
from ..table import Column, Table
from .tastes import TITLES, PlantedTastes, plant_tastes

# Compared with the model that is chosen; the last one recommends the same films to everybody.
OTHERS = ("item-knn", "kernel-ranker(kernel=linear)", "kernel-ranker", "popularity")
METRICS = {
    "ndcg@10": "nDCG@10",
    "auc": "AUC",
    "coverage@10": "coverage",
    "top10_share@10": "top ten",
}
# Every family of models starts; not a time, so that the choice is the same on every machine.
_TRIALS = 8
_THREADS = 1  # more do not pay for data this small

ARITIES = {"disjunctive": (1, 2, 4, 8, 16, 32, 64, 128), "conjunctive": (1, 2, 4, 8)}

# A viewer likes a taste with more than an even share of the planted liking: mostly one or two.
LIKED = 1 / len(TITLES)
TOP = 5  # films recommended
_REASONS = 3  # shown of a recommendation
# Films seen by the viewer shown: enough to have a taste, few enough to read.
_FILMS = 8


@dataclass(frozen=True, eq=False)
class Findings:
    """All results."""

    seed: int
    data: PlantedTastes
    split: Split
    choice: Choice
    viewer: Table  # films of a viewer beside recommendations
    reasons: list[tuple[str, float]]  # for the first of them
    hits: Mapping[str, float]  # shares of recommendations of a liked taste, by model
    compared: Table
    curves: list[Curve]


def measure(seed: int, n_users: int, progress: Callable[[str], None]) -> Findings:
    """Plant tastes, choose a model, and measure how much of the tastes it finds."""
    progress("drawing viewers with planted tastes")
    data = plant_tastes(np.random.default_rng(seed), n_users=n_users)
    split = hold_out(data.events, 0.2, "random", seed)
    progress("choosing a model (the first run on a machine compiles for a while)")
    choice = choose(
        split[0].train,
        trials=_TRIALS,
        seed=seed,
        n_threads=_THREADS,
        progress=lambda done, total, best: progress(f"choosing: {done} of {total}, {best}"),
    )
    specs = {str(spec): spec for spec in (choice.spec, *map(parse_model, OTHERS))}
    swept = [text for name, arities in ARITIES.items() for text in family(name, arities)]
    kernels = {text: ModelSpec("kernel-ranker", {"kernel": text}) for text in swept}
    run = run_experiment(
        Experiment(
            ("planted tastes",), (*specs.values(), *kernels.values()), metrics=tuple(METRICS)
        ),
        split=split,
        n_threads=_THREADS,
        progress=lambda done, total, what: progress(f"measuring: {done} of {total}, {what}"),
    )
    found = {text: run.evaluations[str(spec)] for text, spec in kernels.items()}
    progress("measuring how expressive kernels are")
    pairs = PairSpectrum.of(data.events.T.matrix())
    curves = [spectral_curve(pairs, name, some, found) for name, some in ARITIES.items()]
    progress("recommending films to viewers")
    models = {name: spec.make(_THREADS).fit(data.events) for name, spec in specs.items()}
    hits = {name: _hits(data, model) for name, model in models.items()}
    columns = {"model": "", "of a liked taste": ".0%"} | dict.fromkeys(METRICS.values(), ".3f")
    rows = [(name, hits[name], *run.evaluations[name].means.values()) for name in specs]
    title = f"Models on {data.events.size - split[0].train.size:,} interactions held out"
    compared = Table.of(title, columns, rows, name="compared", strong=frozenset({0}))
    viewer, reasons = _describe(data, models[str(choice.spec)], _example_user(data))
    return Findings(seed, data, split, choice, viewer, reasons, hits, compared, curves)


def _describe(
    data: PlantedTastes, model: Recommender, user: int
) -> tuple[Table, list[tuple[str, float]]]:
    """Return a viewer's films and recommendations with their tastes, and the reasons."""
    events, own, viewer = data.events, data.events.rows.row(user), data.events.users[user]
    likes = data.liking[user] > LIKED

    def tastes(films: list[str]) -> list[str]:
        of = data.taste_of[events.items.numbers(films)]
        return [data.tastes[taste] + (" ✓" if likes[taste] else "") for taste in of]

    seen, found = [events.items[int(k)] for k in own], model.recommend([viewer], n=TOP)
    (films,) = found.lists()
    columns = [
        Column("has seen"),
        Column("its taste", under="has seen"),
        Column("recommended"),
        Column("taste", under="recommended"),
        Column("score", ".4f"),
    ]
    values: list[list[Any]] = [seen, tastes(seen), films, tastes(films), found.scores[0].tolist()]
    parts = model.explain(viewer, films[0])
    others = sum(part for _, part in parts[_REASONS:])
    reasons = [*parts[:_REASONS], (f"{len(parts) - _REASONS} others", others)]
    liked = " and ".join(data.tastes[k] for k in np.flatnonzero(likes))
    title = f"{viewer.capitalize()}, who likes {liked}"
    return Table(title, columns, list(zip_longest(*values))), reasons


def _hits(data: PlantedTastes, model: Recommender) -> float:
    """Return the share of recommendations of a taste that the viewer likes."""
    events = data.events
    nothing = Rows.of_lengths(np.zeros(len(events.users), np.int64), np.empty(0, np.int32))
    # Ranked as in an evaluation: `recommend` would compile loops for each model.
    top = Rankings.from_scores(model.score(list(events.users)), nothing, events.rows, TOP).top
    return float(np.take_along_axis(data.liking[:, data.taste_of] > LIKED, top, axis=1).mean())


def _example_user(data: PlantedTastes) -> int:
    """Return a viewer of two tastes, chosen by taste and activity and not by the results."""
    two = (data.liking > LIKED).sum(axis=1) == 2
    far = np.abs(np.diff(data.events.indptr) - _FILMS) + np.where(two, 0, len(data.events.items))
    return int(np.argmin(far))
