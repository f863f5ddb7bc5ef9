"""Threads with a bounded queue. Jobs of one kind that wait together are done in one call."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..errors import BoolrankError

_PATIENCE = 10.0  # seconds for threads to end

Work = Callable[[list[Any]], Sequence[Any]]


class OverloadError(BoolrankError, RuntimeError):
    """The queue is full."""


class _Job(NamedTuple):
    work: Work
    argument: Any
    future: asyncio.Future[Any]


class Pool:
    """Threads that run jobs for an event loop.

    Parameters
    ----------
    n_threads : number of threads
    leave : called by a thread when it ends
    most_waiting : jobs in the queue; more are refused
    most_together : jobs of one call
    """

    def __init__(
        self,
        n_threads: int,
        leave: Callable[[], None],
        most_waiting: int = 256,
        most_together: int = 16,
    ) -> None:
        self.n_threads, self.leave = n_threads, leave
        self.most_waiting, self.most_together = most_waiting, most_together
        self._threads: list[threading.Thread] = []
        self._waiting = deque[_Job]()
        self._changed = threading.Condition()
        self._open = False

    def start(self) -> None:
        """Start the threads."""
        self._open = True
        for _ in range(self.n_threads):
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        """Let the threads end after what they do."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(_PATIENCE)

    async def run(self, work: Work, argument: Any) -> Any:
        """Return the result for an argument; raise if the work does, or if the queue is full.

        ``work`` gets a list of arguments, and returns as many results; one that is an exception is
        raised.
        """
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            if len(self._waiting) >= self.most_waiting:
                raise OverloadError("the service is overloaded", hint="try again in a second")
            self._waiting.append(_Job(work, argument, future))
            self._changed.notify()
        return await future

    def _work(self) -> None:
        while jobs := self._next():
            try:
                results = jobs[0].work([job.argument for job in jobs])
            except BaseException as error:  # noqa: BLE001 - raised in those who wait
                results = [error] * len(jobs)
            with suppress(RuntimeError):  # the loop is closed
                jobs[0].future.get_loop().call_soon_threadsafe(_deliver, jobs, results)
        self.leave()

    def _next(self) -> list[_Job]:
        """Wait for jobs of one kind; return none if the pool is closed."""
        with self._changed:
            while self._open:
                taken: list[_Job] = []
                while self._waiting and len(taken) < self.most_together:
                    if taken and self._waiting[0].work != taken[0].work:
                        break
                    job = self._waiting.popleft()
                    if not job.future.cancelled():
                        taken.append(job)
                if taken:
                    return taken
                self._changed.wait()
        return []


def _deliver(jobs: list[_Job], results: Sequence[Any]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.future.done():
            continue
        if isinstance(result, BaseException):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)
