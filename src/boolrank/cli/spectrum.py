"""``boolrank spectrum``: how expressive kernels are on given data, by arity."""

from __future__ import annotations

from ..kernels.expressiveness import PairSpectrum
from ..studies import parse_arities, spectral_curve
from ..table import Column, Table
from ._inputs import Columns, read_events
from ._output import Output, done, status

_ARITIES = "1:10,12:20:2,25:50:5,60:150:10"  # denser where curves bend
_TITLE = "Normalised spectral ratio: 0 = all items identical, 1 = no two items related"


def spectrum(
    inputs: list[str] | None = None,
    *,
    kernel: list[str] | None = None,
    arities: str | None = None,
    columns: Columns,
    output: Output,
) -> None:
    """Print the normalised spectral ratio of the item kernel matrix by arity.

    0 = all items identical, 1 = no two items related. Sparse data often need a kernel that is less
    expressive than the linear one, which is arity 1.
    """
    inputs = columns.inputs(inputs)
    chosen = parse_arities(arities or _ARITIES)
    events = read_events(inputs, columns.given())
    if arities is None:
        chosen = tuple(arity for arity in chosen if arity <= len(events.users))
    with status("Counting pairs of items"):
        pairs = PairSpectrum.of(events.T.matrix())
        families = dict.fromkeys(kernel or ["disjunctive"])
        curves = [spectral_curve(pairs, name, chosen) for name in families]
    rows = [
        (curve.family, arity, ratio)
        for curve in curves
        for arity, ratio in zip(curve.arities, curve.ratios, strict=True)
    ]
    shown = [Column("kernel", style="group"), Column("arity", "d"), Column("ratio", ".6f")]
    output.show(Table(_TITLE, shown, rows))
    done(f"{events!r}", beside_data=True)
