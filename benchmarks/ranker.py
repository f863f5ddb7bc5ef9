"""How fast the ranker is beside others, how much memory it takes, and how both grow with the data.

Fit and the ten best unseen items of every user. How it is measured says ``measuring.py``; all peers
on more sets are in ``peers.py``.

``python benchmarks/ranker.py`` measures everything, ``python benchmarks/ranker.py ciaodvd qp`` some
of it. Real sets are looked for in BOOLRANK_DATA; those that are not there are left out.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from contestants import CONTESTANTS, REG, qp_by_cvxopt
from measuring import (
    OUT,
    SETS,
    THREADS,
    Found,
    forget_peak,
    in_own_process,
    memory,
    race,
)

from boolrank import CfOmd, KernelRanker, evaluate, load_dataset, paper_protocol
from boolrank.errors import DatasetNotFoundError

# Rounds and who runs on a set: the first one is what the others are compared with.
RACES: dict[str, tuple[int, tuple[str, ...]]] = {
    "movielens": (5, ("disjunctive", "linear", "als", "numpy-ease")),
    "ciaodvd": (3, ("disjunctive", "linear", "dense")),
    "synthetic": (1, ("disjunctive", "linear", "als")),
}
# Users, items, interactions of sets that grow alike in all three.
GROWTH = [(step * 5_000, step * 2_500, step * 75_000) for step in (1, 2, 4, 8, 16)]
GROWING = "disjunctive(20)"
# What should grow as what.
AGAINST = {"fit": "pairs", "rank": "entries", "MB": "pairs"}


def quadratic_programs() -> Found:
    """Time of the weights of every tenth user of MovieLens-1M, ours against cvxopt's."""
    data = load_dataset(SETS["movielens"].name)
    model = KernelRanker(SETS["movielens"].kernel, reg=REG, n_threads=THREADS).fit(data)
    users = list(data.users)[::10]
    matrix, means = model.matrix, model.matrix.means
    problems = []
    for user in users:
        own = data.rows.row(data.users.number(user))
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


def cf_omd() -> Found:
    """Time of a trial of CF-OMD on BookCrossing's 5,892 items, as a multiple of CF-KOMD's.

    A trial is the paper's: fit five folds, score all items for their test users.
    """
    data, found = load_dataset("bookcrossing-reduced"), {}
    folds = paper_protocol(data)
    evaluate(KernelRanker(n_threads=THREADS), folds, ["auc", "ndcg@10"])  # compiles
    print("\nBookCrossing, five folds of the paper's protocol, seconds")
    for kernel in ("linear", "disjunctive(8)"):
        taken = []
        for kind in (KernelRanker, CfOmd):
            model = kind(kernel=kernel, n_threads=THREADS)
            model.fit(data).score(list(data.users)[:40])  # compiles
            start = time.perf_counter()
            evaluate(model, folds, ["auc", "ndcg@10"])
            taken.append(time.perf_counter() - start)
        found[kernel], ratio = taken, taken[1] / taken[0]
        print(f"{kernel}: CF-KOMD {taken[0]:.2f}, CF-OMD {taken[1]:.2f}, ratio {ratio:.1f}")
    return found


def growth() -> Found:
    """Time and memory over five sizes, against what is counted and read, and items²; and a plot.

    A fit goes once over the pairs of items that share a user. To rank everything for everybody
    reads the rows of each user's items: as many entries as any sparse item-item model reads.
    """
    rows = []
    print(f"\nsynthetic sets of five sizes, {GROWING}, fit and 10 best items of everybody")
    print(
        f"{'items':>8} {'pairs':>12} {'share of items²':>16} {'entries read':>15} "
        f"{'fit s':>7} {'rank s':>7} {'MB':>8}"
    )
    for users, items, size in GROWTH:
        row = in_own_process(__file__, "--grow", f"synthetic:{users}x{items}x{size}", GROWING)
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


def grow(name: str, kernel: str) -> Found:
    """One size: what there is to do, and what it took."""
    data = load_dataset(name)
    CONTESTANTS["disjunctive"].warm_up(kernel)
    before = memory("VmRSS")
    forget_peak()
    start = time.perf_counter()
    model = KernelRanker(kernel, reg=REG).fit(data)
    fitted = time.perf_counter()
    model.recommend(n=10)
    done, most = time.perf_counter(), memory()
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
    if arguments and arguments[0] == "--grow":
        print(json.dumps(grow(*arguments[1:])))
        return
    parts = {
        **{
            title: lambda title=title, rounds=rounds, who=who: race(title, who, rounds)
            for title, (rounds, who) in RACES.items()
        },
        "qp": quadratic_programs,
        "omd": cf_omd,
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
