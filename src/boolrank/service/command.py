"""The whole service: options, checks, and worker processes."""

from __future__ import annotations

import logging
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._compiled.ranges import most_threads
from ..data.items import ItemTable
from ..errors import ModelFileError
from .access import Guard, Keys, check_exposure
from .app import create_app
from .catalogue import Catalogue
from .events import EventStore, check_store
from .live import Live
from .workers import Workers, listen


class Service(NamedTuple):
    """A service that listens, and is about to run."""

    folder: Path
    info: Mapping[str, Any]
    store: EventStore
    socket: socket.socket
    workers: Workers

    @property
    def address(self) -> str:
        """Host and port."""
        host, port = self.socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def run(self) -> None:
        """Serve until a signal ends it."""
        self.workers.run()


def open_service(
    folder: Path,
    *,
    host: str,
    port: int,
    workers: int,
    items: Path | None,
    events: str | None,
    period: float | None,
    api_key_file: Path | None,
    no_auth: bool,
) -> Service:
    """Check all options and listen; raise before anything starts."""
    keys = None if api_key_file is None else Keys.read(api_key_file)
    check_exposure(host, keys, no_auth)
    table = None if items is None else ItemTable.from_file(items)
    # Not resolved: the link to a folder may be switched to another one.
    folder = folder.absolute()
    place = events or f"{folder}-events.sqlite"
    try:
        # Loaded here once, so that workers inherit what is compiled; they open it themselves.
        info = Catalogue.load(folder, table).info
    except ModelFileError as error:
        again = "fit it again or restore a copy; events are kept apart from it"
        raise ModelFileError(error.message, hint=f"{error.hint}, or {again}") from None
    store = check_store(place)
    made = listen(host, port)
    _log()

    def start(worker: int, parent: int) -> Guard:
        n_threads = max(1, most_threads() // workers)
        given = table, keys, api_key_file, period, n_threads, worker, parent
        live = Live(folder, store, *given)
        live.open()
        return create_app(live, local=keys is None and not no_auth)

    return Service(folder, info, store, made, Workers(start, made, workers))


def _log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("%(asctime)s %(levelname)s %(message)s"))
    handler.addFilter(Repeats())
    logging.raiseExceptions = False  # a full disk may hold the log, too
    for name, level in (("boolrank.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class Repeats(logging.Filter):
    """Leave out warnings and errors that repeat within a minute, whatever they name."""

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
    """Lines without control characters, so that no id acts on a terminal or forges a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        text = super().formatMessage(record)
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
