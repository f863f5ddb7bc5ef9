"""The page of an evaluation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..models.spec import labels
from ..studies.run import best_model, main_metric
from .page import Figures, Page, Section
from .sections import (
    arity_curves,
    arity_figures,
    data_section,
    example,
    example_users,
    made_section,
    results_section,
    time_section,
)
from .tables import evaluation_table, metric_title

if TYPE_CHECKING:
    from ..models.spec import labels
from ..studies.run import Run

__all__ = ["evaluation_page"]

_ARITY = (
    "Kernels of one family at different arities. The normalised spectral ratio measures "
    "expressiveness: 0 if all items are identical to the kernel, 1 if no two have anything in "
    "common."
)


def evaluation_page(run: Run, command: str = "", seconds: float | None = None) -> Page:
    """Return a page about a run; `render_page` turns it into HTML.

    The examples are of the best model, fitted on all data.

    Parameters
    ----------
    run : the result of `run_experiment`
    command, seconds : shown on the page: what made it, and how long it took
    """
    experiment, split = run.experiment, run.split
    metric = main_metric(run) or experiment.metrics[0]
    specs = {str(spec): spec for spec in experiment.models}
    names = dict(zip(specs, labels(list(specs.values())), strict=True))
    evaluations = {names[text]: each for text, each in run.evaluations.items()}
    found = best_model(run, metric)
    best, model = names[found], specs[found].make().fit(split.data)
    users = [
        replace(example({best: model}, user), title=f"user {user}")
        for user in example_users(split.data)
    ]
    arity = [
        Section("arity", "Arity", _ARITY, [Figures(arity_figures(curves, metric_title(metric)))])
        for curves in [arity_curves(run, metric)]
        if curves
    ]
    results = evaluation_table(evaluations, experiment.seed)
    data = ", ".join(experiment.data)
    made = {
        "seed": str(experiment.seed),
        "split": repr(split),
        "hash of the split": f"`{split.hash}`",
    }
    folds = next(iter(run.evaluations.values())).folds
    about = (
        "Each model was fitted on the training part and ranked the test part: "
        f"{sum(len(fold.users) for fold in folds):,} test users in {len(folds)} folds."
    )
    examples = (
        f"Recommendations of `{best}`, fitted on all data, to three users, and the user’s items "
        "that contribute most to the score of the first one."
    )
    tails = "On these logarithmic axes, a straight line down is a power law."
    return Page(
        f"Evaluation of models on {data}",
        f"{len(evaluations)} models on {data}. The best by {metric_title(metric)} is `{best}`.",
        [
            results_section(results, about),
            data_section(split.data, tails),
            *arity,
            Section("examples", "Recommendations and reasons", examples, users),
            time_section(results, "", seconds),
            made_section(command, made),
        ],
    )
