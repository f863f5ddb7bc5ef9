"""``boolrank doctor``: whether all is well here, and compiling ahead."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from ._output import NAME, AsCsv, AsJson, new_table, print_records
from ._work import Work

if TYPE_CHECKING:
    from rich.table import Table

    from ..health import Finding

__all__ = ["doctor"]

_STYLES = {"fine": "", "missing": "dim", "warning": "yellow", "broken": "bold red"}


def doctor(
    *,
    compile_ahead: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Compile what a first run would compile.")
    ] = True,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Say what there is: versions, threads, BLAS, memory, folders; and compile ahead.

    Loops are compiled when they are first used and kept for later. Here that is done at once, so
    that no other command has to wait for it: about a minute, once a machine. The exit code is 1 if
    something is broken that nothing works without.
    """
    from dataclasses import asdict

    from ..health import examine

    work = Work()
    with work.teller(log=False) as told:
        findings = examine(compile_loops=compile_ahead, progress=told)
    records = [asdict(each) for each in findings]
    print_records(records, lambda: _table(findings), as_json=as_json, as_csv=as_csv)
    broken = [each for each in findings if each.state == "broken"]
    work.done(f"{len(broken)} things are broken" if broken else "all is well", beside_data=True)
    if broken:
        raise typer.Exit(1)


def _table(findings: list[Finding]) -> Table:
    from rich.text import Text

    whole = {"no_wrap": True}
    table = new_table({"part": NAME | whole, "name": whole, "value": {"overflow": "fold"}})
    table.show_header = False
    for part, found in groupby(findings, key=lambda each: each.part):
        for row, each in enumerate(found):
            state = "" if each.state in ("fine", "missing") else f"{each.state}: "
            hint = f"\n{each.hint}" if each.hint else ""
            value = Text.assemble((f"{state}{each.value}", _STYLES[each.state]), (hint, "dim"))
            table.add_row(part if row == 0 else "", each.name, value)
    return table
