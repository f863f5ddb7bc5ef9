"""``boolrank fit``: from events to a model in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import _complete
from ._inputs import read_inputs
from ._options import (
    Inputs,
    Item,
    Kernel,
    NegativeWeight,
    Positive,
    Rating,
    Reg,
    Threads,
    Time,
    User,
    given,
)
from ._work import Work

__all__ = ["fit"]


def fit(
    inputs: Inputs,
    *,
    out: Annotated[Path, typer.Option(help="Folder for the model.", show_default=False)],
    kernel: Kernel = None,
    reg: Reg = None,
    negative_weight: NegativeWeight = None,
    storage: Annotated[
        str | None,
        typer.Option(
            help="Kernel matrix: auto, dense or compressed; default auto.",
            autocompletion=_complete.storages,
        ),
    ] = None,
    user: User = None,
    item: Item = None,
    rating: Rating = None,
    time: Time = None,
    positive: Positive = None,
    threads: Threads = None,
) -> None:
    """Fit a ranker on events, and write it into a folder.

    Columns are found by the usual names (user, user_id, item, movieId, rating, timestamp, ...).
    Repeated events count once. The first run on a machine compiles its loops, once.
    """
    from ..models.kernel_ranker import KernelRanker
    from ..storage.folder import check_target

    work = Work()
    # The constructor has the defaults; only what is given goes there.
    options = {"reg": reg, "negative_weight": negative_weight, "storage": storage}
    model = KernelRanker(**given({"kernel": kernel} | options), n_threads=threads)
    # Now, not after the reading.
    model.checked()
    check_target(out)
    with work.step("Reading"):
        events = read_inputs(
            inputs, user=user, item=item, rating=rating, time=time, positive=positive
        )
    with work.step("Fitting"):
        model.fit(events)
    with work.step("Writing"):
        model.save(out)
    work.done(f"{out}: {model.kernel} on {events!r}, {model.matrix.storage}")
