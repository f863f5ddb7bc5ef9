"""Sections that several pages share: data, results, arity, examples, time and provenance."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._memory import peak_memory, size
from ..kernels.expressiveness import PairSpectrum
from ..studies.arity import measured_curve
from ..studies.machine import machine
from .figures import Drawn, curves_figure, tail_figure
from .page import Block, Entries, Example, Facts, Figures, Listed, Listing, Note, Section
from .tables import COSTS, SIGNIFICANT, by_metric

if TYPE_CHECKING:
    from ..data.interactions import Interactions
    from ..evaluation.result import Evaluation
    from ..models.recommender import Recommender
    from ..studies.arity import Curve
    from ..studies.run import Run
    from ..table import Table

__all__ = [
    "SIGNIFICANCE",
    "arity_curves",
    "arity_figures",
    "data_facts",
    "data_section",
    "example",
    "example_users",
    "made_section",
    "results_section",
    "time_section",
]

_HEAD = 0.1  # share of the items that are called the most popular
_SHOWN, _REASONS = 10, 3  # items and reasons shown of a user
_FAMILY = re.compile(r"(\w+)\((\d+)\)")

Tag = Callable[[Any], tuple[str, bool]]

SIGNIFICANCE = (
    "Means are over folds, ± standard deviation. Differences are from the best model, over the "
    "same users, with a 95 % bootstrap interval. p is from a paired t test, and below it from "
    "Wilcoxon’s signed-rank test, both with Holm’s correction for the number of models. "
    f"Differences with p (t test) below {SIGNIFICANT:g} are marked."
)


def data_facts(data: Interactions, users: str = "users", items: str = "items") -> dict[str, str]:
    """Return the size and density of data, as text."""
    n_users, n_items = data.shape
    return {
        users: f"{n_users:,}",
        items: f"{n_items:,}",
        "interactions": f"{data.size:,}",
        "density": f"{data.size / (n_users * n_items):.2%}",
        f"median {items} per {users[:-1]}": f"{np.median(np.diff(data.indptr)):g}",
    }


def data_section(
    data: Interactions, text: str, users: str = "users", items: str = "items"
) -> Section:
    """Return the section on the data: size and long tails. Users and items may have other names."""
    popularity = np.sort(data.popularity())[::-1]
    facts = data_facts(data, users, items)
    facts[f"median {users} per {items[:-1]}"] = f"{np.median(popularity):g}"
    drawn = [_tail(popularity, items, users, 0), _tail(np.diff(data.indptr), users, items, 1)]
    head = popularity[: max(1, int(_HEAD * len(popularity)))].sum() / data.size
    top = data.items[int(data.popularity().argmax())]
    note = (
        f"The most popular of the {items} is {top}, with {popularity[0]:,} {users}. The top "
        f"{_HEAD:.0%} of the {items} have {head:.0%} of all interactions."
    )
    return Section("data", "The data", text, [Facts(facts), Figures(drawn), Note(note)])


def _tail(counts: NDArray[np.int64], of: str, by: str, colour: int) -> Drawn:
    x_label, y_label = f"rank among {of}", f"{by} per {of[:-1]}"
    figure = tail_figure(counts, label=by, x_label=x_label, y_label=y_label, colour=colour)
    return Drawn(f"tail-{of}", f"{y_label} against {x_label}, both logarithmic", figure)


def results_section(results: Table, text: str) -> Section:
    """Return the section on the results of an `evaluation_table`."""
    blocks: list[Block] = list(by_metric(results, COSTS))
    compared = any(each["p (t)"] is not None for each in results.records())
    blocks += [Note(SIGNIFICANCE)] if compared else []
    return Section("results", "Results", text, blocks)


def arity_curves(run: Run, metric: str = "auc", least: int = 3) -> list[Curve]:
    """Return a curve for each family of kernels with at least that many arities in a run."""
    families: dict[str, dict[int, Evaluation]] = {}
    for spec in run.experiment.models:
        match = _FAMILY.fullmatch(spec.params.get("kernel", ""))
        if match and spec.name == "kernel-ranker" and spec.changes.keys() <= {"kernel"}:
            families.setdefault(match[1], {})[int(match[2])] = run.evaluations[str(spec)]
    chosen = {name: found for name, found in families.items() if len(found) >= least}
    if not chosen:
        return []
    pairs = PairSpectrum.of(run.split.data.T.matrix())
    return [
        measured_curve(
            name,
            sorted(found),
            pairs,
            {f"{name}({arity})": each for arity, each in found.items()},
            metric,
        )
        for name, found in chosen.items()
    ]


def arity_figures(
    curves: Sequence[Curve],
    metric: str = "AUC",
    *,
    title: str = "",
    name: str = "",
    points: Sequence[Mapping[str, tuple[float, float]]] = ({}, {}),
) -> list[Drawn]:
    """Return figures of a metric, if it was measured, and of the spectral ratio against the arity.

    ``title`` and ``name`` tell the figures of several data sets apart; ``points`` are single points
    to draw, by label, for each of the two.
    """
    found = []
    if all(curve.means for curve in curves):
        figure = curves_figure(
            {curve.family: (curve.arities, curve.means) for curve in curves},
            x_label="arity",
            y_label=f"{title}{metric}, ± standard deviation",
            spread={curve.family: np.nan_to_num(curve.deviations).tolist() for curve in curves},
            dots=points[0],
            y_range=None,
        )
        stem = metric.lower().replace("@", "-")
        found.append(Drawn(f"{stem}{name}", f"{title}{metric} against arity", figure))
    figure = curves_figure(
        {curve.family: (curve.arities, curve.ratios) for curve in curves},
        x_label="arity",
        y_label=f"{title}normalised spectral ratio",
        dots=points[1],
    )
    about = f"{title}normalised spectral ratio against arity"
    return [*found, Drawn(f"spectrum{name}", about, figure)]


def example(
    models: Mapping[str, Recommender],
    user: Hashable,
    *,
    n: int = 5,
    tags: Sequence[str] = (),
    about: str = "",
    tag: Tag = lambda _: ("", False),
) -> Example:
    """Return a user's rarest items, the recommendations of each model, and reasons for the first.

    Parameters
    ----------
    models : fitted on the same interactions
    user, n : the user, and the number of recommendations
    tags, about : shown beside the user
    tag : returns a word about an item, and whether it is a good one
    """
    data = next(iter(models.values())).interactions
    own = data.row(data.users.number(user))
    # Rare items say more about a user than popular ones.
    rarest = own[np.argsort(data.popularity()[own], kind="stable")][:_SHOWN]
    items = [data.items[int(item)] for item in rarest]
    more = f"and {len(own) - len(rarest)} more" if len(own) > len(rarest) else ""
    seen = Listing("has, rarest first", [Listed(str(item), *tag(item)) for item in items], more)
    advice = [_advice(name, model, user, n, tag) for name, model in models.items()]
    return Example(f"{user}", tags, about, [seen, *advice])


def example_users(data: Interactions, lengths: Sequence[int] = (6, 12, 24)) -> list[Any]:
    """Return users with about that many items each."""
    own: NDArray[np.int64] = np.diff(data.indptr)
    chosen: list[int] = []
    for length in lengths:
        order = np.argsort(np.abs(own - length), kind="stable")
        chosen += [int(user) for user in order if user not in chosen][:1]
    return [data.users[user] for user in chosen]


def _advice(name: str, model: Recommender, user: Hashable, n: int, tag: Tag) -> Listing:
    found = model.recommend([user], n=n)
    items = found.lists()[0]
    scores = found.scores[0, : len(items)].tolist()
    listed = [Listed(str(i), *tag(i), score) for i, score in zip(items, scores, strict=True)]
    parts = model.explain(user, items[0]) if items and model.fitted.scorer.explains() else []
    reasons = [(str(own), part) for own, part in parts[:_REASONS]]
    others = [part for _, part in parts[_REASONS:]]
    reasons += [(f"{len(others)} others", sum(others))] if others else []
    return Listing(f"`{name}` recommends", listed, "" if items else "nothing new", reasons)


def time_section(results: Table, text: str, seconds: float | None) -> Section:
    """Return the section on time and memory, the only figures that differ from run to run."""
    peak = peak_memory()
    facts = {} if seconds is None else {"total time": f"{seconds:.1f} s"}
    facts |= {} if peak is None else {"peak memory": size(peak)}
    first = results.where({"metric": results.records()[0]["metric"]})
    times = replace(first.select(["model", *COSTS[:2]]), title="Seconds per fold", name="times")
    return Section("time", "Time and memory", text, [Facts(facts), times])


def made_section(
    command: str,
    entries: Mapping[str, str],
    text: str = "",
    made_with: Mapping[str, Any] | None = None,
) -> Section:
    """Return the section on the command, the seed, the versions and the machine.

    ``made_with`` is what `boolrank.studies.machine` returned; this machine if not given.
    """
    known = made_with or machine()
    here = known["machine"]
    made = {"command": f"`{command}`"} if command else {}
    made |= entries
    made["versions"] = ", ".join(f"{name} {text}" for name, text in known["versions"].items())
    made["machine"] = (
        f"{here['processor']}, {here['cores']} cores, {here['system']} {here['architecture']}"
    )
    return Section("made", "How this was made", text, [Entries(made)])
