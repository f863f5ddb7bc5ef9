"""``boolrank fit``: fit a model and save it."""

from __future__ import annotations

from pathlib import Path

from ..errors import ParameterError
from ..models.spec import ModelSpec, parse_model
from ..storage.folder import check_target
from ..studies import best_spec
from ._inputs import read_events
from ._options import Columns
from ._work import Work


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
    work = Work()
    spec = _spec(model, kernel, tuned, metric)
    check_target(out)
    events = read_events(work, inputs, columns.given())
    with work.status("Fitting"):
        fitted = spec.make(threads).fit(events)
    with work.status("Saving"):
        fitted.save(out)
    work.done(f"{out}: {spec} on {events!r}")


def _spec(
    model: str | None, kernel: str | None, tuned: Path | None, metric: str | None
) -> ModelSpec:
    if tuned is not None:
        if model or kernel:
            raise ParameterError(
                "--tuned chooses the model and its kernel", hint="leave out --model and --kernel"
            )
        return best_spec(tuned, metric)
    if metric is not None:
        raise ParameterError("--metric goes with --tuned", hint="add --tuned FOLDER")
    spec = parse_model(model or "kernel-ranker")
    if kernel is None:
        return spec
    if "kernel" not in spec.params:
        raise ParameterError(
            f"{spec.name} has no kernel",
            hint="leave out --kernel, or choose another --model, such as kernel-ranker",
        )
    return ModelSpec(spec.name, {**spec.params, "kernel": kernel})
