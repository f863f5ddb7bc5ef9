"""The whole service: options, checks, and worker processes."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._compiled.ranges import most_threads
from .access import Keys, check_exposure
from .app import create_app
from .catalogue import Catalogue
from .events import EventStore, check_store
from .live import Live
from .titles import read_titles
from .workers import Workers, listen


@dataclass(frozen=True)
class Service:
    """A service that listens, and is about to run."""

    folder: Path
    info: Mapping[str, Any]
    store: EventStore
    titles: Mapping[str, str]
    keys: Keys | None
    period: float | None
    workers: int
    no_auth: bool
    socket: socket.socket

    @property
    def address(self) -> str:
        """Host and port."""
        host, port = self.socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def run(self) -> None:
        """Serve until a signal ends it."""
        Workers(self._app, self.socket, self.workers).run()

    def _app(self, worker: int, parent: int) -> Any:
        n_threads = max(1, most_threads() // self.workers)
        live = Live(self.folder, self.store, self.titles, self.period, n_threads, worker, parent)
        return create_app(live, self.keys, local=self.keys is None and not self.no_auth)


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
    titles = {} if items is None else read_titles(items)
    # Loaded here once, so that workers inherit what is compiled; they open it themselves.
    info = Catalogue.load(folder, titles).info
    place = events or str(Path(f"{folder.resolve()}-events.sqlite"))
    store = check_store(place)
    made = listen(host, port)
    _log()
    return Service(folder.resolve(), info, store, titles, keys, period, workers, no_auth, made)


def _log() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (("boolrank.service", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)


class _Plain(logging.Formatter):
    """Lines without control characters, so that no id acts on a terminal or forges a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        text = super().formatMessage(record)
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
