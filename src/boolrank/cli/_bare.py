"""``boolrank demo`` where no extra is installed: the same figures as plain text, without a page.

So ``pipx run boolrank demo`` shows something. Only the standard library parses and prints here.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bare_demo"]


def bare_demo(args: Sequence[str], missing: MissingExtraError) -> int:
    """Run the demonstration with these arguments, and end with what ``missing`` says to install."""
    parser = argparse.ArgumentParser(
        "boolrank demo",
        description="Compare models, recommend and explain on made-up data, as plain text.",
        epilog=str(missing),
    )
    parser.add_argument("--seed", type=int, default=0, help="Seed of the made-up data.")
    parser.add_argument("--out", help="Folder for the page; needs what is not installed.")
    given = parser.parse_args(args)
    if given.out is not None:
        raise missing
    if given.seed < 0:
        raise ParameterError(f"--seed is {given.seed}; it must be 0 or more")

    from ..demo import NEXT, run_demo
    from ..demo.page import demo_tables

    parts: list[str] = []

    def told(text: str) -> None:
        part = text.partition(":")[0]
        if part not in parts[-1:]:
            parts.append(part)
            sys.stderr.write(f"{part} …\n")

    found = run_demo(None, seed=given.seed, progress=told).found
    sys.stdout.write("\n".join(table.text() for table in demo_tables(found)))
    sys.stdout.flush()
    _, _, command = str(missing).partition(": ")
    wanted = "the page with its figures, and the commands for a file of your own"
    sys.stderr.write(f"\nnote: for {wanted}, run {command}; then:\n")
    sys.stderr.writelines(f"  {step}\n      {purpose}\n" for step, purpose in NEXT.items())
    return 0
