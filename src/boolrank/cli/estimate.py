"""``boolrank estimate``: what a fit takes in memory, on disk and on a cluster."""

from __future__ import annotations

from .._memory import free_memory, size
from ..checks import real
from ..counts.estimate import Estimate
from ..table import Column, Table
from ._inputs import read_events
from ._output import Output, Work
from ._values import Columns


def estimate(
    inputs: list[str] | None = None,
    *,
    user_exponent: float = 0.0,
    activity_cap: int | None = None,
    columns: Columns,
    output: Output,
) -> None:
    """Estimate pairs, memory, disk and time of a fit, from the activity of users.

    The number of pairs of items that share a user decides everything; it is estimated from a sample
    of rows. Times are for two threads.
    """
    work, files = Work(), columns.inputs(inputs)
    events = read_events(work, files, columns.given())
    exponent = real("estimate", "user_exponent", user_exponent, low=0, high=1)
    with work.status("Estimating"):
        found = Estimate.of(events.capped(activity_cap).rows, len(events.items), exponent)
    paths = (
        ("in memory", found.memory, found.disk, found.seconds, "boolrank fit"),
        ("on disk", found.disk_memory, found.disk, found.seconds, "--memory"),
    )
    rows = [(path, size(memory), size(disk), time, how) for path, memory, disk, time, how in paths]
    names = ("path", "memory", "disk"), ("how",)
    shown = [*map(Column, names[0]), Column("seconds", ",.0f"), *map(Column, names[1])]
    note = (
        f"{found.events:,} events, {found.steps:,} steps, about {found.pairs:,} pairs of items; "
        f"{size(free_memory())} of memory are free; a cluster sends {size(found.shuffle)}. "
        "The process itself takes about 0.4 GB more."
    )
    output.show(Table("", shown, rows, note=note), records=[found.to_dict()])
