"""Time and memory of programs, each in its own process, in turns.

Loading and compiling happen on small sets before the clock starts, and memory is touched once. The
first run of a program has an empty compile cache: the difference between its first and second
warm-up is its first use. Memory is the peak of the process while it works, above what it held with
data and libraries loaded. Quick programs run several times, and the median counts.

``python benchmarks/measuring.py SET KERNEL CONTESTANT`` is one run; it prints JSON.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from contestants import CONTESTANTS, TOP

from boolrank import load_dataset
from boolrank._memory import free_memory
from boolrank.errors import MatrixTooLargeError

OUT = Path("bench")
THREADS = 2
# A program that takes this many seconds is run once.
LONG = 20.0
# Bytes touched before the clock starts: at most, and for an interaction.
TOUCHED, FOR_EACH = 6 << 30, 8192
# Time limit in seconds.
LIMIT = 900.0
BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LOOPS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")

Found = dict[str, Any]


@dataclass(frozen=True)
class Set:
    """A data set: title in tables, name to load it by, and kernel of the disjunctive ranker."""

    title: str
    name: str
    kernel: str


SETS = {
    "filmtrust": Set("FilmTrust", "filmtrust", "disjunctive(8)"),
    "ciaodvd": Set("CiaoDVD", "ciaodvd", "disjunctive(116)"),
    "movielens": Set("MovieLens-1M", "movielens-1m", "disjunctive(2)"),
    "gowalla": Set("Gowalla", "gowalla", "disjunctive(8)"),
    "small": Set("synthetic, small", "synthetic:5000x2500x75000", "disjunctive(20)"),
    "synthetic": Set("synthetic, large", "synthetic:200000x100000x3000000", "disjunctive(20)"),
}


class NotRunError(Exception):
    """A run failed; the text says why."""


def in_own_process(
    script: str, *arguments: str, blas: int = THREADS, cache: str | None = None
) -> Found:
    """Return what a script prints about one run, as JSON on its last line."""
    threads = dict.fromkeys(BLAS, str(blas)) | dict.fromkeys(LOOPS, str(THREADS))
    if cache is not None:
        threads["NUMBA_CACHE_DIR"] = cache
    command = [sys.executable, script, *arguments]
    try:
        done = subprocess.run(
            command,
            check=True,
            capture_output=True,
            env=os.environ | threads,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        raise NotRunError(f"it took more than {LIMIT / 60:.0f} minutes") from error
    except subprocess.CalledProcessError as error:
        # Indented lines are the traceback; the message follows.
        *_, said = re.split(r"^ .*\n", error.stderr, flags=re.MULTILINE)
        raise NotRunError(f"it ended with {error.returncode}: {' '.join(said.split())}") from error
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run(name: str, kernel: str, contestant: str) -> Found:
    """Warm up, run once, and return the figures."""
    data, who = load_dataset(name), CONTESTANTS[contestant]
    reason = who.unable(data.shape[1], data.size)
    if reason:
        return {"left out": reason}
    first, again = seconds_of(who.warm_up, kernel), seconds_of(who.warm_up, kernel)
    touch_memory(FOR_EACH * data.size)
    before = memory("VmRSS")
    forget_peak()
    try:
        start = time.perf_counter()
        rank = who.fit(data, kernel)
        fitted = time.perf_counter()
        lists = rank()
        done = time.perf_counter()
    except MatrixTooLargeError as error:
        return {"left out": str(error)}
    most = memory()
    if lists.shape != (data.shape[0], TOP):
        raise ValueError(f"{contestant} gave lists of shape {lists.shape}")
    return {
        "seconds": done - start,
        "fit": fitted - start,
        "rank": done - fitted,
        "first use": first - again,
        "peak": most,
        "memory": most - before,
    }


def touch_memory(size: int) -> None:
    """Touch as many bytes as the run may use, and free them.

    The host of a virtual machine takes back free memory, and the first touch of a new page then
    takes 9 µs instead of 0.4: a cost of the host, which depends on what ran before.
    """
    np.empty(min(size, TOUCHED, free_memory() // 2), np.uint8)[:: 1 << 12] = 1


def seconds_of(call: Callable[..., object], *arguments: object) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def memory(what: str = "VmHWM") -> float:
    """Return the peak memory of this process in MB, or with VmRSS its current memory."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(row for row in status.read_text().splitlines() if row.startswith(what))
        return int(line.split()[1]) / 1e3
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def forget_peak() -> None:
    """Reset the peak, where the system can: making the data may have had a higher one."""
    control = Path("/proc/self/clear_refs")
    if control.is_file():
        control.write_text("5")


def race(title: str, contestants: Iterable[str], rounds: int) -> Found:
    """Run all programs on a set in turns, and print their figures."""
    chosen, who = SETS[title], list(contestants)
    data = load_dataset(chosen.name)
    what = f"fit and {TOP} best items of everybody, median of {rounds} where quick"
    print(f"\n{chosen.name}: {data!r}, {chosen.kernel}, {what}", flush=True)
    runs: dict[str, list[Found]] = {each: [] for each in who}
    for _ in range(rounds):
        for each in who:
            if all(taken.get("seconds", LONG) < LONG for taken in runs[each]):
                runs[each].append(_run_apart(chosen, each, first=not runs[each]))
    size = [*data.shape, data.size]
    found = {each: middle(taken) for each, taken in runs.items()}
    _print(found)
    return {"set": chosen.name, "size": size, "kernel": chosen.kernel, "contestants": found}


def _run_apart(chosen: Set, contestant: str, *, first: bool) -> Found:
    arguments = __file__, chosen.name, chosen.kernel, contestant
    blas = CONTESTANTS[contestant].blas_threads
    try:
        if not first:
            return in_own_process(*arguments, blas=blas)
        with TemporaryDirectory() as empty:
            return in_own_process(*arguments, blas=blas, cache=empty)
    except NotRunError as error:
        return {"left out": str(error)}


def middle(runs: list[Found]) -> Found:
    """Return the run of median time with the first use of the first one; or the first failure."""
    failed = [each for each in runs if "left out" in each]
    if failed:
        return failed[0]
    ordered = sorted(runs, key=lambda each: each["seconds"])
    seconds = [each["seconds"] for each in runs]
    return ordered[len(runs) // 2] | {"runs": seconds, "first use": runs[0]["first use"]}


def _print(found: dict[str, Found]) -> None:
    first = next(iter(found.values())).get("seconds", float("nan"))
    columns = ("seconds", "ratio", "fit", "rank", "peak MB", "over base", "first use", "runs")
    print(f"{'':<42}" + "".join(f"{column:>10}" for column in columns))
    for each, row in found.items():
        title = f"{CONTESTANTS[each].title:<42}"
        if "left out" in row:
            print(f"{title}  left out: {row['left out']}", flush=True)
            continue
        print(
            f"{title}{row['seconds']:>10.2f}{row['seconds'] / first:>10.2f}"
            f"{row['fit']:>10.2f}{row['rank']:>10.2f}{row['peak']:>10,.0f}{row['memory']:>10,.0f}"
            f"{row['first use']:>10.2f}{len(row['runs']):>10}",
            flush=True,
        )


if __name__ == "__main__":
    print(json.dumps(run(*sys.argv[1:])))
