"""Threads with a bounded queue. Jobs of one kind that wait together are done in one call."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

from .problems import LATER, Refusal

Work = Callable[[list[Any]], Sequence[Any]]


class _Job(NamedTuple):
    work: Work
    argument: Any
    future: asyncio.Future[Any]


class Pool:
    """Threads that run jobs for an event loop, at most ``most_together`` in one call."""

    most_waiting = 256  # jobs in the queue; more are refused

    def __init__(self, n_threads: int, most_together: int = 16) -> None:
        self.most_together = most_together
        self._threads = ThreadPoolExecutor(n_threads)
        self._waiting = deque[_Job]()
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Start no more jobs."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Work, argument: Any) -> Any:
        """Return the result for an argument; raise if the work does, or if the queue is full.

        ``work`` gets a list of arguments, and returns as many results; one that is an exception is
        raised.
        """
        future = asyncio.get_running_loop().create_future()
        with self._lock:
            if len(self._waiting) >= self.most_waiting:
                raise Refusal(503, "the service is overloaded", LATER)
            self._waiting.append(_Job(work, argument, future))
        self._threads.submit(self._work)
        return await future

    def _work(self) -> None:
        """Do the jobs of one kind at the head of the queue; another call may have taken them."""
        with self._lock:
            jobs = list[_Job]()
            while self._waiting and len(jobs) < self.most_together:
                if jobs and self._waiting[0].work != jobs[0].work:
                    break
                job = self._waiting.popleft()
                if not job.future.cancelled():
                    jobs.append(job)
        if not jobs:
            return
        try:
            results = jobs[0].work([job.argument for job in jobs])
        except BaseException as error:  # noqa: BLE001 - raised in the waiting requests
            results = [error] * len(jobs)
        with suppress(RuntimeError):  # the loop is closed
            jobs[0].future.get_loop().call_soon_threadsafe(_deliver, jobs, results)


def _deliver(jobs: list[_Job], results: Sequence[Any]) -> None:
    for job, result in zip(jobs, results, strict=True):
        if job.future.done():
            continue
        if isinstance(result, BaseException):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)
