"""``boolrank kernels``: every kernel with its text name, formula and parameters."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from ._output import AsCsv, AsJson, console, new_table, print_records

if TYPE_CHECKING:
    from rich.table import Table

    from ..kernels import Kernel

__all__ = ["describe", "kernels"]

_WIDEST = 160  # nothing wraps at this width, and wider gaps only make rows hard to follow


def kernels(*, as_json: AsJson = False, as_csv: AsCsv = False) -> None:
    """List every kernel: its text name, formula, and parameters with their ranges.

    In the formulas, a pair of binary vectors over n variables has x and z active ones, c of them
    in common; u = x + z - c of them active in either, and s = n - x - z + 2c on which they agree.
    """
    from ..kernels import KERNELS  # only this verb needs them

    records = [describe(kernel) for kernel in KERNELS.values()]
    print_records(records, lambda: _table(records), as_json=as_json, as_csv=as_csv)


def describe(kernel: type[Kernel]) -> dict[str, Any]:
    """Name, class, signature, formula and parameters of a kernel class, ready for JSON.

    >>> from boolrank.kernels import Disjunctive
    >>> describe(Disjunctive)["signature"]
    'disjunctive(arity)'
    """
    parameters = [
        {
            "name": field.name,
            "required": field.default is MISSING,
            "default": None if field.default is MISSING else field.default,
            "range": field.metadata["range"],
        }
        for field in fields(kernel)  # type: ignore[arg-type]  # every kernel is a dataclass
    ]
    inside = ", ".join(
        p["name"] if p["required"] else f"{p['name']}={p['default']}" for p in parameters
    )
    return {
        "name": kernel.name,
        "class": kernel.__name__,
        "signature": f"{kernel.name}({inside})" if parameters else kernel.name,
        "formula": kernel.formula,
        "parameters": parameters,
    }


def _table(records: list[dict[str, Any]]) -> Table:
    from rich.text import Text

    table = new_table()
    # Shares of the width that leave room for the longest word of each column from 100 on.
    table.width = min(console().width, _WIDEST)
    table.add_column("kernel", style="cyan", overflow="fold", ratio=32)
    table.add_column("value", overflow="fold", ratio=36)
    table.add_column("parameters", style="dim", overflow="fold", ratio=31)
    for record in records:
        parameters = "\n".join(f"{p['name']}: {p['range']}" for p in record["parameters"])
        # Text, not str: brackets in a formula are not markup.
        table.add_row(Text(record["signature"]), Text(record["formula"]), Text(parameters))
    return table
