"""``boolrank doctor``: check the installation and compile ahead."""

from __future__ import annotations

import typer

from ..table import Column, Table
from ._output import Output, done, status


def doctor(*, compiling: bool = True, everything: bool = False, output: Output) -> None:
    """Show versions, threads, BLAS, memory and folders, and compile ahead.

    Code is compiled when it is first used and then kept. This command compiles what fit and
    recommend need by default, so that they do not have to wait; with --all it compiles what other
    models and commands need, too. The exit code is 1 if a required part is broken.
    """
    from ..health import examine

    with status("Examining") as tell:
        findings = examine(compile_loops=compiling, everything=everything, progress=tell)
    rows, faulty = [], ("warning", "broken")
    for part, name, value, state, hint in findings:
        said = f"{state}: {value}" if state in faulty else value
        rows.append((part, name, f"{said}\n{hint}" if hint else said))
    columns = [
        Column("part", heading=" ", style="group", wrap="never"),
        Column("name", heading=" ", wrap="never"),
        Column("value", heading=" ", wrap="fold"),
    ]
    strong = frozenset(k for k, each in enumerate(findings) if each.state in faulty)
    output.show(
        Table("", columns, rows, strong=strong), records=[each._asdict() for each in findings]
    )
    broken = sum(each.state == "broken" for each in findings)
    done(f"{broken} broken" if broken else "all is well", beside_data=True)
    if broken:
        raise typer.Exit(1)
