"""``boolrank fit``: from events to a model in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._inputs import Inputs, read_inputs
from ._work import Work

__all__ = ["fit"]


def fit(
    inputs: Inputs,
    *,
    out: Annotated[Path, typer.Option(help="Folder for the model.", show_default=False)],
    kernel: Annotated[
        str | None, typer.Option(help="Kernel expression; default disjunctive(8).")
    ] = None,
    reg: Annotated[
        float | None,
        typer.Option(help="How evenly a user's items share the weight; default 0.1."),
    ] = None,
    negative_weight: Annotated[
        float | None,
        typer.Option(help="How much an item's nearness to all counts against it; default 1.0."),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Kernel matrix: auto, dense or compressed; default auto."),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Column of users; found by its name if not given.")
    ] = None,
    item: Annotated[
        str | None, typer.Option(help="Column of items; found by its name if not given.")
    ] = None,
    rating: Annotated[
        str | None, typer.Option(help="Column of ratings; found by its name if not given.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Column of times; found by its name if not given.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="Which ratings count, such as '>= 4'; all rows otherwise.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; all if not given.")] = None,
) -> None:
    """Fit a ranker on events, and write it into a folder.

    Columns are found by the usual names (user, user_id, item, movieId, rating, timestamp, ...).
    Repeated events count once. The first run on a machine compiles its loops, once.
    """
    from ..kernels import parse_kernel
    from ..ranker import KernelRanker
    from ..store import check_target

    work = Work()
    # The constructor has the defaults; only what is given goes there.
    given = {
        "kernel": None if kernel is None else parse_kernel(kernel),
        "reg": reg,
        "negative_weight": negative_weight,
        "storage": storage,
    }
    model = KernelRanker(**{k: v for k, v in given.items() if v is not None}, n_threads=threads)  # type: ignore[arg-type]  # each of its own type
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
