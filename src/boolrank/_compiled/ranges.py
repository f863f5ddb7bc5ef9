"""Hand out ranges of a serial loop to Python threads.

A loop is called as ``loop(start, stop, *args)``, allocates its scratch memory, and writes only what
belongs to its range. No sum crosses ranges, so the number of threads changes no bit. Threads live
as long as one call: there is no pool to share, to lock or to lose in a forked child.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from itertools import pairwise

import numpy as np

# The number of threads in force; None for all.
N_THREADS: ContextVar[int | None] = ContextVar("N_THREADS", default=None)
# Steps of about 1 ns that are worth a thread: starting one takes 0.05 ms.
_LEAST_WORK = 1 << 18
# Ranges per thread: enough to even out ranges that take longer than others.
RANGES = 8


def most_threads():
    """Return the number of cores that this process may use, or NUMBA_NUM_THREADS if set."""
    from .compiler import config

    return config.NUMBA_NUM_THREADS


def for_ranges(loop, size, work, *args, ranges=RANGES):
    """Call the loop over ranges of 0..size; ``work`` estimates the steps of all of them.

    Each thread gets about as many as ``ranges``.
    """
    n_threads = min(size, int(work) // _LEAST_WORK, N_THREADS.get() or most_threads())
    if n_threads < 2:
        loop(0, size, *args)
        return
    n_ranges = min(size, n_threads * ranges, int(work) // _LEAST_WORK)
    bounds = [size * k // n_ranges for k in range(n_ranges + 1)]
    pool = ThreadPoolExecutor(n_threads)
    try:
        for done in [pool.submit(loop, *pair, *args) for pair in pairwise(bounds)]:
            done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def put(target, part):
    """Copy on all threads: touching new memory is slow."""
    for_ranges(_put, len(part), part.size, target, part)


def _put(start, stop, target, part):
    target[start:stop] = part[start:stop]


def frozen(value):
    """Return a read-only view of an array, or of those of a tuple; other values as they are."""
    if type(value) is tuple:
        return tuple(map(frozen, value))
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    return value
