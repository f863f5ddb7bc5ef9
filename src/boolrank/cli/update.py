"""``boolrank update``: add events to a saved model, or take some away."""

from __future__ import annotations

from pathlib import Path

from ..errors import ParameterError
from ..models import model_info
from ..models.model_folder import updating
from ._inputs import Columns, read_events, read_table
from ._output import done, status


def update(
    folder: Path,
    inputs: list[str] | None = None,
    *,
    remove: list[str] | None = None,
    items: str | None = None,
    columns: Columns,
    threads: int | None = None,
) -> None:
    """Add new events to a model and remove old ones, in place.

    The result equals a new fit on all events. Models whose state is counts are updated from the
    counts, others are fitted again; the last line tells which. A reader of the folder sees the old
    model or the new one. Give the same column options as to `fit`. Rows of --items are added to the
    item table, or take the place of rows with the same ids.
    """
    if not inputs and not remove and columns.sql is None and items is None:
        raise ParameterError("there are no events", hint="name files to add, or use --remove FILE")
    if columns.k_core is not None:
        raise ParameterError("--k-core is for whole data", hint="leave it out, or use fit")
    model_info(folder)  # raises before events are read
    given, added, removed = columns.given(), None, None
    if inputs or columns.sql is not None:
        added = read_events(columns.inputs(inputs), given)
    if remove:
        given.pop("database", None)  # these are files
        removed = read_events(remove, given)
    table = None if items is None else read_table(items)
    with status("Updating"), updating(folder, threads) as model:
        before = model.interactions
        added, removed = (each and each.typed_as(before) for each in (added, removed))
        model.update(added, removed, table)
    how = "updated from counts" if model.keeps_overlaps else "fitted again on all events"
    done(f"{folder}: {how}; {before!r} became {model.interactions!r}")
