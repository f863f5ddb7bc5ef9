"""``boolrank demo``: compare models and explain recommendations on made-up data."""

from __future__ import annotations

from pathlib import Path

from ._output import Output, done, say, status


def demo(*, out: Path = Path("demo"), seed: int | None = None) -> None:
    """Compare models, recommend and explain on made-up data, and write a page about it.

    The page goes to the folder demo unless --out names another. The same seed gives the same
    figures. The first time takes longer.
    """
    from ..demo import NEXT, demo_tables, run_demo

    with status() as tell:
        found = run_demo(out, seed=seed or 0, progress=tell)
    Output().show(*demo_tables(found))
    done(f"{out / 'report.html'}: open it in a browser")
    say("\nNext, with a file of your own that has a row per event:")
    for command, purpose in NEXT.items():
        say(f"  {command}", style="bold")
        say(f"      {purpose}", style="dim")
