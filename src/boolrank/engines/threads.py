"""How many threads compiled loops use: scoped, and restored afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import ParameterError

__all__ = ["threads"]


@contextmanager
def threads(n_threads: int | None) -> Iterator[int]:
    """Run compiled loops with so many threads, or with all of them; gives the number in force.

    Python threads that come at once go in one after the other: the loops use all cores anyway, and
    not all of numba's pools can be shared.
    """
    import numba

    from .._compiled.loops import POOL

    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set at import
    if n_threads is not None and (not hasattr(n_threads, "__index__") or n_threads < 1):
        raise ParameterError(
            f"n_threads must be a whole number from 1 on or None, not {n_threads!r}"
        )
    if POOL.lost:  # a forked child, where loops run on one thread
        yield 1
        return
    with POOL.lock:
        before = numba.get_num_threads()
        numba.set_num_threads(min(n_threads or most, most))
        try:
            yield numba.get_num_threads()
        finally:
            numba.set_num_threads(before)
