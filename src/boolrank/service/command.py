"""The whole service: options, checks, and worker processes."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

from .._compiled.ranges import most_threads
from ..data.items import ItemTable
from ..errors import ModelFileError
from . import ServiceOptions
from .access import Guard, Keys, check_exposure
from .app import create_app
from .catalogue import Catalogue
from .events import check_store
from .live import Live
from .workers import Workers, listen


def open_service(
    folder: Path, options: ServiceOptions, period: float | None = None
) -> tuple[str, Workers]:
    """Check all options and listen; return the name of the model, and workers to run.

    ``period`` is the time between refreshes in seconds.
    """
    keys = None if options.api_key_file is None else Keys(options.api_key_file)
    check_exposure(options.host, keys, options.no_auth)
    table = None if options.items is None else ItemTable.from_file(options.items)
    # Not resolved: the link to a folder may be switched to another one.
    folder = folder.absolute()
    try:
        # Loaded here once, so that workers inherit what is compiled; they open it themselves.
        model = Catalogue.load(folder, items=table).info["model"]
    except ModelFileError as error:
        again = "fit it again or restore a copy; events are kept apart from it"
        raise ModelFileError(error.message, hint=f"{error.hint}, or {again}") from None
    store = check_store(options.events or f"{folder}-events.sqlite")
    made = listen(options.host, options.port)
    _log()

    def start(worker: int) -> Guard:
        n_threads = max(1, most_threads() // options.workers)
        live = Live(folder, store, table, keys, period, n_threads, worker)
        return create_app(live, local=keys is None and not options.no_auth)

    return model, Workers(start, made, options.workers)


def _log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("%(asctime)s %(levelname)s %(message)s"))
    handler.addFilter(Repeats())
    logging.raiseExceptions = False  # the disk of the log may be full
    for name, level in (("boolrank.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class Repeats(logging.Filter):
    """Drop warnings and errors whose format was logged less than a minute ago."""

    seconds = 60.0

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, object], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is logged."""
        kind = str(record.msg), record.exc_info and record.exc_info[0]
        now, last = time.monotonic(), self._last.get(kind)
        if record.levelno < logging.WARNING or last is None or now - last >= self.seconds:
            self._last[kind] = now
            return True
        return False


class _Plain(logging.Formatter):
    """Escape control characters: an id must not control a terminal or forge a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        text = super().formatMessage(record)
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
