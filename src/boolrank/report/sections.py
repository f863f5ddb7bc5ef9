"""What pages share: the data, the figures, the arity, examples, time, and how it was made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._memory import peak_memory, size
from .blocks import (
    Block,
    Entries,
    Example,
    Facts,
    Figures,
    Listed,
    Listing,
    Note,
    Reasons,
    Sheet,
)
from .figures import Drawn, curves_figure, tail_figure
from .page import Section
from .results import SIGNIFICANT, differences_table, figures_table, times_table

if TYPE_CHECKING:
    from ..data.interactions import Interactions
    from ..evaluation.result import Evaluation
    from ..models.recommender import Recommender
    from ..studies.arities import Curve

__all__ = [
    "arity_section",
    "data_facts",
    "data_section",
    "example",
    "example_users",
    "machine_entries",
    "made_section",
    "results_section",
    "time_section",
]

# The most popular tenth of the items is the head.
_HEAD = 10
# So many items of a person are shown, and so many reasons.
_SHOWN, _REASONS = 10, 3

Tag = Callable[[Any], tuple[str, bool]]

_SIGNIFICANCE = (
    "Each model beside the best by a metric, over the same users, with the 95 % interval of the "
    "mean difference (bootstrap over users). p is the chance of so large a difference where there "
    "is none, by Student’s t and below it by Wilcoxon’s signed ranks, both with Holm’s correction "
    f"for the number of models. Marked differences have p (t) below {SIGNIFICANT:g}."
)


def data_facts(data: Interactions, users: str = "users", items: str = "items") -> dict[str, str]:
    """How large data are, and how many items half of the users have at most."""
    n_users, n_items = data.shape
    return {
        users: f"{n_users:,}",
        items: f"{n_items:,}",
        "interactions": f"{data.size:,}",
        "density": f"{data.size / (n_users * n_items):.2%}",
        f"{items} per {users[:-1]}, median": f"{np.median(np.diff(data.indptr)):g}",
    }


def data_section(
    data: Interactions, text: str, users: str = "users", items: str = "items"
) -> Section:
    """How large the data are and how long their tails; both may have other names."""
    popularity = data.popularity()
    facts = data_facts(data, users, items)
    facts[f"{users} per {items[:-1]}, median"] = f"{np.median(popularity):g}"
    drawn = [
        _tail(popularity, items, users, 0),
        _tail(np.diff(data.indptr), users, items, 1),
    ]
    head = np.sort(popularity)[::-1][: max(1, len(popularity) // _HEAD)]
    note = (
        f"The most popular of the {items}, {data.items[int(popularity.argmax())]}, has "
        f"{popularity.max():,} {users}; the most popular tenth has {head.sum() / data.size:.0%} of "
        "all interactions."
    )
    return Section("data", "The data", text, [Facts(facts), Figures(drawn), Note(note)])


def _tail(counts: NDArray[np.int64], of: str, by: str, colour: int) -> Drawn:
    """How many of one side each of the other has."""
    x_label, y_label = f"rank among {of}", f"{by} that each of the {of} has"
    figure = tail_figure(counts, label=by, x_label=x_label, y_label=y_label, colour=colour)
    return Drawn(f"tail-{of}", f"{y_label}, against the {x_label}, both logarithmic", figure)


def results_section(evaluations: Mapping[str, Evaluation], text: str, seed: int = 0) -> Section:
    """The figures of all models, and how they stand beside the best."""
    figures = figures_table(evaluations)
    names = [name for name in figures.columns if name != "model" and "deviation" not in name]
    first = next(iter(evaluations.values()))
    blocks: list[Block] = [
        Sheet(
            figures,
            below={name: {f"{name}, deviation": "±\u00a0{}"} for name in names},
            best=names[0],
        )
    ]
    differences = differences_table(evaluations, seed=seed)
    if differences.rows:
        blocks += [
            Sheet(
                differences,
                below={
                    "model": {"best": "beside {}"},
                    "difference": {"from": "{} to ", "to": "{}"},
                    "p (t)": {"p (Wilcoxon)": "ranks\u00a0{}"},
                },
                marked={"difference": "significant"},
            ),
            Note(_SIGNIFICANCE),
        ]
    users = sum(len(fold.users) for fold in first.folds)
    about = f" {users:,} test users in {len(first.folds)} folds; ± is the deviation over folds."
    return Section("results", "Results", text + about, blocks)


def arity_section(curves: Sequence[Curve], text: str, metric: str = "AUC") -> Section:
    """A metric and the expressiveness of families of kernels, against their arity."""
    figures = [
        Drawn(
            "arity",
            f"{metric} against arity",
            curves_figure(
                {curve.family: (curve.arities, curve.means) for curve in curves},
                x_label="arity",
                y_label=f"{metric}, ± deviation over folds",
                spread={curve.family: np.nan_to_num(curve.deviations).tolist() for curve in curves},
                y_range=None,
            ),
        ),
        Drawn(
            "spectrum",
            "Normalised spectral ratio against arity",
            curves_figure(
                {curve.family: (curve.arities, curve.ratios) for curve in curves},
                x_label="arity",
                y_label="normalised spectral ratio",
            ),
        ),
    ]
    return Section("arity", "The arity", text, [Figures(figures)])


def example(
    models: Mapping[str, Recommender],
    user: Hashable,
    *,
    n: int = 5,
    title: str = "",
    tags: Sequence[str] = (),
    about: str = "",
    tag: Tag = lambda _: ("", False),
) -> Example:
    """A user's rarest items, the n best of each model, and what speaks for the first of these
    where a model can tell.

    Parameters
    ----------
    models : by name, all fitted on the same interactions
    user : whom to recommend to
    n : how many items
    title, tags, about : how to call the user, and what else is known
    tag : a word about an item, and whether it is a good one
    """
    data = next(iter(models.values())).interactions
    own = data.row(data.users.number(user))
    # The rarest say most about a person.
    rarest = own[np.argsort(data.popularity()[own], kind="stable")][:_SHOWN]
    more = len(own) - len(rarest)
    seen = Listing(
        "has, the rarest first",
        [_listed(data.items[int(item)], tag) for item in rarest],
        f"and {more} more" if more else "",
    )
    advice = [_advice(name, model, user, n, tag) for name, model in models.items()]
    return Example(title or str(user), tags, about, [seen, *advice])


def example_users(data: Interactions, lengths: Sequence[int] = (6, 12, 24)) -> list[Any]:
    """Users with about so many items each: enough to have a taste, few enough to read."""
    own: NDArray[np.int64] = np.diff(data.indptr)
    chosen: list[int] = []
    for length in lengths:
        order = np.argsort(np.abs(own - length), kind="stable")
        chosen += [int(user) for user in order if user not in chosen][:1]
    return [data.users[user] for user in chosen]


def _advice(name: str, model: Recommender, user: Hashable, n: int, tag: Tag) -> Listing:
    found = model.recommend([user], n=n)
    items = found.lists()[0]
    listed = [_listed(k, tag, float(s)) for k, s in zip(items, found.scores[0], strict=False)]
    title = f"`{name}` recommends"
    if not items:
        return Listing(title, [], "nothing that is new")
    explain = getattr(model, "explain", None)
    if explain is None:
        return Listing(title, listed)
    parts = explain(user, items[0])
    shown = [(str(own), add) for own, add in parts[:_REASONS]]
    others = parts[_REASONS:]
    if others:
        shown.append((f"{len(others)} others", sum(add for _, add in others)))
    total = sum(add for _, add in parts)
    return Listing(title, listed, "", Reasons(f"Why {items[0]}?", shown, total))


def _listed(item: Any, tag: Tag, score: float | None = None) -> Listed:
    return Listed(str(item), *tag(item), score)


def time_section(
    evaluations: Mapping[str, Evaluation], text: str = "", seconds: float | None = None
) -> Section:
    """How long models took and how much memory; these figures alone differ from run to run."""
    peak = peak_memory()
    facts = {} if seconds is None else {"in all": f"{seconds:.1f} s"}
    facts |= {} if peak is None else {"memory at most": size(peak)}
    blocks: list[Block] = [Facts(facts)] if facts else []
    return Section("time", "Time and memory", text, [*blocks, Sheet(times_table(evaluations))])


def made_section(entries: Mapping[str, str], text: str = "") -> Section:
    """How to make the page again, and with what it was made."""
    return Section("made", "How this was made", text, [Entries(entries)])


def machine_entries(machine: Mapping[str, Any]) -> dict[str, str]:
    """Versions and machine, as `boolrank.studies.machine` has them, for people."""
    versions = ", ".join(f"{name} {text}" for name, text in machine["versions"].items())
    here = machine["machine"]
    where = f"{here['processor']}, {here['cores']} cores, {here['system']} {here['architecture']}"
    return {"versions": versions, "machine": where}
