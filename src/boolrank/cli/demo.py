"""``boolrank demo``: compare models and explain recommendations on made-up data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import MissingExtraError, ParameterError
from ._output import Output, say
from ._work import Work, check_output, tell_parts


def demo(*, out: Path | None = None, seed: int | None = None) -> None:
    """Compare models, recommend and explain on made-up data, and write a page about it.

    The page goes to the folder demo unless --out names another. The same seed gives the same
    figures. The first time takes longer.
    """
    from ..demo import NEXT, run_demo
    from ..demo.page import demo_tables

    work = Work()
    folder, note = _folder(out)
    with work.status(log=True) as tell:
        found = run_demo(folder, seed=seed or 0, progress=tell)
    Output().show(*demo_tables(found))
    work.done(note if folder is None else f"{folder / 'report.html'}: open it in a browser")
    say("\nNext, with a file of your own that has a row per event:")
    for command, purpose in NEXT.items():
        say(f"  {command}", style="bold")
        say(f"      {purpose}", style="dim")


def _folder(out: Path | None) -> tuple[Path | None, str]:
    """Return the folder of the page, or None and the reason if it cannot be made."""
    from ..report.page import check_report

    try:
        check_report()
    except MissingExtraError as error:
        if out is not None:
            raise
        return None, f"no page: {error}"
    folder = Path("demo") if out is None else out
    check_output(folder / "report.html", (".html",))
    return folder, ""


def bare_demo(args: Sequence[str], missing: MissingExtraError) -> int:
    """Run the demo without any extra, as plain text, for ``pipx run boolrank demo``."""
    import argparse  # typer replaces it in all other cases

    parser = argparse.ArgumentParser(
        "boolrank demo",
        description="Compare models, recommend and explain on made-up data, as plain text.",
        epilog=str(missing),
    )
    parser.add_argument("--seed", type=int, default=0, help="Random seed of the data.")
    parser.add_argument("--out", help="Folder for the page; needs the missing packages.")
    given = parser.parse_args(args)
    if given.out is not None:
        raise missing
    if given.seed < 0:
        raise ParameterError(f"--seed is {given.seed}", hint="use 0 or more")

    from ..demo import NEXT, run_demo
    from ..demo.page import demo_tables

    tell = tell_parts(lambda part: sys.stderr.write(f"{part} …\n"))
    found = run_demo(None, seed=given.seed, progress=tell)
    sys.stdout.write("\n".join(table.to_markdown() for table in demo_tables(found)))
    sys.stdout.flush()
    sys.stderr.write(f"\nnote: for the page and for commands on your own data: {missing.hint}\n")
    sys.stderr.writelines(f"  {step}\n      {purpose}\n" for step, purpose in NEXT.items())
    return 0
