"""Time and memory of contestants, each in a process of its own, in turns, beside the first of them.

What is compiled or loaded at first use is done before the clock starts, on small sets, and told
apart: how much longer the first time takes there than the second. Memory is the peak of the process
while it works, over what it held before, with the data and the libraries loaded. Whoever is quick
runs several times, and the median counts.

``python benchmarks/measuring.py SET KERNEL CONTESTANT`` is one run; what it took is JSON.
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
from typing import Any

from contestants import CONTESTANTS, TOP

from boolrank import load_dataset
from boolrank.errors import MatrixTooLargeError

OUT = Path("bench")
THREADS = 2
# What takes so many seconds is run once.
LONG = 20.0
# Nobody gets more seconds than that.
LIMIT = 900.0
BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LOOPS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")

Found = dict[str, Any]


@dataclass(frozen=True)
class Set:
    """What is raced on: its title in tables, its name to load it by, and the disjunctive kernel."""

    title: str
    name: str
    kernel: str


SETS = {
    "filmtrust": Set("FilmTrust", "filmtrust", "disjunctive(8)"),
    "ciaodvd": Set("CiaoDVD", "ciaodvd", "disjunctive(116)"),
    "movielens": Set("MovieLens-1M", "movielens-1m", "disjunctive(2)"),
    "small": Set("synthetic, small", "synthetic:5000x2500x75000", "disjunctive(20)"),
    "synthetic": Set("synthetic, large", "synthetic:200000x100000x3000000", "disjunctive(20)"),
}


class NotRunError(Exception):
    """A run that came to no end, and why."""


def in_own_process(script: str, *arguments: str, blas: int = THREADS) -> Found:
    """What a script says of one run, in JSON on its last line."""
    threads = dict.fromkeys(BLAS, str(blas)) | dict.fromkeys(LOOPS, str(THREADS))
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
        # Where the error came from is indented; what it is stands below.
        *_, said = re.split(r"^ .*\n", error.stderr, flags=re.MULTILINE)
        raise NotRunError(f"it ended with {error.returncode}: {' '.join(said.split())}") from error
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run(name: str, kernel: str, contestant: str) -> Found:
    """Warm up, run once, and tell what it took."""
    data, who = load_dataset(name), CONTESTANTS[contestant]
    reason = who.unable(data.shape[1], data.size)
    if reason:
        return {"left out": reason}
    first, again = seconds_of(who.warm_up, kernel), seconds_of(who.warm_up, kernel)
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


def seconds_of(call: Callable[..., object], *arguments: object) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def memory(what: str = "VmHWM") -> float:
    """Most memory that this process has held so far, or with VmRSS what it holds now, in MB."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(row for row in status.read_text().splitlines() if row.startswith(what))
        return int(line.split()[1]) / 1e3
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def forget_peak() -> None:
    """Count the peak from here on, where the system can; making the data may have had a higher."""
    control = Path("/proc/self/clear_refs")
    if control.is_file():
        control.write_text("5")


def race(title: str, contestants: Iterable[str], rounds: int) -> Found:
    """Run all contestants on a set in turns, and print them beside the first."""
    chosen, who = SETS[title], list(contestants)
    data = load_dataset(chosen.name)
    what = f"fit and {TOP} best items of everybody, median of {rounds} where quick"
    print(f"\n{chosen.name}: {data!r}, {chosen.kernel}, {what}", flush=True)
    runs: dict[str, list[Found]] = {each: [] for each in who}
    for _ in range(rounds):
        for each in who:
            if all(taken.get("seconds", LONG) < LONG for taken in runs[each]):
                runs[each].append(_run_apart(chosen, each))
    size = [*data.shape, data.size]
    found = {each: middle(taken) for each, taken in runs.items()}
    _print(found)
    return {"set": chosen.name, "size": size, "kernel": chosen.kernel, "contestants": found}


def _run_apart(chosen: Set, contestant: str) -> Found:
    blas = CONTESTANTS[contestant].blas_threads
    try:
        return in_own_process(__file__, chosen.name, chosen.kernel, contestant, blas=blas)
    except NotRunError as error:
        return {"left out": str(error)}


def middle(runs: list[Found]) -> Found:
    """The run of median time, with the seconds of all; or the first that came to no end."""
    failed = [each for each in runs if "left out" in each]
    if failed:
        return failed[0]
    ordered = sorted(runs, key=lambda each: each["seconds"])
    return ordered[len(runs) // 2] | {"runs": [each["seconds"] for each in runs]}


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
