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
from .access import Client, Guard

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


def make_server(app: Guard) -> uvicorn.Server:
    """Return a server for an application, with its limits."""

    class Connection(H11Protocol):
        """A connection that the guard knows while it is open."""

        def connection_made(self, transport: Any) -> None:
            self.place = (transport.get_extra_info("peername") or ())[:2]
            app.open[self.place] = Client(transport)
            super().connection_made(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            app.open.pop(self.place, None)
            super().connection_lost(exc)

    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_MOST_HEADERS,
        timeout_keep_alive=int(_IDLE_SECONDS),
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    return uvicorn.Server(config)


async def serve(app: Guard, server: uvicorn.Server, made: socket.socket) -> None:
    """Serve until SIGTERM, and close idle connections, which uvicorn would keep."""
    task = asyncio.create_task(_close_idle(app, server))
    await server.serve(sockets=[made])
    task.cancel()


async def _close_idle(app: Guard, server: uvicorn.Server) -> None:
    while True:
        await asyncio.sleep(min(1.0, _IDLE_SECONDS / 4))
        limit = _STOP_SECONDS if server.should_exit else _IDLE_SECONDS
        for each in list(app.open.values()):
            if each.idle_seconds() > limit:
                each.transport.abort()


class Workers:
    """Processes that accept connections from one socket and are replaced when they die.

    ``start`` returns the application of a worker; it gets the worker's number and the process id of
    the parent.
    """

    def __init__(self, start: Callable[[int, int], Guard], made: socket.socket, count: int) -> None:
        self.start, self.made, self.count = start, made, count
        self._running: dict[int, tuple[int, float]] = {}
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
            self._serve(self.start(0, os.getppid()))
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

    def _serve(self, app: Guard) -> None:
        asyncio.run(serve(app, make_server(app), self.made))

    def _replace(self) -> None:
        """Replace workers that die, until the end."""
        while self._running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                # Python runs signal handlers between calls: a blocking wait could miss a signal.
                time.sleep(0.1)
                continue
            number, begun = self._running.pop(process, (-1, 0.0))
            if number < 0 or self._ending:
                continue
            code = os.waitstatus_to_exitcode(status)
            log.warning("worker %d ended with code %d and is replaced", number, code)
            mark_process_dead(process)  # type: ignore[no-untyped-call]
            if code == _CANNOT_START and not self._running:
                raise BoolrankError(
                    "no worker can start",
                    hint="the log says why; fit a damaged model again or restore a copy of it",
                )
            seconds = _AGAIN_SECONDS if code == _CANNOT_START else time.monotonic() - begun < 1
            for _ in range(int(seconds)):
                if not self._ending:
                    time.sleep(1)
            if not self._ending:
                self._fork(number)

    def _fork(self, number: int) -> None:
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
            self._running[process] = number, time.monotonic()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            if self._ending:  # the signal came before there was a process to pass it to
                self._signal(signal.SIGTERM)
            return
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the worker listens to it
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._serve(self.start(number, parent))
            code = 0
        except BoolrankError as error:
            log.error("worker %d cannot start: %s", number, error)  # noqa: TRY400 - expected
            code = _CANNOT_START
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
