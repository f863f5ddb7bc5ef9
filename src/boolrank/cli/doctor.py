"""``boolrank doctor``: check the installation and compile ahead."""

from __future__ import annotations

import typer

from ..table import Column, Table
from ._output import Output, Work


def doctor(*, compiling: bool = True, everything: bool = False, output: Output) -> None:
    """Show versions, threads, BLAS, memory and folders, and compile ahead.

    Code is compiled when it is first used and then kept. This command compiles what fit and
    recommend need by default, so that they do not have to wait; with --all it compiles what other
    models and commands need, too. The exit code is 1 if something is broken that everything needs.
    """
    from ..health import examine

    work = Work()
    with work.status("Examining") as tell:
        findings = examine(compile_loops=compiling, everything=everything, progress=tell)
    rows, wrong = [], set()
    for at, (part, name, value, state, hint) in enumerate(findings):
        is_wrong = state in ("warning", "broken")
        wrong |= {at} if is_wrong else set()
        said = f"{state}: {value}" if is_wrong else value
        rows.append((part, name, f"{said}\n{hint}" if hint else said))
    columns = [Column("part", heading=" ", style="group", wrap="never")]
    columns += [
        Column("name", heading=" ", wrap="never"),
        Column("value", heading=" ", wrap="fold"),
    ]
    table = Table("", columns, rows, strong=frozenset(wrong))
    output.show(table, records=[each._asdict() for each in findings])
    broken = sum(each.state == "broken" for each in findings)
    work.done(f"{broken} broken" if broken else "all is well", beside_data=True)
    if broken:
        raise typer.Exit(1)
