"""The number of threads of compiled loops and of BLAS, scoped to a block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

from threadpoolctl import threadpool_limits

from .._compiled.ranges import N_THREADS, for_ranges, most_threads
from ..errors import ParameterError

Part = TypeVar("Part")
Result = TypeVar("Result")

# The limit of BLAS holds for the process, so blocks that set it take turns.
_BLAS = Lock()
if hasattr(os, "register_at_fork"):  # a child must not inherit a lock that nobody releases
    os.register_at_fork(
        before=_BLAS.acquire, after_in_parent=_BLAS.release, after_in_child=_BLAS.release
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run BLAS on one thread: with several, its last digits depend on their number."""
    with _BLAS, threadpool_limits(limits=1, user_api="blas"):
        yield


@contextmanager
def threads(n_threads: int | None) -> Iterator[int]:
    """Run compiled loops on at most this many threads; yield the number in force.

    None keeps the number of an outer block, all cores if there is none. Other Python threads have
    numbers of their own.
    """
    if n_threads is not None and (not hasattr(n_threads, "__index__") or n_threads < 1):
        raise ParameterError(
            f"n_threads must be a whole number from 1 on or None, not {n_threads!r}"
        )
    count = min(n_threads or N_THREADS.get() or most_threads(), most_threads())
    token = N_THREADS.set(count)
    try:
        yield count
    finally:
        N_THREADS.reset(token)


def on_threads(
    function: Callable[[Part], Result], parts: Sequence[Part], work: float
) -> list[Result]:
    """Return the function's results for all parts, in order, computed on the threads in force.

    ``work`` is about the nanoseconds that all parts take.
    """
    results: dict[int, Result] = {}

    def compute(start: int, stop: int) -> None:
        for k in range(start, stop):
            results[k] = function(parts[k])

    for_ranges(compute, len(parts), work)
    return [results[k] for k in range(len(parts))]
