"""Errors for missing optional dependencies, with the command that installs them.

A module that needs an extra of the package imports it where it is used, inside ``needs``::

    with needs("report", "The report"):
        import jinja2
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import MissingExtraError


@contextmanager
def needs(extra: str, purpose: str) -> Iterator[None]:
    """Raise a `MissingExtraError` for a failed import; its hint is the command for ``extra``.

    >>> with needs("report", "The report"):
    ...     import surely_not_installed
    Traceback (most recent call last):
    boolrank.errors.MissingExtraError: The report needs surely_not_installed, which is not \
installed; pip install 'boolrank[report]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        # A missing module of our own is a bug that no extra repairs.
        if error.name is None or error.name.partition(".")[0] == "boolrank":
            raise
        raise MissingExtraError(
            f"{purpose} needs {error.name}, which is not installed",
            hint=f"pip install 'boolrank[{extra}]'",
        ) from error
