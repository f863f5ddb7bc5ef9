"""The command line, ``boolrank``: one verb a file, each of which parses, calls the library, prints.

Data goes to stdout; messages, progress and hints go to stderr. An error that the library raises on
purpose is one line and exit code 2; ``--debug`` shows its traceback. Ctrl-C is one word and 130.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .._extras import needs
from ..errors import BoolrankError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_INTERRUPTED = 130  # what shells, and typer, make of Ctrl-C


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line with ``argv``, or with the arguments of the process; always exits."""
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        with needs("cli", "The command line"):
            import rich  # noqa: F401 (tables need it; better said now than after the work)
            import typer  # noqa: F401

        from ._app import app  # it needs typer

        app(args=args, prog_name="boolrank")
    except BoolrankError as error:
        # A flag of the first level, so it stands before the verb; looked for here because the
        # error may come before the arguments are parsed.
        if "--debug" in args:
            raise
        sys.stderr.write(_message(error))
        raise SystemExit(2) from None
    except (SystemExit, KeyboardInterrupt) as end:
        if isinstance(end, SystemExit) and end.code != _INTERRUPTED:
            raise
        sys.stderr.write("interrupted\n")
        raise SystemExit(_INTERRUPTED) from None


def _message(error: BoolrankError) -> str:
    """``error:`` with what is wrong, then ``hint:`` lines with what to do about it."""
    lines = [f"error: {error}"]
    lines += [f"hint: {note}" for note in getattr(error, "__notes__", ())]
    return "\n".join(lines) + "\n"
