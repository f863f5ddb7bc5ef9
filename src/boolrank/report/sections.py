"""Parts that several pages share: size of the data, figures against the arity, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .figures import Plot, curves_figure
from .page import Entries
from .tables import SIGNIFICANT

if TYPE_CHECKING:
    from ..data.interactions import Interactions
    from ..studies.arity import Curve

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


def arity_plots(
    curves: Sequence[Curve],
    title: str = "",
    name: str = "",
    points: Sequence[Mapping[str, tuple[float, float]]] = ({}, {}),
) -> list[Plot]:
    """Return figures of AUC, if it was measured, and of the spectral ratio against the arity.

    ``title`` and ``name`` tell the figures of several data sets apart; ``points`` are single points
    to draw, by label, for each of the two.
    """
    plots = []
    if all(curve.means for curve in curves):
        figure = curves_figure(
            {curve.family: (curve.arities, curve.means) for curve in curves},
            f"{title}AUC, ± standard deviation",
            spread={curve.family: np.nan_to_num(curve.deviations) for curve in curves},
            dots=points[0],
        )
        plots.append(Plot(f"auc{name}", f"{title}AUC against arity", figure))
    ratios = {curve.family: (curve.arities, curve.ratios) for curve in curves}
    y_label = f"{title}normalised spectral ratio"
    figure = curves_figure(ratios, y_label, dots=points[1], top=1.04)
    return [*plots, Plot(f"spectrum{name}", f"{y_label} against arity", figure)]


def made(command: str, entries: Mapping[str, str], machine: Mapping[str, Any]) -> Entries:
    """Return the block on the command, the seed, the versions and the machine.

    ``machine`` is the result of `boolrank.studies.machine.machine`.
    """
    here = machine["machine"]
    return Entries(
        {
            **({"command": f"`{command}`"} if command else {}),
            **entries,
            "versions": ", ".join(
                f"{name} {version}" for name, version in machine["versions"].items()
            ),
            "machine": f"{here['processor']}, {here['cores']} cores, {here['system']} "
            f"{here['architecture']}",
        }
    )
