"""A page about any evaluation: data, figures, arity, examples, time, and how it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..studies.machine import machine
from ..studies.run import best_model, main_metric
from .page import Page, Section
from .results import arity_curves, metric_title
from .sections import (
    arity_section,
    data_section,
    example,
    example_users,
    machine_entries,
    made_section,
    results_section,
    time_section,
)

if TYPE_CHECKING:
    from ..studies.run import Run

__all__ = ["evaluation_page"]

_ABOUT_DATA = "What was split. In both figures a straight line down would be a power law."
_ABOUT_ARITY = (
    "Kernels of one family that differ by their arity. The normalised spectral ratio says how "
    "finely a kernel tells items apart: 0 is all items alike, 1 is no two alike."
)


def evaluation_page(run: Run, command: str = "", seconds: float | None = None) -> Page:
    """All that a run has found; `render_page` makes HTML of it.

    The examples are of the best model, fitted on all data.

    Parameters
    ----------
    run : what `run_experiment` has given
    command : what made it
    seconds : how long it took
    """
    found, metric = run.evaluations, main_metric(run) or run.experiment.metrics[0]
    best = best_model(run, metric)
    model = next(each for each in run.experiment.models if str(each) == best)
    ranker = model.make().fit(run.split.data)
    people = [
        example({best: ranker}, user, title=f"user {user}")
        for user in example_users(run.split.data)
    ]
    curves = arity_curves(run, metric)
    names = ", ".join(run.experiment.data)
    command_entry = {"command": f"`{command}`"} if command else {}
    arity = [arity_section(curves, _ABOUT_ARITY, metric_title(metric))] if curves else []
    about = f"Each model was fitted on the training part of {names} and ranked what was held back."
    return Page(
        f"How well models rank: {names}",
        f"{len(found)} models on {names}; the best by {metric_title(metric)} is `{best}`.",
        [
            results_section(found, about, run.experiment.seed),
            data_section(run.split.data, _ABOUT_DATA),
            *arity,
            Section(
                "examples",
                "Recommendations, and why",
                f"What `{best}`, fitted on all data, recommends to three users, and where it can "
                "tell, which of their own items speak most for the first of these.",
                people,
            ),
            time_section(found, "Over all folds.", seconds),
            made_section(
                command_entry
                | {
                    "seed": str(run.experiment.seed),
                    "split": repr(run.split),
                    "hash of the split": f"`{run.split.hash}`",
                }
                | machine_entries(machine()),
            ),
        ],
    )
