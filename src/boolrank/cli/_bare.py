"""``boolrank demo`` without extras: the figures as plain text, for ``pipx run boolrank demo``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ..errors import MissingExtraError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["bare_demo"]


def bare_demo(args: Sequence[str], missing: MissingExtraError) -> int:
    """Run the demo with only the standard library for parsing and printing."""
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

    parts: list[str] = []

    def tell(text: str) -> None:
        part = text.partition(":")[0]
        if part not in parts[-1:]:
            parts.append(part)
            sys.stderr.write(f"{part} …\n")

    found = run_demo(None, seed=given.seed, progress=tell)
    sys.stdout.write("\n".join(table.to_markdown() for table in demo_tables(found)))
    sys.stdout.flush()
    sys.stderr.write(f"\nnote: for the page and for commands on your own data: {missing.hint}\n")
    sys.stderr.writelines(f"  {step}\n      {purpose}\n" for step, purpose in NEXT.items())
    return 0
