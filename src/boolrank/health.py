"""Check an installation: versions, threads, BLAS, memory, folders; and compile ahead."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._compiled.ranges import most_threads
from ._memory import free_memory, size
from ._version import __version__
from .data import DATASETS, data_folder
from .storage.output import obstacle
from .studies.run import machine
from .studies.warm_up import Tell, compile_ahead

# Extras for users; the others are for development.
_EXTRAS = ("cli", "report", "tune", "compare")
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*extra == ['\"](\w+)['\"])?")
_CACHE_HINT = "set NUMBA_CACHE_DIR to a writable folder"
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")


class Finding(NamedTuple):
    """One thing that was examined, what was found, and what to do about it.

    The state is ``"fine"``, ``"missing"`` (an extra), ``"warning"``, or ``"broken"``.
    """

    part: str
    name: str
    value: str
    state: str = "fine"
    hint: str = ""


def examine(
    *, compile_loops: bool = True, everything: bool = False, progress: Tell = lambda _: None
) -> list[Finding]:
    """Examine the installation, and compile what fit and recommend need, or everything.

    >>> examine(compile_loops=False)[0].name
    'boolrank'
    """
    compiled = [_compile(progress, everything)] if compile_loops else []
    return [*_versions(), *_machine(), *_folders(), *compiled]


def _compile(progress: Tell, everything: bool) -> Finding:
    start, before, told = time.perf_counter(), _cached(), list[str]()
    try:
        from ._compiled.compiler import on_compile

        with on_compile(told.append):
            compile_ahead(progress, everything)
    except Exception as error:  # noqa: BLE001 - any error here is a finding
        wrong = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        return Finding("compiled", "loops", wrong, "broken", f"{_CACHE_HINT}, and try again")
    seconds, new = time.perf_counter() - start, len(_cached() - before)
    if told and not new:
        text = f"compiled, and not kept, {seconds:.1f} s"
        return Finding("compiled", "loops", text, "warning", _CACHE_HINT)
    value = f"{new} compiled ahead" if new else "all were there already"
    return Finding("compiled", "loops", f"{value}, {seconds:.1f} s")


def _cache() -> Path | None:
    """Return the folder of compiled code; None if there is none."""
    try:
        from ._compiled.compiler import cache_folder
    except ImportError:  # no numba
        return None
    return cache_folder()


def _cached() -> set[Path]:
    folder = _cache()
    return set() if folder is None else set(folder.glob("*.nbc"))


def _versions() -> Iterator[Finding]:
    yield Finding("versions", "boolrank", __version__)
    yield Finding("versions", "Python", machine()["versions"]["python"])
    try:
        texts = metadata.requires("boolrank") or []
    except metadata.PackageNotFoundError:  # run from a folder of sources
        texts = []
    needed = [(m[2] or "", m[1]) for m in map(_REQUIREMENT.match, texts) if m]
    for extra in ("", *_EXTRAS):
        part = f"extra {extra}" if extra else "versions"
        for name in (name for of, name in needed if of == extra):
            try:
                yield Finding(part, name, metadata.version(name))
            except metadata.PackageNotFoundError:
                hint = f"pip install '{f'boolrank[{extra}]' if extra else name}'"
                state = "missing" if extra else "broken"
                yield Finding(part, name, "not installed", state, hint)


def _machine() -> Iterator[Finding]:
    for name, value in machine()["machine"].items():
        yield Finding("machine", name, f"{value}")
    free = free_memory()
    yield Finding("machine", "free memory", "unknown" if free >= 1 << 60 else size(free))
    yield Finding("threads", "number", f"{most_threads()}")
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    yield Finding("BLAS", "library", " ".join(blas.get(k, "") for k in ("name", "version")).strip())
    limits = [f"{name}={os.environ[name]}" for name in _BLAS_THREADS if name in os.environ]
    yield Finding("BLAS", "threads", ", ".join(limits) or "no limit")


def _folders() -> Iterator[Finding]:
    cache, loops = _cache(), _cached()
    taken = size(sum(path.stat().st_size for path in loops))
    value = "none" if cache is None else f"{cache}, {len(loops)} loops, {taken}"
    read_only = cache is not None and bool(obstacle(cache))
    value += ", read-only" if read_only else ""
    wrong = ("warning", _CACHE_HINT) if cache is None or (read_only and not loops) else ()
    yield Finding("folders", "compiled code", value, *wrong)
    here = [name for name, each in DATASETS.items() if each.is_here()]
    hint = "" if here else "download some with `boolrank datasets fetch NAME`"
    value = f"{data_folder()}: {', '.join(here) or 'no data sets'}"
    yield Finding("folders", "data", value, hint=hint)
