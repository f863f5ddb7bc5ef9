"""``boolrank kernels``: every kernel with its text name, formula and parameters."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from ._output import AsCsv, AsJson, console, new_table, print_records

if TYPE_CHECKING:
    from rich.table import Table

    from ..kernels import Kernel

__all__ = ["describe", "kernels"]

_STYLES = {"kernel": "cyan", "value": "", "parameters": "dim"}
_LETTERS = (
    "Of n variables, x and z are active in the two vectors, c in both, u in either; on s of them "
    "the vectors agree. d: arity or max_arity, t: satisfied, w: weight. C(a, b): how many subsets "
    "of b there are among a things."
)
_WIDEST = 160  # nothing wraps at this width, and wider gaps only make rows hard to follow
_GAPS = 8  # between and around columns


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
    rows = [
        (
            record["signature"],
            record["formula"],
            "\n".join(f"{p['name']}: {p['range']}" for p in record["parameters"]),
        )
        for record in records
    ]
    widths = _widths(list(zip(*rows, strict=True)), min(console().width, _WIDEST) - _GAPS)
    table = new_table(
        {
            name: {"style": style, "overflow": "fold", "width": width}
            for (name, style), width in zip(_STYLES.items(), widths, strict=True)
        }
    )
    table.caption, table.caption_justify, table.caption_style = _LETTERS, "left", "dim"
    for row in rows:
        table.add_row(*row)
    return table


def _widths(columns: list[tuple[str, ...]], width: int) -> list[int]:
    """Room for the longest word of each column, and of the rest a share for its longest line."""
    words = [max(len(word) for cell in cells for word in cell.split()) for cells in columns]
    lines = [max(len(line) for cell in cells for line in cell.split("\n")) for cells in columns]
    wanted = sum(lines) - sum(words)
    share = min(max(width - sum(words), 0) / wanted, 1)
    return [word + int(share * (line - word)) for word, line in zip(words, lines, strict=True)]
