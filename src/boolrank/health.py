"""Whether boolrank can work on this machine: versions, threads, BLAS, memory, folders.

And compiling ahead: loops are compiled when they are first used, which takes a minute in all, and
kept on disk. ``compile_ahead`` uses each of them once, on a little made-up data.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ._memory import free_memory, size
from ._version import __version__
from .counts.overlaps import count_dense, count_sparse
from .data import DATASETS, data_folder, synthetic
from .data.interactions import Interactions
from .data.protocols import make_split
from .data.rows import Rows
from .evaluation import Rankings, evaluate
from .models import MODELS, Ease, ItemKNN, make_model
from .models.kernel_ranker import KernelRanker
from .models.recommender import Recommender
from .storage.folder import obstacle
from .studies import spectral_curves
from .studies.machine import machine

__all__ = ["Finding", "compile_ahead", "examine"]

# Extras that somebody may miss; the others are for those who work on boolrank.
_EXTRAS = ("cli", "report", "tune", "compare")
_REQUIREMENT = re.compile(r"([\w.-]+)[^;>]*(?:>=([\d.]+))?[^;]*(?:;.*extra == ['\"](\w+)['\"])?")
_LITTLE_MEMORY = 500_000_000
_CACHE_HINT = "set NUMBA_CACHE_DIR to a folder that you may write to"
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")

# One kernel of each form that compiled loops tell apart, see kernels/values.py; and one whose
# values crowd near 1.
_KERNELS = ("linear", "dnf", "disjunctive(8)", "disjunctive(300)", "tanimoto")

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    part, name : what it is
    value : what was found, for people
    state : ``"fine"``, ``"missing"`` (an extra), ``"warning"``, or ``"broken"``: nothing works
    hint : what to do about it
    """

    part: str
    name: str
    value: str
    state: str = "fine"
    hint: str = ""


def examine(*, compile_loops: bool = True, progress: Tell = lambda _: None) -> list[Finding]:
    """Look at everything, and compile ahead if asked to.

    >>> [each.value for each in examine(compile_loops=False) if each.name == "boolrank"] == [
    ...     __version__
    ... ]
    True
    """
    compiled = list(_compiling(progress)) if compile_loops else []
    # Threads come after compiling: which layer numba takes is known once a loop has run.
    parts = (_versions, _machine, _threads, _blas, _folders)
    return [*(each for part in parts for each in part()), *compiled]


def compile_ahead(progress: Tell = lambda _: None) -> None:
    """Use every compiled loop once: in both storages, with a kernel of each form, and in reading.

    ``progress`` is told what comes next.
    """
    for text, work in _uses():
        progress(f"compiling {text}")
        work()


def _uses() -> Iterator[tuple[str, Callable[[], object]]]:
    # So many users that kernels make long tables, and so dense that most items have many.
    data = synthetic(2_000, 150, 40_000)
    yield "reading", _read
    yield "counting", partial(count_sparse, data)
    yield "counting", partial(count_dense, data)
    for storage, kernel in product(("dense", "compressed"), _KERNELS):
        yield f"{kernel}, {storage}", partial(_use, KernelRanker(kernel, storage=storage), data)
    for name, entry in MODELS.items():
        if not entry.extra:
            yield name, partial(_use, make_model(name), data)
    yield "item-knn", partial(ItemKNN(neighbours=5).fit, data)
    yield "ease", partial(Ease().fit, data, count_sparse(data))
    split, one = make_split(data, "hold_out"), Rows(np.arange(2), np.zeros(1, np.int32))
    yield "evaluating", partial(evaluate, KernelRanker("linear"), split)
    yield "evaluating", partial(Rankings.from_lists, [[0]], one)
    yield "spectra", partial(spectral_curves, data, ["disjunctive"], [2])


def _read() -> Interactions:
    return Interactions.from_pairs([1, 2], [2, 1])  # without times, unlike the data of _uses


def _use(model: Recommender, data: Interactions) -> None:
    model.fit(data)
    model.recommend(n=5)
    model.score([0])


def _compiling(progress: Tell) -> Iterator[Finding]:
    """Compile ahead, and say how it went; what goes wrong is a finding, whatever it is."""
    start, before = time.perf_counter(), _cached()
    try:
        compile_ahead(progress)
    except Exception as error:  # noqa: BLE001 - to find out what is broken is the purpose
        wrong = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        yield Finding("compiled", "loops", wrong, "broken", f"{_CACHE_HINT}, and try again")
        return
    seconds, new = time.perf_counter() - start, len(_cached() - before)
    value = f"{new} compiled ahead" if new else "all were there already"
    yield Finding("compiled", "loops", f"{value}, {seconds:.1f} s")


def _cache() -> Path | None:
    """The folder in which numba keeps compiled code; None where it does not say."""
    try:
        from ._compiled.linear import add_rows

        stats: Any = add_rows.stats
        return Path(stats.cache_path)
    except (ImportError, AttributeError, RuntimeError):  # RuntimeError: no folder can be written
        return None


def _cached() -> set[Path]:
    folder = _cache()
    return set() if folder is None else set(folder.glob("*.nbc"))


def _versions() -> Iterator[Finding]:
    yield Finding("versions", "boolrank", __version__)
    yield Finding("versions", "Python", machine()["versions"]["python"])
    for name, least, extra in _requirements():
        yield _package(name, least, extra)


def _requirements() -> list[tuple[str, str, str]]:
    """What the package needs, as its metadata have it: name, least version, and extra or ""."""
    from importlib import metadata

    try:
        texts = metadata.requires("boolrank") or []
    except metadata.PackageNotFoundError:  # run from a folder of sources
        texts = []
    matches = filter(None, map(_REQUIREMENT.match, texts))
    found = [(m[1], m[2] or "0", m[3] or "") for m in matches]
    return [each for extra in ("", *_EXTRAS) for each in found if each[2] == extra]


def _package(name: str, least: str, extra: str) -> Finding:
    from importlib import metadata

    part = f"extra {extra}" if extra else "versions"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        state = "missing" if extra else "broken"
        wanted = f"boolrank[{extra}]" if extra else name
        return Finding(part, name, "not installed", state, f"pip install '{wanted}'")
    if _numbers(version) >= _numbers(least):
        return Finding(part, name, version)
    state, hint = "warning" if extra else "broken", f"pip install --upgrade '{name}>={least}'"
    return Finding(part, name, f"{version}, and {least} is needed", state, hint)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def _machine() -> Iterator[Finding]:
    for name, value in machine()["machine"].items():
        yield Finding("machine", name, f"{value}")
    free = free_memory()
    text = "the system does not say" if free >= 1 << 60 else size(free)
    little = ("warning", "close other programs") if free < _LITTLE_MEMORY else ()
    yield Finding("machine", "free memory", text, *little)


def _threads() -> Iterator[Finding]:
    try:
        numba = import_module("numba")
    except ImportError as error:
        hint = "pip install --upgrade --force-reinstall numba"
        yield Finding("threads", "number", f"{error}".partition("\n")[0], "broken", hint)
        return
    yield Finding("threads", "number", f"{numba.config.NUMBA_NUM_THREADS}")
    try:
        layer = numba.threading_layer()
    except ValueError:
        layer = "not started"
    yield Finding("threads", "layer", layer)
    if numba.config.DISABLE_JIT:
        hint = "unset NUMBA_DISABLE_JIT"
        yield Finding("threads", "compiler", "off: all is slow", "warning", hint)


def _blas() -> Iterator[Finding]:
    config: Any = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    yield Finding("BLAS", "library", " ".join(blas.get(k, "") for k in ("name", "version")).strip())
    yield Finding("BLAS", "threads", _blas_threads())


def _blas_threads() -> str:
    try:
        threadpoolctl = import_module("threadpoolctl")
    except ImportError:
        set_to = [f"{name}={os.environ[name]}" for name in _BLAS_THREADS if name in os.environ]
        return ", ".join(set_to) or "as many as it likes"
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return ", ".join(sorted({f"{pool['num_threads']}" for pool in pools}))


def _folders() -> Iterator[Finding]:
    cache = _cache()
    if cache is None:
        yield Finding("folders", "compiled code", "none", "warning", _CACHE_HINT)
    else:
        taken = size(sum(path.stat().st_size for path in _cached()))
        value = f"{cache}, {len(_cached())} loops, {taken}"
        state, hint = ("warning", _CACHE_HINT) if obstacle(cache) else ("fine", "")
        yield Finding("folders", "compiled code", value, state, hint)
    here = [name for name, each in DATASETS.items() if each.is_here()]
    hint = "" if here else "`boolrank datasets fetch NAME` puts some there"
    value = f"{data_folder()}: {', '.join(here) or 'no data sets'}"
    yield Finding("folders", "data", value, hint=hint)
