"""The command line ``boolrank``: verbs that parse, call the library and print.

Data goes to stdout; messages, progress, warnings and hints go to stderr. An error is an ``error:``
line, a ``hint:`` line and an exit code. ``--debug`` and ``--import`` may stand anywhere.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._extras import needs
from ..engines.user_modules import import_user_module
from ..errors import BoolrankError, KernelSyntaxError, ParameterError, ParameterTypeError
from ._output import printable
from ._signals import SignalGuard

__all__ = ["main"]

# The last three are the shell's codes for SIGINT, SIGPIPE and SIGTERM.
EXIT_CODES = {
    0: "success",
    1: "a problem with data, files or this machine",
    2: "a problem with the command",
    130: "interrupted with Ctrl-C",
    141: "the reader of a pipe is gone",
    143: "ended by SIGTERM",
}


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
    words, modules = _split_imports([word for word in given if word != "--debug"])
    code = 0
    try:
        with _reliable_stdout():
            code = _run(words, modules)
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = 141
    except SystemExit as end:  # raised by rich, typer and shell completion
        code = 141 if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
    except Exception as error:
        if not guard.code:
            code, text = present(error, words)
            if not code or "--debug" in given:
                raise
            sys.stderr.write(f"{printable(text)}\n")
    if 130 in (code, guard.code):
        sys.stderr.write("interrupted\n")
    return code


def _run(words: list[str], modules: list[str]) -> int:
    # The extra with everything that verbs need: nobody should have to install twice.
    with needs("all", "The command line"):
        import rich  # noqa: F401 - tables need it; better to fail now than after the work
        import typer  # noqa: F401
    from ._app import app  # needs typer

    def print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"warning: {printable(str(message))}\n")

    with warnings.catch_warnings():
        warnings.showwarning = print_warning
        for name in modules:
            if not name:
                raise ParameterError("--import needs a module", hint="name a module or a .py file")
            import_user_module(name)
        code = app(args=words or ["-h"], prog_name="boolrank", standalone_mode=False)
    sys.stdout.flush()  # a BrokenPipeError is recognised here
    return int(code or 0)


def _split_imports(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments without ``--import``, and the module after each."""
    rest, modules, words = [], [], iter(args)
    for word in words:
        option, equals, name = word.partition("=")
        if option == "--import":
            modules.append(name if equals else next(words, ""))
        else:
            rest.append(word)
    return rest, modules


@contextmanager
def _reliable_stdout() -> Iterator[None]:
    """Replace stdout by a stream that writes everything or raises an OSError.

    With PYTHONUNBUFFERED, Python's own drops what a full disk or a pipe does not take at once.
    Characters that the encoding lacks are escaped. If stdout is closed, output is discarded.
    """
    before: Any = sys.stdout
    closed = before is None
    try:
        place = os.devnull if closed else io.TextIOWrapper.fileno(before)
    except (TypeError, io.UnsupportedOperation):  # a notebook or a test
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


def present(error: Exception, words: Sequence[str]) -> tuple[int, str]:
    """Return the exit code and the text for an error that the user can fix; 0 for a bug.

    If a parameter is to blame that is an option of the verb, the message begins with the option.

    >>> error = ParameterError("there is no order 'date'", hint="try 'time'", parameter="order")
    >>> print(present(error, ["evaluate"])[1])
    error: --order: there is no order 'date'
    hint: try 'time'
    """
    code, hint = 1, ""
    if isinstance(error, BoolrankError):
        message, hint = _option(words, error.parameter) + error.message, error.hint
        if isinstance(error, KernelSyntaxError):
            hint = hint or "`boolrank kernels` lists the kernels"
        if isinstance(error, KernelSyntaxError | ParameterError | ParameterTypeError):
            code = 2
    elif isinstance(error, MemoryError):
        message, hint = f"not enough memory: {error}", "`boolrank doctor` shows the free memory"
    elif isinstance(error, OSError) and error.strerror is not None:
        message = f"{error.filename}: " if error.filename is not None else ""
        message += error.strerror
        hint = "choose another place, or make this one readable and writable"
    elif hasattr(error, "format_message"):  # typer's errors have this method and no public name
        code, message = 2, error.format_message().rstrip(".")
        if getattr(error, "option_name", "")[1:2].isdigit():  # of an unknown option
            hint = "write -- before ids that begin with a minus"
    else:
        return 0, ""
    return code, f"error: {message}\nhint: {hint or _usage(words)}"


def _option(words: Sequence[str], parameter: str) -> str:
    """Return the option for a parameter, with a colon; "" if the verb does not have it."""
    if not parameter:
        return ""
    from ._app import options_of, verb_of

    name = options_of(verb_of(words)).get(parameter)
    return f"{name}: " if name else ""


def _usage(words: Sequence[str]) -> str:
    """Return the help and the example of the verb in these words."""
    from ._app import EXAMPLES, verb_of

    verb = verb_of(words)
    example = f"; for example: {EXAMPLES[verb]}" if verb else ""
    return f"see `{' '.join(['boolrank', *verb.split(), '-h'])}`{example}"
