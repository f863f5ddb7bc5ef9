"""What is said of an error on stderr, and the exit code that it ends with.

The library's messages say what is wrong and, after a semicolon, what to do; their notes say more of
the latter. Here the one is the ``error:`` line, the other are ``hint:`` lines, in which arguments
of functions (``order='random'``) are options (``--order random``). Only a bug has a traceback.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

from ..errors import (
    BoolrankError,
    KernelSyntaxError,
    MissingExtraError,
    ParameterError,
    ParameterTypeError,
)

__all__ = [
    "EXIT_CODES",
    "INTERRUPTED",
    "READER_GONE",
    "TERMINATED",
    "Said",
    "as_option",
    "as_options",
    "ending_behind",
    "explained",
]

_STATE, _COMMAND, INTERRUPTED, READER_GONE, TERMINATED = 1, 2, 130, 141, 143

# All there are. The last three are what shells make of the signals SIGINT, SIGPIPE and SIGTERM.
EXIT_CODES = {
    0: "done",
    _STATE: "data, files or this machine are not as needed",
    _COMMAND: "the command is not as it should be",
    INTERRUPTED: "interrupted with Ctrl-C",
    READER_GONE: "the reader of a pipe has gone",
    TERMINATED: "ended by SIGTERM",
}

Said = tuple[int, str, list[str]]  # exit code, what is wrong, what to do

_OF_THE_COMMAND = (KernelSyntaxError, ParameterError, ParameterTypeError)
_ARGUMENT = re.compile(r"\b([a-z_]+)=(?:\.\.\.|'([^']*)')")


def explained(error: Exception, usage: Callable[[], str]) -> tuple[int, str] | None:
    """Exit code and text for an error that somebody can mend; None for a bug.

    ``usage`` is asked for a hint where there is no other.

    >>> from boolrank.errors import InputError
    >>> code, text = explained(InputError("the data have no time; use order='random'"), str)
    >>> print(text)
    error: the data have no time
    hint: use --order random
    """
    said = next((say(error) for kind, say in _KINDS if isinstance(error, kind)), None)
    if said is None:
        return None
    code, wrong, hints = said
    lines = [f"error: {wrong}", *(f"hint: {as_options(hint)}" for hint in hints or [usage()])]
    return code, "\n".join(lines)


def as_options(hint: str) -> str:
    """A hint with arguments of functions written as options."""
    return _ARGUMENT.sub(lambda m: shlex.join(filter(None, (as_option(m[1]), m[2]))), hint)


def as_option(name: str) -> str:
    """The name of an argument as that of an option."""
    return f"--{name.replace('_', '-')}"


def ending_behind(error: BaseException) -> KeyboardInterrupt | SystemExit | None:
    """What a signal raised, if that is what led to the error."""
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, KeyboardInterrupt | SystemExit):
        behind = behind.__cause__ or behind.__context__
    return behind


def _ours(error: BoolrankError) -> Said:
    wrong, _, to_do = str(error).partition("; ")
    code = _COMMAND if isinstance(error, _OF_THE_COMMAND) else _STATE
    return code, wrong, [*filter(None, [to_do]), *getattr(error, "__notes__", ())]


def _of_an_extra(error: MissingExtraError) -> Said:
    wrong, _, command = str(error).partition(": ")
    return _STATE, wrong, [f"run {command}"]


def _of_memory(error: MemoryError) -> Said:
    return _STATE, f"there is not enough memory: {error}", ["`boolrank doctor` says what is free"]


def _of_the_system(error: OSError) -> Said | None:
    if error.strerror is None:
        return None
    place = "" if error.filename is None else f"{error.filename}: "
    hints = ["choose another place, or make this one readable and writable; --debug says more"]
    return _STATE, f"{place}{error.strerror}", hints


def _of_numba(error: RuntimeError) -> Said | None:
    if "cannot cache function" not in str(error):
        return None
    hints = ["set NUMBA_CACHE_DIR to a folder that you may write to"]
    return _STATE, "there is no folder in which compiled code can be kept", hints


def _of_the_parser(error: Any) -> Said | None:
    """What typer says of a command line; its errors have this method, and no public name."""
    if not hasattr(error, "format_message"):
        return None
    return _COMMAND, error.format_message().rstrip("."), []


# The first that fits says it. Some of ours are errors of the system, or of memory, too.
_KINDS: tuple[tuple[type[Exception], Callable[[Any], Said | None]], ...] = (
    (MissingExtraError, _of_an_extra),
    (BoolrankError, _ours),
    (MemoryError, _of_memory),
    (OSError, _of_the_system),
    (RuntimeError, _of_numba),
    (Exception, _of_the_parser),
)
