"""``boolrank fit``: fit a model and save it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ParameterError
from ._inputs import parse_spec, read_events
from ._options import Columns
from ._work import Work

if TYPE_CHECKING:
    from ..models.spec import ModelSpec

__all__ = ["fit"]


def fit(
    inputs: list[str],
    *,
    out: Path,
    model: str | None = None,
    kernel: str | None = None,
    tuned: Path | None = None,
    metric: str | None = None,
    columns: Columns,
    threads: int | None = None,
) -> None:
    """Fit a model on events and save it in a folder.

    Columns are found by the usual names (user, user_id, item, movieId, rating, timestamp, ...).
    Repeated events count once. The first run on a machine compiles some code.
    """
    from ..storage.folder import check_target

    work = Work()
    spec = _spec(model, kernel, tuned, metric)
    check_target(out)
    with work.status("Reading"):
        events = read_events(inputs, columns.given())
    with work.status("Fitting"):
        fitted = spec.make(threads).fit(events)
    with work.status("Saving"):
        fitted.save(out)
    work.done(f"{out}: {spec} on {events!r}")


def _spec(
    model: str | None, kernel: str | None, tuned: Path | None, metric: str | None
) -> ModelSpec:
    if tuned is None and metric is not None:
        raise ParameterError("--metric goes with --tuned", hint="add --tuned FOLDER")
    if tuned is None:
        return parse_spec(model, kernel)
    if model or kernel:
        raise ParameterError(
            "--tuned chooses the model and its kernel", hint="leave out --model and --kernel"
        )
    from ..studies import best_spec

    return best_spec(tuned, metric)
