"""Present errors: an ``error:`` line, a ``hint:`` line and an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import BoolrankError, KernelSyntaxError, ParameterError, ParameterTypeError

_STATE, _COMMAND, INTERRUPTED, READER_GONE, TERMINATED = 1, 2, 130, 141, 143

# The last three are the shell's codes for SIGINT, SIGPIPE and SIGTERM.
EXIT_CODES = {
    0: "success",
    _STATE: "a problem with data, files or this machine",
    _COMMAND: "a problem with the command",
    INTERRUPTED: "interrupted with Ctrl-C",
    READER_GONE: "the reader of a pipe is gone",
    TERMINATED: "ended by SIGTERM",
}


def present(error: Exception, args: Sequence[str]) -> tuple[int, str] | None:
    """Return the exit code and the text for an error that the user can fix; None for a bug.

    >>> from boolrank.errors import InputError
    >>> error = InputError("the data have no time", hint="use order='file'", parameter="order")
    >>> print(present(error, ["evaluate"])[1])
    error: the data have no time
    hint: use --order 'file'
    """
    code, hint = _STATE, ""
    if isinstance(error, BoolrankError):
        message, hint = error.message, in_options(error.hint, args)
        option = f"--{error.parameter.replace('_', '-')}"
        if error.parameter and option not in message + hint and option in _usage(args)[1]:
            message = f"{message} ({option})"
        if isinstance(error, KernelSyntaxError):
            hint = hint or "`boolrank kernels` lists the kernels"
        if isinstance(error, KernelSyntaxError | ParameterError | ParameterTypeError):
            code = _COMMAND
    elif isinstance(error, MemoryError):
        message, hint = f"not enough memory: {error}", "`boolrank doctor` shows the free memory"
    elif isinstance(error, OSError) and error.strerror is not None:
        message = (
            error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
        )
        hint = "choose another place, or make this one readable and writable"
    elif hasattr(error, "format_message"):  # typer's errors have this method and no public name
        code, message = _COMMAND, error.format_message().rstrip(".")
    else:
        return None
    return code, f"error: {message}\nhint: {hint or _usage(args)[0]}"


def in_options(text: str, args: Sequence[str]) -> str:
    """Return a text of the library with its arguments, as ``order=...``, written as options.

    >>> in_options("lower least=... or use order='file', not reg=1", ["evaluate"])
    "lower --least or use --order 'file', not reg=1"
    """
    text = f" {text}"
    for option in _usage(args)[1] if "=" in text else ():
        name = f" {option.removeprefix('--').replace('-', '_')}="
        text = text.replace(f"{name}...", f" {option}").replace(name, f" {option} ")
    return text[1:]


def _usage(args: Sequence[str]) -> tuple[str, set[str]]:
    """Return a hint and the options for the verb in these arguments."""
    from typer.main import get_command

    from ._app import EXAMPLES, app

    command: Any = get_command(app)
    names, parameters = [], [*command.params]
    for arg in args:
        if arg in getattr(command, "commands", ()):
            command = command.commands[arg]
            names.append(arg)
            parameters += command.params
    example = f"; for example: {EXAMPLES[' '.join(names)]}" if names else ""
    options = {option for parameter in parameters for option in parameter.opts}
    return f"see `{' '.join(['boolrank', *names, '-h'])}`{example}", options
