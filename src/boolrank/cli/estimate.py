"""``boolrank estimate``: what a fit takes in memory, on disk and on a cluster."""

from __future__ import annotations

from dataclasses import asdict

from .._memory import free_memory, size
from ..counts.estimate import Estimate
from ..table import Table, counted
from ._inputs import Columns, read_events
from ._output import Output, status


def estimate(
    inputs: list[str] | None = None,
    *,
    activity_cap: int | None = None,
    columns: Columns,
    output: Output,
) -> None:
    """Estimate pairs, memory, disk and time of a fit, from the activity of users.

    The cost follows the number of pairs of items that share a user, estimated from a sample of
    rows. Times are for two threads, without the choice of a model and without lists.
    """
    events = read_events(columns.inputs(inputs), columns.given())
    with status("Estimating"):
        found = Estimate.of(events.capped(activity_cap).rows, len(events.items))
    formats = {"path": "", "memory": "", "disk": "", "seconds": ",.0f", "how": ""}
    disk, seconds = size(found.disk), max(found.seconds, 1)
    rows = [
        ("in memory", size(found.memory), disk, seconds, "boolrank fit"),
        ("on disk", size(found.disk_memory), disk, seconds, "--memory"),
    ]
    note = (
        f"{counted(found.events, 'event')}, {counted(found.steps, 'step')}, about "
        f"{counted(found.pairs, 'pair')} of items; "
        f"{size(free_memory())} of memory are free; Spark sends {size(found.shuffle)}. "
        f"The process itself takes about 0.4 GB more, and lists for everybody up to "
        f"{size(found.lists)}. Without --model, fit chooses among models and takes several fits."
    )
    output.show(Table.of("", formats, rows, note=note), records=[asdict(found)])
