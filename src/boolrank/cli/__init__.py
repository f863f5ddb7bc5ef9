"""The command line, ``boolrank``: one verb a file, each of which parses, calls the library, prints.

Data goes to stdout; messages, progress, warnings and hints go to stderr. What goes wrong is said in
``_errors.py``, which has the exit codes; ``--debug``, wherever it stands, shows the traceback.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from .._extras import needs
from ..errors import MissingExtraError
from ._errors import INTERRUPTED, READER_GONE, TERMINATED, as_options, ending_behind, explained

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line with ``argv``, or with the arguments of the process; always exits."""
    given = list(sys.argv[1:] if argv is None else argv)
    args = [arg for arg in given if arg != "--debug"]
    with _whole_stdout():
        code = _code(args, debug=args != given)
    raise SystemExit(code)


def _code(args: list[str], *, debug: bool) -> int:
    """Run the command line; gives the exit code, when all is said."""
    try:
        code = _run(args)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = READER_GONE
    except SystemExit as end:  # rich, typer and shell completion end by themselves
        gone = isinstance(end.__context__, BrokenPipeError)
        code = READER_GONE if gone else int(end.code or 0)
    except Exception as error:
        said = explained(error, lambda: _usage(args))
        if said is None or debug:
            raise
        code, text = said
        sys.stderr.write(f"{text}\n")
    if code == INTERRUPTED:
        sys.stderr.write("interrupted\n")
    return code


@contextmanager
def _whole_stdout() -> Iterator[None]:
    """For the time of a command, a stdout that takes all that is written or raises an OSError.

    That of PYTHONUNBUFFERED drops what a full disk or a pipe does not take at once. Characters that
    its encoding does not have are escaped. One that is closed is none at all: then all is dropped.
    """
    before = sys.stdout
    closed = before is None
    place = os.devnull if closed else _descriptor(before)
    if place is None:  # of a notebook or a test, which lack nothing
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
            except OSError:  # said by now: what is still in the buffer goes nowhere
                os.dup2(os.open(os.devnull, os.O_WRONLY), now.fileno())


def _descriptor(stream: TextIO) -> int | None:
    """The file of a stream that writes into one directly; what it holds back is written."""
    try:
        stream.flush()
        return stream.fileno() if isinstance(stream, io.TextIOWrapper) else None
    except io.UnsupportedOperation:
        return None


def _run(args: list[str]) -> int:
    try:
        # All that any verb needs: nobody should have to install twice.
        with needs("all", "The command line"):
            import rich  # noqa: F401 (tables need it; better said now than after the work)
            import typer  # noqa: F401
    except MissingExtraError as error:
        if args[:1] != ["demo"]:
            raise
        from ._bare import bare_demo

        return bare_demo(args[1:], error)

    from ._app import app  # it needs typer

    with warnings.catch_warnings(), _orderly_end():
        warnings.showwarning = _say_warning
        code = app(args=args or ["-h"], prog_name="boolrank", standalone_mode=False)
    sys.stdout.flush()  # here, where a reader that has gone can still be told from a bug
    return int(code or 0)


@contextmanager
def _orderly_end() -> Iterator[None]:
    """SIGTERM ends the command as Ctrl-C does: worker processes and temporary folders go with it.

    Without this nothing would clean up, as after SIGKILL.
    """
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    except SystemError as error:  # what compiled code makes of a signal that arrives within it
        ending = ending_behind(error)
        if ending is None:
            raise
        raise ending from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _usage(args: list[str]) -> str:
    from ._app import usage

    return usage(args)


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"warning: {as_options(str(message))}\n")
