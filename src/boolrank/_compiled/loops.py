"""Parallel loops that several threads may call at once, and children of a fork too.

numba's pools of threads are made for neither: its own ("workqueue") ends the process where two
threads enter it together, and GNU OpenMP ends a child that was forked after the pool had started.
So one thread at a time enters the pool, such a child runs the same loops on one thread, and a fork
waits until no other thread is in the pool. A child is safe if it was forked while no other thread
computes: numpy's own matrix product is not ours to hold, and may leave a child waiting too.
"""

from __future__ import annotations

import os
from functools import wraps
from threading import RLock
from types import FunctionType

import numba
from numba import njit


class Pool:
    """What this process may do with numba's pool of threads."""

    def __init__(self):
        self.lock = RLock()
        self.lost = False

    def hold(self):
        """Before a fork: no other thread may be inside, or the child would wait for it for ever."""
        self.lock.acquire()

    def release(self):
        """In the parent, after a fork."""
        self.lock.release()

    def forked(self):
        """In a child: nobody holds the lock here, and a pool of OpenMP stayed with the parent."""
        self.lock = RLock()
        try:
            self.lost = numba.threading_layer() == "omp"
        except ValueError:  # the parent had not started one
            self.lost = False


POOL = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=POOL.hold, after_in_parent=POOL.release, after_in_child=POOL.forked)


def parallel(function):
    """Compile a loop over ``prange``; what is called is safe wherever it is called from."""
    together = njit(parallel=True, cache=True)(function)
    # numba caches by name, and would take the one for the other.
    single = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    single.__qualname__ = f"{function.__qualname__}_alone"
    single.__module__ = function.__module__
    alone = njit(cache=True)(single)

    @wraps(function)
    def loop(*args):
        if POOL.lost:
            return alone(*args)
        with POOL.lock:
            return together(*args)

    return loop
