"""Speed of kernels, as ratios within one run: ``python benchmarks/kernels.py``.

Normalised values of all pairs of MovieLens-1M's 3,706 items, against

- the formula of the disjunctive kernel with scipy.special.binom, broadcast (C(n-x, d) and C(n-z, d)
  once per item) and pair by pair (once per pair, as for a list);
- the single-precision matrix product of the overlap counts.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
from common import movielens_items, side_by_side
from numpy.typing import NDArray
from scipy.special import binom

from boolrank import Disjunctive, parse_kernel

Array = NDArray[np.float64]


def by_binom(n: int, x: Array, z: Array, c: Array, d: int) -> Array:
    """Compute the normalised disjunctive kernel by its formula."""
    all_of, without_x, without_z = binom(n, d), binom(n - x, d), binom(n - z, d)
    value = all_of - without_x - without_z + binom(n - (x + z - c), d)
    return np.asarray(value / np.sqrt((all_of - without_x) * (all_of - without_z)))


def import_seconds() -> float:
    """Return the seconds that `import boolrank` adds to the start of Python."""
    runs = {
        name: lambda code=code: subprocess.run([sys.executable, "-c", code], check=True)
        for name, code in (("with", "import boolrank"), ("without", "pass"))
    }
    best = side_by_side(runs, rounds=5)
    return best["with"] - best["without"]


def main() -> None:
    """Print the table."""
    matrix, source = movielens_items()
    n = matrix.shape[1]
    counts = matrix @ matrix.T
    sizes = np.diag(counts).astype(np.int64)
    x, z = sizes[:, None], sizes[None, :]
    pairs = [np.ascontiguousarray(np.broadcast_to(a, counts.shape), dtype=float) for a in (x, z)]

    start = time.perf_counter()
    for kernel in ("disjunctive(8)", "linear"):
        parse_kernel(kernel).normalized().on_counts(n, x, z, counts)
    compiling = time.perf_counter() - start

    ours = {d: Disjunctive(d).normalized() for d in (8, 116)}
    runs = {
        "disjunctive(8)": lambda: ours[8].on_counts(n, x, z, counts),
        "disjunctive(116)": lambda: ours[116].on_counts(n, x, z, counts),
        "matrix product of the counts, float32": lambda: matrix @ matrix.T,
        "scipy.special.binom, broadcast": lambda: by_binom(n, x, z, counts, 8),
        "scipy.special.binom, pair by pair": lambda: by_binom(n, *pairs, counts, 8),
    }
    seconds = side_by_side(runs)
    base = seconds["disjunctive(8)"]
    print(f"\n{source}: {counts.shape[0]:,}² pairs, normalised values")
    print(f"{'':<40} {'ms':>8} {'ratio to disjunctive(8)':>24}")
    for name, taken in seconds.items():
        print(f"{name:<40} {taken * 1e3:>8.1f} {taken / base:>24.2f}")
    for text in (
        "linear",
        "conjunctive(2)",
        "tanimoto",
        "monotone_dnf",
        "dnf",
        "linear + tanimoto",
        "threshold(2, 8)",
        "threshold(4, 20)",
        "composed_dnf(2, 2)",
        "composed_cnf(2, 2)",
        "~disjunctive(8)",
        "linear ^ conjunctive(2)",
        "formula('(a and b) or not c')",
    ):
        other = parse_kernel(text).normalized()
        other.on_counts(n, x, z, counts)  # compiles
        taken = side_by_side({text: lambda k=other: k.on_counts(n, x, z, counts)}, 3)[text]
        print(f"{text:<40} {taken * 1e3:>8.1f} {taken / base:>24.2f}")
    print(f"\ncompiling or loading compiled code, once: {compiling:.2f} s")
    print(f"import boolrank: {import_seconds():.3f} s")


if __name__ == "__main__":
    main()
