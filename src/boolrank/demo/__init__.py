"""A demonstration on made-up data with a known right answer: its page, and tables for terminals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ..data.protocols import hold_out
from ..data.rows import Rows
from ..data.splits import Split
from ..evaluation import Rankings
from ..evaluation.metrics import METRICS
from ..kernels.expressiveness import PairSpectrum
from ..models import Recommender
from ..models.spec import ModelSpec, parse_model
from ..report.figures import arity_plots
from ..report.page import (
    Entries,
    Figures,
    Lists,
    Note,
    Page,
    Section,
    claim_folder,
    data_size,
    made,
    write_page,
)
from ..studies import Experiment, run_experiment
from ..studies.arity import Curve, family, spectral_curve
from ..studies.choose import Choice, choose
from ..studies.run import machine
from ..table import Column, Table, counted
from .tastes import TITLES, PlantedTastes, plant_tastes

__all__ = ["NEXT", "demo_tables", "run_demo"]

# Compared with the model that is chosen; the last one recommends the same films to everybody.
OTHERS = ("item-knn", "kernel-ranker(kernel=linear)", "kernel-ranker", "popularity")
MEASURED = {
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

# Commands to try next, run by the tests.
NEXT = {
    "boolrank fit events.csv --out model": "choose a model and fit it; a row per event",
    "boolrank recommend model --users ann,bob": "the best items for ann and bob",
    "boolrank explain model ann tea": "how much each of ann's items adds to the score of tea",
    "boolrank similar model tea": "items similar to tea",
    "boolrank evaluate events.csv": "accuracy and variety of the chosen model, beside popularity",
}

_COMPARED = (
    "A fifth of the interactions was held out. Most of what people watch is popular: the most "
    "popular films, the same for everybody, reach {:.0%} of the chosen model’s nDCG, and tell a "
    "viewer nothing new. No model is best by all measures. Look at the taste, the coverage and the "
    "share of ten films beside accuracy."
)
_ARITY = (
    "Longer conjunctions hold for fewer films, longer disjunctions for more; both start at the "
    "linear kernel, at arity 1. The normalised spectral ratio measures expressiveness: 0 if all "
    "films are identical to a kernel, 1 if no two are related at all. On sparse data AUC peaks "
    "where disjunctions connect films without common viewers."
)
_DATA = (
    f"Made up: {len(TITLES)} tastes, and a film’s title shows its taste. Viewers draw films by "
    "popularity and by their liking for the taste, which counts as liked with more than "
    f"1/{len(TITLES)} of it. Which model is best for other data, `boolrank fit` finds out."
)
_LEGEND = (
    f"`boolrank fit` chose `{{}}`: {{}}. Liked taste: of {TOP} films for each viewer. Of ten films "
    f"each: coverage, {METRICS['coverage'].formula}; top ten, {METRICS['top10_share'].formula}."
)
_FOOTER = "The same seed gives the same page on the same machine."


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


def run_demo(
    out: str | Path,
    *,
    seed: int = 0,
    n_users: int = 3000,
    progress: Callable[[str], None] = lambda _: None,
) -> Findings:
    """Run the demonstration, and write ``report.html`` and ``figures/`` into ``out``.

    ``progress`` gets the current step, as ``"part: detail"``. The same seed gives the same results.
    """
    claim_folder(out, "demo")
    found = measure(seed, n_users, progress)
    progress("writing the page")
    write_page(_page(found), [], Path(out) / "report.html")
    return found


def _page(found: Findings) -> Page:
    rows = found.viewer.records()
    seen = {each["has seen"]: each["its taste"] for each in rows}
    films = {each["recommended"]: each["taste"] for each in rows if each["recommended"]}
    who, _, likes = found.viewer.title.partition(", who ")
    viewer = Lists([(f"{who} has seen", seen, ""), ("boolrank recommends", films, _why(found))])
    size = data_size(found.data.events, "viewers", "films")
    origin = {
        "size": size,
        "split": repr(found.split),
        "seed": f"{found.seed}, of the data and of the split",
    }
    about = made(f"boolrank demo --seed {found.seed}", origin, machine())
    first, *_, popular = (each["nDCG@10"] for each in found.compared.records())
    compared = _COMPARED.format(popular / first)
    legend = Note(_LEGEND.format(found.choice.spec, found.choice.reason))
    sections = [
        Section("viewer", "One viewer", f"{who} {likes}: ✓ in the lists.", [viewer]),
        Section("models", "Personal or popular?", compared, [found.compared, legend]),
        Section("arity", "How expressive?", _ARITY, [Figures(arity_plots(found.curves))]),
        Section("data", "The data", _DATA, [about]),
        Section("next", "Your own file", "", [Entries(NEXT, commands=True)]),
    ]
    return Page("Recommendations with reasons", result(found), sections, _FOOTER)


def result(found: Findings) -> str:
    """Return the result in a sentence."""
    chosen, popular = found.hits[str(found.choice.spec)], found.hits[OTHERS[-1]]
    return (
        f"**{chosen:.0%} of the films that boolrank recommends match a taste of the viewer**; of "
        f"the most popular films, {popular:.0%} do. Tastes are planted in the data, and no model "
        "knows them."
    )


def _why(found: Findings) -> str:
    first, parts = found.viewer.records()[0], found.reasons
    terms = ", ".join(f"{name} {part:+.4f}" for name, part in parts)
    return f"**Why {first['recommended']}?** {terms} = {first['score']:.4f}, its score."


def demo_tables(found: Findings) -> list[Table]:
    """Return the tables that the command prints, in the order of the page."""
    note = f"{_why(found)}\n{result(found)}".replace("**", "")
    return [replace(found.viewer, note=note), found.compared]


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
            ("planted tastes",), (*specs.values(), *kernels.values()), metrics=tuple(MEASURED)
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
    columns = {"model": "", "of a liked taste": ".0%"} | dict.fromkeys(MEASURED.values(), ".3f")
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
    reasons = [*parts[:_REASONS], (counted(len(parts) - _REASONS, "other"), others)]
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
