"""Worker processes on one socket, forked from a parent that has everything imported and compiled.

The parent holds no model: workers map the same files, so the system keeps one copy. It replaces
workers that die, passes SIGHUP on, and ends them with itself.
"""

from __future__ import annotations

import asyncio
import errno
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

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import BoolrankError, InputError, ParameterError
from .access import Guard

log = logging.getLogger("boolrank.service")

_IDLE_SECONDS = 15.0  # for a request to arrive, between requests, and to read an answer
_DRAIN_SECONDS = 10  # for requests that run when the service ends
_STOP_SECONDS = 2.0  # for bodies and answers that are under way then
_MOST_HEADERS = 64 << 10  # bytes
_CANNOT_START = 3  # exit code of a worker without a model
_AGAIN_SECONDS = 10  # until it is started again
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP} if os.name == "posix" else set()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise if the host or the port cannot be used."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's delay, 40 ms per answer, only for sockets with a named protocol.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(2048)
    except OSError as error:
        made.close()
        name = "port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "host"
        raise InputError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            hint=f"choose another --{name}",
            parameter=name,
        ) from None
    made.set_inheritable(True)
    return made


class _Connection(H11Protocol):
    """A connection that knows how long its client keeps the service waiting."""

    def connection_made(self, transport: Any) -> None:
        self._since, self._unread = time.monotonic(), 0
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_open():  # these are not headers, which have to arrive in time as a whole
            self._since = time.monotonic()

    def on_response_complete(self) -> None:
        self._since = time.monotonic()
        super().on_response_complete()

    def _is_open(self) -> bool:
        """Return whether a request has no complete answer yet."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    def idle_seconds(self) -> float:
        """Return how long the client has sent and read nothing; 0 while it waits for us."""
        unread = self.transport.get_write_buffer_size()
        if unread != self._unread:
            self._unread, self._since = unread, time.monotonic()
        if self._is_open() and not self.cycle.more_body and not unread:
            return 0.0
        return time.monotonic() - self._since


def make_server(app: Guard) -> uvicorn.Server:
    """Return a server for an application, with its limits."""
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_MOST_HEADERS,
        timeout_keep_alive=int(_IDLE_SECONDS),
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    server = uvicorn.Server(config)
    app.connections = server.server_state.connections
    return server


async def serve(server: uvicorn.Server, made: socket.socket, parent: int | None = None) -> None:
    """Serve until SIGTERM, or until the parent process is gone."""
    task = asyncio.create_task(_watch(server, parent))
    await server.serve(sockets=[made])
    task.cancel()


async def _watch(server: uvicorn.Server, parent: int | None) -> None:
    """Close idle connections, which uvicorn would keep, and end without the parent."""
    while True:
        await asyncio.sleep(min(1.0, _IDLE_SECONDS / 4))
        if parent not in (None, os.getppid()):
            server.should_exit = True
        limit = _STOP_SECONDS if server.should_exit else _IDLE_SECONDS
        for each in list(server.server_state.connections):
            if isinstance(each, _Connection) and each.idle_seconds() > limit:
                each.transport.abort()


class Workers:
    """Processes that accept connections from one socket and are replaced when they die.

    ``start`` returns the application of the worker with a number.
    """

    def __init__(self, start: Callable[[int], Guard], made: socket.socket, count: int) -> None:
        self.start, self.made, self.count = start, made, count
        self._running: dict[int, tuple[int, float]] = {}  # number and start by process
        self._ending = False

    @property
    def address(self) -> str:
        host, port = self.made.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def run(self) -> None:
        """Run until a signal ends them."""
        if not hasattr(os, "fork"):
            if self.count > 1:
                raise ParameterError(
                    "this system has no fork, so there is one worker",
                    hint="leave --workers out",
                    parameter="workers",
                )
            self._serve(self.start(0))
            return
        before = {each: signal.signal(each, self._pass_on) for each in _SIGNALS}
        gc.collect()
        gc.freeze()  # a collection would write to the pages that workers share with the parent
        try:
            for number in range(self.count):
                self._fork(number)
            self._replace()
        finally:
            self._pass_on(signal.SIGTERM)
            for each, action in before.items():
                signal.signal(each, action)
            gc.unfreeze()

    def _serve(self, app: Guard, parent: int | None = None) -> None:
        asyncio.run(serve(make_server(app), self.made, parent))

    def _replace(self) -> None:
        """Replace workers that die, until the end."""
        while self._running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                # Python runs signal handlers between calls: a blocking wait could miss a signal.
                time.sleep(0.1)
                continue
            number, start = self._running.pop(process, (-1, 0.0))
            if number < 0 or self._ending:
                continue
            code = os.waitstatus_to_exitcode(status)
            log.warning("worker %d ended with code %d and is replaced", number, code)
            mark_process_dead(process)  # type: ignore[no-untyped-call]
            now, cannot_start = time.monotonic(), code == _CANNOT_START
            if cannot_start and all(begins > now for _, begins in self._running.values()):
                raise BoolrankError(
                    "no worker can start",
                    hint="the log says why; fit a damaged model again or restore a copy of it",
                )
            self._fork(number, _AGAIN_SECONDS if cannot_start else float(now - start < 1))

    def _fork(self, number: int, delay: float = 0.0) -> None:
        """Start a worker, which waits before it begins."""
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        # Until a worker has its own handlers, those of the parent would get its signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        with warnings.catch_warnings():
            # Python warns of other threads. Those of BLAS sleep, and BLAS handles forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
        if process:
            self._running[process] = number, time.monotonic() + delay
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            if self._ending:  # the signal came before there was a process to pass it to
                self._pass_on(signal.SIGTERM)
            return
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is a model to reload
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            time.sleep(delay)
            app = self.start(number)
            signal.signal(signal.SIGHUP, lambda *_: app.live.hang_up())
            self._serve(app, parent)
            code = 0
        except BoolrankError as error:
            log.error("worker %d cannot start: %s", number, error)  # noqa: TRY400 - expected
            code = _CANNOT_START
        except Exception:
            log.exception("worker %d failed", number)
        finally:
            logging.shutdown()
            os._exit(code)

    def _pass_on(self, number: int, _: Any = None) -> None:
        """Pass a signal on to the workers; all but SIGHUP end them and this process."""
        self._ending = self._ending or number != signal.SIGHUP
        for process in list(self._running):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM if self._ending else number)
