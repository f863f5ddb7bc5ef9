"""``boolrank demo``: compare models and explain recommendations on made-up data."""

from __future__ import annotations

from pathlib import Path

from ..errors import MissingExtraError
from ._output import print_tables
from ._work import Work, check_output

__all__ = ["demo"]


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
    print_tables(demo_tables(found))
    work.done(note if folder is None else f"{folder / 'report.html'}: open it in a browser")
    work.say("\nNext, with a file of your own that has a row per event:")
    for command, purpose in NEXT.items():
        work.say(f"  {command}", style="bold")
        work.say(f"      {purpose}", style="dim")


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
