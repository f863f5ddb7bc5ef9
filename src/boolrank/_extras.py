"""What to say when an optional dependency is missing: one sentence with the exact command.

Optional parts are extras of the package. A module that needs one imports it where it is used,
inside ``needs``::

    with needs("report", "The report"):
        import jinja2
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import MissingExtraError

__all__ = ["needs"]


@contextmanager
def needs(extra: str, purpose: str) -> Iterator[None]:
    """Turn a failed import in the block into the command that installs ``extra``.

    >>> with needs("report", "The report"):
    ...     import surely_not_installed
    Traceback (most recent call last):
    boolrank.errors.MissingExtraError: The report needs surely_not_installed, which is not \
installed: pip install 'boolrank[report]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # A module of our own that is missing is a bug here, and no extra repairs it.
        if error.name is None or error.name.partition(".")[0] == "boolrank":
            raise
        raise MissingExtraError(
            f"{purpose} needs {error.name}, which is not installed: {_command(extra)}"
        ) from error


def _command(extra: str) -> str:
    """What installs an extra; pip does not reach the environments that pipx makes."""
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return "pipx install --force 'boolrank[all]'"
    return f"pip install 'boolrank[{extra}]'"
