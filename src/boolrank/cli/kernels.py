"""``boolrank kernels``: all kernels with their formulas and parameters."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from ..kernels import KERNELS, Kernel
from ..table import Column, Table
from ._output import Output

_LETTERS = (
    "n variables; x and z are active in the two vectors, c in both, u = x + z - c in either; the "
    "vectors agree on s = n - x - z + 2c. d: arity or max_arity, t: satisfied, w: weight. "
    "C(a, b): binomial coefficient."
)


def kernels(*, output: Output) -> None:
    """List the kernels: name, formula, and parameters with their ranges."""
    records = [describe(kernel) for kernel in KERNELS.values()]
    rows = []
    for each in records:
        ranges = (f"{p['name']}: {p['range']}" for p in each["parameters"])
        rows.append((each["signature"], each["formula"], "\n".join(ranges)))
    columns = [Column("kernel", style="name"), Column("value"), Column("parameters", style="dim")]
    output.show(Table("", columns, rows, note=_LETTERS), records=records)


def describe(kernel: type[Kernel]) -> dict[str, Any]:
    """Return the name, class, signature, formula and parameters of a kernel, ready for JSON."""
    parameters, inside = [], []
    for each in fields(kernel):  # type: ignore[arg-type]  # every kernel is a dataclass
        needed = each.default is MISSING
        default = None if needed else each.default
        about = {"name": each.name, "required": needed, "default": default}
        parameters.append(about | {"range": each.metadata.get("range", "any")})
        inside.append(each.name if needed else f"{each.name}={default}")
    return {
        "name": kernel.name,
        "class": kernel.__name__,
        "signature": f"{kernel.name}({', '.join(inside)})" if inside else kernel.name,
        "formula": getattr(kernel, "formula", ""),
        "parameters": parameters,
    }
