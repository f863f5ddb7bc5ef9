"""Declare compiled loops: serial, without the GIL, cached on disk."""

from __future__ import annotations

import warnings
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path

from ..errors import InputError

try:
    with warnings.catch_warnings():
        # numba warns of values that it cannot parse, with a traceback.
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        from numba import config, njit  # noqa: F401 - ranges take config from here
        from numba.core import caching, event
except (RuntimeWarning, ValueError) as error:
    raise InputError(
        f"numba refuses its settings: {str(error).partition(chr(10))[0]}",
        hint="correct or unset the variables of the environment that begin with NUMBA_",
    ) from None

from .ranges import RANGES, for_ranges, frozen

COMPILING = "compiling loops for this machine, once: about 10 s"


class _AlsoReadOnly:
    """Take a folder that cannot be written to if it has compiled code, as in a container's image.

    numba alone would ignore it, and compile again in every process.
    """

    def ensure_cache_path(self):
        try:
            super().ensure_cache_path()
        except OSError:
            if not any(Path(self.get_cache_path()).glob("*.nbi")):
                raise


class _Files(caching.CompileResultCacheImpl):
    # The folder of NUMBA_CACHE_DIR, and the one beside the source; then the user's.
    _locator_classes = tuple(
        type(each.__name__, (_AlsoReadOnly, each), {}) if at < 2 else each
        for at, each in enumerate(caching.CompileResultCacheImpl._locator_classes)  # noqa: SLF001
    )


class _Cache(caching.FunctionCache):
    _impl_class = _Files

    def save_overload(self, sig, data):
        with suppress(OSError):  # of a folder that can only be read
            super().save_overload(sig, data)


def _probe():
    """Stand for all loops: they share one cache folder."""


def _is_cached():
    try:
        _Cache(_probe)
    except RuntimeError:  # numba found no folder
        warnings.warn(
            "compiled code is not kept, so every process compiles its loops again: no folder is "
            "writable; set NUMBA_CACHE_DIR to one that is",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


_CACHED = _is_cached()


def cache_folder() -> Path | None:
    """Return the folder of compiled code; None if it is not kept."""
    return Path(_Cache(_probe).cache_path) if _CACHED else None


def loop(function=None, /, **options):
    """Compile a function when it is first called.

    Division by 0 gives infinity or NaN as in numpy: a loop raises nothing. Calls of loops in loops
    pass ``np.int64(0)`` rather than 0, for which numba would compile a version of its own.
    """
    if function is None:
        return partial(loop, **options)
    compiled = njit(nogil=True, error_model="numpy", **options)(function)
    if _CACHED:
        compiled._cache = _Cache(function)  # noqa: SLF001 - as numba's enable_caching does
    return compiled


def ranged(measure, ranges=RANGES):
    """Turn ``function(start, stop, out, *args)`` into ``function(out, *args)``, run on threads.

    ``measure(out, *args)`` gives the number of rows, of which threads get ``ranges`` ranges each,
    and the steps that all of them take. Only ``out``, an array or a tuple of them, is written to:
    the others are read-only, so that numba does not compile again for the mapped arrays of a loaded
    model.
    """

    def decorate(function):
        compiled = loop(function)

        @wraps(function)
        def run(out, *args):
            for_ranges(compiled, *measure(out, *args), out, *frozen(args), ranges=ranges)

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
