"""Check an installation: versions, threads, BLAS, memory, folders; and compile ahead.

Loops are compiled when they are first used, and kept on disk.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module, metadata
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
from .models import MODELS, Ease, ItemKNN, KernelRanker, Recommender, make_model
from .storage.folder import obstacle
from .studies import spectral_curves
from .studies.machine import machine

__all__ = ["Finding", "compile_ahead", "examine"]

# Extras for users; the others are for development.
_EXTRAS = ("cli", "report", "tune", "compare")
_REQUIREMENT = re.compile(r"([\w.-]+)[^;>]*(?:>=([\d.]+))?[^;]*(?:;.*extra == ['\"](\w+)['\"])?")
_LITTLE_MEMORY = 500_000_000
_CACHE_HINT = "set NUMBA_CACHE_DIR to a writable folder"
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
# One kernel of each form of table, one of very small values, and one whose values crowd near 1.
_KERNELS = ("linear", "dnf", "disjunctive(8)", "disjunctive(300)", "tanimoto")

Tell = Callable[[str], None]
Uses = Iterator[tuple[str, Callable[[], object]]]


@dataclass(frozen=True)
class Finding:
    """One thing that was examined.

    Attributes
    ----------
    part, name : what it is
    value : what was found
    state : ``"fine"``, ``"missing"`` (an extra), ``"warning"``, or ``"broken"``: nothing works
    hint : what to do about it
    """

    part: str
    name: str
    value: str
    state: str = "fine"
    hint: str = ""


def examine(
    *, compile_loops: bool = True, everything: bool = False, progress: Tell = lambda _: None
) -> list[Finding]:
    """Examine the installation; compile what fit and recommend need, or everything.

    >>> [each.value for each in examine(compile_loops=False) if each.name == "boolrank"] == [
    ...     __version__
    ... ]
    True
    """
    compiled = list(_compiling(everything, progress)) if compile_loops else []
    parts = (_versions, _machine, _threads, _blas, _folders)
    return [*(each for part in parts for each in part()), *compiled]


def compile_ahead(everything: bool = False, progress: Tell = lambda _: None) -> None:
    """Use compiled loops once on a little data: those of fit and recommend, or all of them."""
    # With this many users kernels build long tables.
    data = synthetic(2_000, 150, 40_000)
    for text, use in (*_uses(data), *(_other_uses(data) if everything else ())):
        progress(f"compiling {text}")
        use()


def _uses(data: Interactions) -> Uses:
    yield "reading", partial(Interactions.from_pairs, [1, 2], [2, 1])
    for storage in ("dense", "compressed"):
        yield f"{storage} models", partial(_use, KernelRanker(storage=storage), data)


def _other_uses(data: Interactions) -> Uses:
    yield "counting", partial(count_sparse, data)
    yield "counting", partial(count_dense, data)
    for storage, kernel in product(("dense", "compressed"), _KERNELS):
        yield f"{kernel}, {storage}", partial(_use, KernelRanker(kernel, storage=storage), data)
    for name, entry in MODELS.items():
        if not entry.extra:
            yield name, partial(_use, make_model(name), data)
    yield "item-knn", partial(ItemKNN(neighbours=5).fit, data)
    yield "ease", partial(Ease().fit, data, count_sparse(data))
    yield "evaluating", partial(evaluate, KernelRanker("linear"), make_split(data, "hold_out"))
    yield "evaluating", partial(Rankings.from_lists, [[0]], Rows.of_lists([[0]]))
    yield "spectra", partial(spectral_curves, data, ["disjunctive"], [2])


def _use(model: Recommender, data: Interactions) -> None:
    model.fit(data)
    model.recommend(n=5)
    model.score([0])


def _compiling(everything: bool, progress: Tell) -> Iterator[Finding]:
    start, before = time.perf_counter(), _cached()
    try:
        compile_ahead(everything, progress)
    except Exception as error:  # noqa: BLE001 - any error here is a finding
        wrong = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        yield Finding("compiled", "loops", wrong, "broken", f"{_CACHE_HINT}, and try again")
        return
    seconds, new = time.perf_counter() - start, len(_cached() - before)
    value = f"{new} compiled ahead" if new else "all were there already"
    yield Finding("compiled", "loops", f"{value}, {seconds:.1f} s")


def _cache() -> Path | None:
    """Return the folder of compiled code; None if there is none."""
    try:
        from ._compiled.linear import add_rows

        stats: Any = add_rows.stats
        return Path(stats.cache_path)
    except (ImportError, AttributeError, TypeError):  # no numba, no compiler, no folder
        return None


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
    needed = [(m[1], m[2] or "0", m[3] or "") for m in map(_REQUIREMENT.match, texts) if m]
    for extra in ("", *_EXTRAS):
        yield from (_package(*each) for each in needed if each[2] == extra)


def _package(name: str, least: str, extra: str) -> Finding:
    part = f"extra {extra}" if extra else "versions"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        wanted = f"boolrank[{extra}]" if extra else name
        state = "missing" if extra else "broken"
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
    text = "unknown" if free >= 1 << 60 else size(free)
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
    if numba.config.DISABLE_JIT:
        hint = "unset NUMBA_DISABLE_JIT"
        yield Finding("threads", "compiler", "off: everything is slow", "warning", hint)


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
        return ", ".join(set_to) or "no limit"
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
    hint = "" if here else "download some with `boolrank datasets fetch NAME`"
    yield Finding(
        "folders", "data", f"{data_folder()}: {', '.join(here) or 'no data sets'}", hint=hint
    )
