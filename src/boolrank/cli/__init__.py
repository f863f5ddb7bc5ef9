"""The command line ``boolrank``: one module per verb, which parses, calls the library and prints.

Data goes to stdout; messages, progress, warnings and hints go to stderr. ``--debug`` and
``--import`` may stand anywhere.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from .._extras import needs
from ..engines.user_modules import import_user_module
from ..errors import ParameterError
from ._errors import INTERRUPTED, READER_GONE, in_options, present
from ._output import printable
from ._signals import SignalGuard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line with ``argv`` or the arguments of the process; always exits."""
    code, guard = 0, SignalGuard()
    try:
        with guard:
            code = _exit_code(list(sys.argv[1:] if argv is None else argv), guard)
    except BaseException:
        if not guard.code:
            raise
    raise SystemExit(guard.code or code)


def _exit_code(given: list[str], guard: SignalGuard) -> int:
    args = [arg for arg in given if arg != "--debug"]
    code, debug = 0, args != given
    try:
        with _reliable_stdout():
            code = _run(args)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = READER_GONE
    except SystemExit as end:  # raised by rich, typer and shell completion
        gone = isinstance(end.__context__, BrokenPipeError)
        code = READER_GONE if gone else int(end.code or 0)
    except Exception as error:
        if not guard.code:
            presented = present(error, args)
            if presented is None or debug:
                raise
            code, text = presented
            sys.stderr.write(f"{printable(text)}\n")
    if INTERRUPTED in (code, guard.code):
        sys.stderr.write("interrupted\n")
    return code


def _run(args: list[str]) -> int:
    # The extra with everything that verbs need: nobody should have to install twice.
    with needs("all", "The command line"):
        import rich  # noqa: F401 - tables need it; better to fail now than after the work
        import typer  # noqa: F401
    from ._app import app  # needs typer

    def print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"warning: {printable(in_options(str(message), args))}\n")

    with warnings.catch_warnings():
        warnings.showwarning = print_warning
        args = _import_modules(args) or ["-h"]
        code = app(args=args, prog_name="boolrank", standalone_mode=False)
    sys.stdout.flush()  # a BrokenPipeError is recognised here
    return int(code or 0)


def _import_modules(args: list[str]) -> list[str]:
    """Import the module after each ``--import``, and return the other arguments."""
    rest, words = [], iter(args)
    for word in words:
        option, equals, name = word.partition("=")
        if option != "--import":
            rest.append(word)
            continue
        name = name if equals else next(words, "")
        if not name:
            raise ParameterError("--import needs a module", hint="name a module or a .py file")
        import_user_module(name)
    return rest


@contextmanager
def _reliable_stdout() -> Iterator[None]:
    """Replace stdout by a stream that writes everything or raises an OSError.

    With PYTHONUNBUFFERED, Python's own drops what a full disk or a pipe does not take at once.
    Characters that the encoding lacks are escaped. If stdout is closed, output is discarded.
    """
    before = sys.stdout
    closed = before is None
    place = os.devnull if closed else _descriptor(before)
    if place is None:  # a notebook or a test
        yield
        return
    encoding = "utf-8" if closed else before.encoding
    with open(place, "w", encoding=encoding, errors="backslashreplace", closefd=closed) as now:
        sys.stdout = now
        try:
            yield
        finally:
            sys.stdout = before
            try:
                now.flush()
            except OSError:  # reported already: discard the rest of the buffer
                os.dup2(os.open(os.devnull, os.O_WRONLY), now.fileno())


def _descriptor(stream: TextIO) -> int | None:
    """Return the file descriptor of a stream after flushing it; None if it has none."""
    try:
        stream.flush()
        return stream.fileno() if isinstance(stream, io.TextIOWrapper) else None
    except io.UnsupportedOperation:
        return None
