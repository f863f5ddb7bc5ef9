"""How fast the ranker is beside others, and how much memory it takes.

Fit and the ten best unseen items of every user. Each contestant runs in a process of its own, so
that its peak memory is its own, with two threads, in turns, and the best of the rounds counts. What
is compiled or loaded at first use is done before the clock starts, on a small set; how long that
takes is printed apart.

``python benchmarks/ranker.py`` measures everything, ``python benchmarks/ranker.py ciaodvd qp`` some
of it. Real sets are looked for in BOOLRANK_DATA; those that are not there are left out.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from contestants import CONTESTANTS, KERNELS, REG, qp_by_cvxopt

from boolrank import Interactions, KernelRanker, load_dataset, synthetic
from boolrank.errors import DatasetNotFoundError

OUT = Path("bench")
THREADS = "2"
# What takes so many seconds is run once.
LONG = 60.0
# Sets that are counted in each of the three ways there are.
WARM_UP = ((150, 40, 1_000), (400, 60, 1_200), (900, 900, 1_800))
ALS, EASE = "implicit ALS, 64 factors, 15 iterations", "EASE in numpy"
DENSE = "dense CF-KOMD, numpy and cvxopt"

# Set, rounds, who runs: the first one is what the others are compared with.
RACES: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "movielens": ("movielens-1m", 5, ("disjunctive(2)", "linear", ALS, EASE)),
    "ciaodvd": ("ciaodvd", 3, ("disjunctive(116)", "linear", DENSE)),
    "synthetic": ("synthetic:200000x100000x3000000", 1, ("disjunctive(20)", "linear", ALS)),
}
# Users, items, interactions of sets that grow alike in all three.
GROWTH = [(step * 5_000, step * 2_500, step * 75_000) for step in (1, 2, 4, 8, 16)]
# What should grow as what.
AGAINST = {"fit": "pairs", "rank": "entries", "MB": "pairs"}


def in_own_process(part: str, name: str, contestant: str) -> dict[str, float]:
    """Seconds and peak memory of one run, measured in a process of its own."""
    limits = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    threads = dict.fromkeys(limits, THREADS)
    if contestant == ALS:  # it warns, rightly, that BLAS threads of their own would slow it down
        threads["OPENBLAS_NUM_THREADS"] = threads["MKL_NUM_THREADS"] = "1"
    command = [sys.executable, __file__, part, name, contestant]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, env=os.environ | threads, text=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run(name: str, contestant: str) -> dict[str, float]:
    """Warm up, run once, and tell what it took."""
    data = load(name)
    start = time.perf_counter()
    warm_up(contestant)
    warm = time.perf_counter() - start
    _forget_peak()
    start = time.perf_counter()
    CONTESTANTS[contestant](data)
    taken = time.perf_counter() - start
    return {"seconds": taken, "warm": warm, "peak": _memory()}


def warm_up(contestant: str) -> None:
    """Compile and load all that it will use."""
    for size in WARM_UP:
        small = synthetic(*size, seed=0)
        CONTESTANTS[contestant](small)
        if contestant in KERNELS:
            for storage in ("dense", "compressed"):
                KernelRanker(contestant, storage=storage).fit(small).recommend()


def load(name: str) -> Interactions:
    """A set by its name."""
    return load_dataset(name)


def _memory(what: str = "VmHWM") -> float:
    """Most memory that this process has held so far, or with VmRSS what it holds now, in MB."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(row for row in status.read_text().splitlines() if row.startswith(what))
        return int(line.split()[1]) / 1e3
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)


def _forget_peak() -> None:
    """Count the peak from here on, where the system can; making the data may have had a higher."""
    control = Path("/proc/self/clear_refs")
    if control.is_file():
        control.write_text("5")


def race(title: str) -> dict[str, Any]:
    """Run all contestants of a set in turns, and print them beside the first."""
    name, rounds, contestants = RACES[title]
    print(f"\n{name}: {load(name)!r}, fit and 10 best items of everybody, best of {rounds}")
    found: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        for contestant in contestants:
            if contestant in found and found[contestant]["seconds"] > LONG:
                continue
            now = in_own_process("--run", name, contestant)
            if contestant not in found or now["seconds"] < found[contestant]["seconds"]:
                found[contestant] = now
    base = found[contestants[0]]["seconds"]
    print(f"{'':<42} {'seconds':>8} {'ratio':>7} {'peak MB':>8} {'first use':>9}")
    for contestant, row in found.items():
        print(
            f"{contestant:<42} {row['seconds']:>8.2f} {row['seconds'] / base:>7.2f} "
            f"{row['peak']:>8,.0f} {row['warm']:>9.2f}",
            flush=True,
        )
    return {"set": name, "rounds": rounds, "contestants": found}


def quadratic_programs() -> dict[str, Any]:
    """Time of the weights of every tenth user of MovieLens-1M, ours against cvxopt's."""
    data = load("movielens-1m")
    model = KernelRanker("disjunctive(2)", reg=REG, n_threads=int(THREADS)).fit(data)
    users = list(data.users)[::10]
    matrix, means = model.matrix, model.matrix.means
    problems = []
    for user in users:
        own = data.row(data.users.number(user))
        rows = np.array([matrix.row(int(item))[own] for item in own])
        problems.append((rows, means[own]))
    model.weights(users)
    start = time.perf_counter()
    mine = model.weights(users)
    taken = time.perf_counter() - start
    start = time.perf_counter()
    theirs = [qp_by_cvxopt(rows, b, 1e-13) for rows, b in problems]
    by_cvxopt = time.perf_counter() - start

    def objective(rows: Any, b: Any, alpha: Any) -> float:
        return float(alpha @ rows @ alpha + REG * alpha @ alpha - 2 * b @ alpha)

    worse = max(
        objective(*problem, a) - objective(*problem, np.maximum(b, 0) / np.maximum(b, 0).sum())
        for problem, a, b in zip(problems, mine, theirs, strict=True)
    )
    print(f"\nquadratic programs of {len(users)} users of MovieLens-1M, all at a gap of 1e-13:")
    print(f"ours {taken:.3f} s, cvxopt {by_cvxopt:.2f} s, ratio {by_cvxopt / taken:.1f}")
    print(f"our objective is at most {worse:.1e} above theirs")
    return {"ours": taken, "cvxopt": by_cvxopt, "worse": worse}


def growth() -> dict[str, Any]:
    """Time and memory over five sizes, against what is counted and read, and items²; and a plot.

    A fit goes once over the pairs of items that share a user. To rank everything for everybody
    reads the rows of each user's items: as many entries as any sparse item-item model reads.
    """
    rows = []
    print("\nsynthetic sets of five sizes, disjunctive(20), fit and 10 best items of everybody")
    print(
        f"{'items':>8} {'pairs':>12} {'share of items²':>16} {'entries read':>15} "
        f"{'fit s':>7} {'rank s':>7} {'MB':>8}"
    )
    for users, items, size in GROWTH:
        row = in_own_process("--grow", f"synthetic:{users}x{items}x{size}", "disjunctive(20)")
        rows.append(row)
        print(
            f"{items:>8,} {row['pairs']:>12,} {row['pairs'] / items**2:>16.1%} "
            f"{row['entries']:>15,} {row['fit']:>7.2f} {row['rank']:>7.2f} {row['MB']:>8,.0f}",
            flush=True,
        )
    slopes = {}
    for what, against in AGAINST.items():
        across, up = (np.log([row[name] for row in rows]) for name in (against, what))
        slopes[what] = float(np.polyfit(across, up, 1)[0])
        squares = np.log([row["items"] ** 2 for row in rows])
        as_squares = float(np.polyfit(across, squares, 1)[0])
        print(f"{what} grows as {against}^{slopes[what]:.2f}; items² as {against}^{as_squares:.2f}")
    _plot(rows, OUT / "growth.png")
    return {"rows": rows, "slopes": slopes}


def grow(name: str, contestant: str) -> dict[str, float]:
    """One size: what there is to do, and what it took."""
    data = load(name)
    warm_up(contestant)
    before = _memory("VmRSS")
    _forget_peak()
    start = time.perf_counter()
    model = KernelRanker(contestant, reg=REG).fit(data)
    fitted = time.perf_counter()
    model.recommend(n=10)
    done, most = time.perf_counter(), _memory()
    lengths = np.diff(model.overlaps.rows()[0])
    return {
        "items": data.shape[1],
        "pairs": model.overlaps.pairs,
        "entries": int(lengths[data.indices].sum()),
        "fit": fitted - start,
        "rank": done - fitted,
        "MB": most - before,
    }


def _plot(rows: list[dict[str, float]], path: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    titles = {"fit": "fit, seconds", "rank": "ranking everybody, seconds", "MB": "memory, MB"}
    names = {"pairs": "pairs of items that share a user", "entries": "entries of items' rows read"}
    for axis, (what, against) in zip(axes, AGAINST.items(), strict=True):
        across = np.array([row[against] for row in rows], float)
        measured = np.array([row[what] for row in rows])
        squares = np.array([row["items"] for row in rows]) ** 2.0
        axis.loglog(across, measured, "o-", label="measured")
        axis.loglog(across, measured[0] * across / across[0], "--", label=f"as the {against}")
        axis.loglog(across, measured[0] * squares / squares[0], ":", label="as items²")
        axis.set(xlabel=names[against], title=titles[what])
        axis.xaxis.set_minor_formatter("")
        axis.legend()
    figure.savefig(path, dpi=120)
    print(f"drawn in {path}")


def main(arguments: list[str]) -> None:
    """Measure what is asked for, or everything; write the figures to a JSON file too."""
    alone = {"--run": run, "--grow": grow}
    if arguments and arguments[0] in alone:
        print(json.dumps(alone[arguments[0]](*arguments[1:])))
        return
    parts = {
        **{title: lambda title=title: race(title) for title in RACES},
        "qp": quadratic_programs,
        "growth": growth,
    }
    found = {}
    OUT.mkdir(exist_ok=True)
    for title in arguments or parts:
        try:
            found[title] = parts[title]()
        except DatasetNotFoundError as error:
            print(f"\n{title}: left out, {error}")
    (OUT / "ranker.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
