"""Declare compiled loops: serial, without the GIL, cached on disk where a folder is writable."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from functools import partial, wraps

from numba import njit
from numba.core import event

from .ranges import for_ranges, frozen

COMPILING = "compiling loops for this machine, once: about 10 s"


def _probe():
    """Stand for all loops: they share one cache folder."""


def _is_cached():
    try:
        njit(cache=True)(_probe)
    except RuntimeError:  # numba found no folder that it may write to
        warnings.warn(
            "compiled code is not kept, so every process compiles its loops again: no folder is "
            "writable; set NUMBA_CACHE_DIR to one that is",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


_CACHED = _is_cached()


def loop(function=None, /, **options):
    """Compile a function when it is first called.

    Division by 0 gives infinity or NaN as in numpy: a loop raises nothing. Calls of loops in loops
    pass ``np.int64(0)`` rather than 0, for which numba would compile a version of its own.
    """
    if function is None:
        return partial(loop, **options)
    return njit(nogil=True, cache=_CACHED, error_model="numpy", **options)(function)


def ranged(measure):
    """Turn ``function(start, stop, out, *args)`` into ``function(out, *args)``, run on threads.

    ``measure(out, *args)`` gives the number of rows, of which threads get ranges, and the steps
    that all of them take. Only ``out``, an array or a tuple of them, is written to: the others are
    read-only, so that numba does not compile again for the mapped arrays of a loaded model.
    """

    def decorate(function):
        compiled = loop(function)

        @wraps(function)
        def run(out, *args):
            for_ranges(compiled, *measure(out, *args), out, *frozen(args))

        return run

    return decorate


class _Notice(event.Listener):
    def __init__(self, tell):
        self._tell = tell

    def on_start(self, event):
        tell, module = self._tell, event.data["dispatcher"].py_func.__module__
        if tell is not None and module.startswith(f"{__package__}."):
            self._tell = None
            tell(COMPILING)

    def on_end(self, event):
        """Say nothing: the next message follows soon."""


@contextmanager
def on_compile(tell):
    """Call ``tell`` with a text, once, when a loop has to be compiled inside the block."""
    with event.install_listener("numba:compile", _Notice(tell)):
        yield
