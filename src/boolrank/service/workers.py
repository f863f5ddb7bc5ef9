"""Worker processes on one socket, forked from a parent that has everything imported and compiled.

The parent holds no model: workers map the same files, so the system keeps one copy. It replaces
workers that die, passes SIGHUP on, and ends them with itself.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import h11
import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import InputError, ParameterError

log = logging.getLogger("boolrank.service")

_HEADER_SECONDS = 10.0
_KEEP_SECONDS = 30  # idle connections
_DRAIN_SECONDS = 10  # requests that run when the service ends
_MOST_CONNECTIONS = 1024  # of one worker
_MOST_HEADERS = 64 << 10  # bytes


class Protocol(H11Protocol):
    """HTTP that closes connections whose headers do not arrive in time."""

    _deadline: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self._late)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waiting = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        if self._deadline is not None and not waiting:
            self._deadline.cancel()
            self._deadline = None
        elif self._deadline is None and waiting:
            self._deadline = self.loop.call_later(_HEADER_SECONDS, self._late)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _late(self) -> None:
        self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise with a hint if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Unless the protocol is named, asyncio leaves Nagle's delay on: 40 ms for each answer.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(2048)
    except OSError as error:
        made.close()
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint="choose another --port",
            parameter="port",
        ) from None
    made.set_inheritable(True)
    return made


def run_worker(app: Any, made: socket.socket) -> None:
    """Serve until SIGTERM."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        loop="asyncio",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_MOST_HEADERS,
        timeout_keep_alive=_KEEP_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[made])


class Workers:
    """Processes that are replaced when they die.

    Parameters
    ----------
    start : function that returns the application of a worker; it gets the worker's number and the
        process id of the parent
    made : socket that all of them accept connections from
    count : number of processes
    """

    def __init__(self, start: Callable[[int, int], Any], made: socket.socket, count: int) -> None:
        self.start, self.made, self.count = start, made, count
        self._running: dict[int, tuple[int, float]] = {}
        self._ending = False

    def run(self) -> None:
        """Run until a signal ends them."""
        if not hasattr(os, "fork"):
            if self.count > 1:
                raise ParameterError(
                    "this system has no fork, so there is one worker",
                    hint="leave --workers out",
                    parameter="workers",
                )
            run_worker(self.start(0, os.getppid()), self.made)
            return
        actions = {
            signal.SIGTERM: self._end,
            signal.SIGINT: self._end,
            signal.SIGHUP: lambda *_: self._signal(signal.SIGHUP),
        }
        before = {each: signal.signal(each, action) for each, action in actions.items()}
        gc.collect()
        gc.freeze()  # a collection would write to the pages that workers share with the parent
        try:
            for number in range(self.count):
                self._fork(number)
            self._replace()
        finally:
            self._signal(signal.SIGTERM)
            for each, action in before.items():
                signal.signal(each, action)
            gc.unfreeze()

    def _replace(self) -> None:
        """Replace workers that die, until the end."""
        while self._running:
            process, status = os.waitpid(-1, 0)
            number, begun = self._running.pop(process, (-1, 0.0))
            if number < 0 or self._ending:
                continue
            log.warning("worker %d ended with status %d and is replaced", number, status)
            mark_process_dead(process)  # type: ignore[no-untyped-call]
            if time.monotonic() - begun < 1:
                time.sleep(1)
            if not self._ending:
                self._fork(number)

    def _fork(self, number: int) -> None:
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Python warns of other threads; those of BLAS sleep, and it handles forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            self._running[process] = number, time.monotonic()
            return
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the worker listens to it
            run_worker(self.start(number, parent), self.made)
            code = 0
        except Exception:
            log.exception("worker %d failed", number)
        finally:
            logging.shutdown()
            os._exit(code)

    def _end(self, *_: Any) -> None:
        self._ending = True
        self._signal(signal.SIGTERM)

    def _signal(self, which: signal.Signals) -> None:
        for process in list(self._running):
            with suppress(ProcessLookupError):
                os.kill(process, which)
