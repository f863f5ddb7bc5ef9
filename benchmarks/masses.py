"""Compare kernel values on masses of weighted users with exact rational arithmetic.

    python benchmarks/masses.py [--cases 2000] [--seed 0]

Totals are up to 2^62 and shares down to 10^-8; sets are disjoint, nested, independent, nearly
everything, or none of these; see `draw_masses` in tests/test_masses.py. The exit code is 1 if an
error exceeds 1e-13.
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from boolrank import parse_kernel

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from test_masses import EXACT, draw_masses

ALLOWED = 1e-13


def main() -> int:
    """Print the worst relative error of each kernel; return 1 if the bound is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=2_000, help="pairs for each kernel")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"{'kernel':<34} {'cases':>7} {'error':>9} {'s':>4}")
    worst = 0.0
    for text, exact in EXACT.items():
        start, rng, most = time.perf_counter(), np.random.default_rng(arguments.seed), 0.0
        kernel = parse_kernel(text)
        for _ in range(arguments.cases):
            total, x, z, c = draw_masses(rng)
            wanted = exact(*(Fraction(mass, total) for mass in (x, z, c)))
            found = Fraction(float(kernel.on_masses(total, x, z, c, users=1000)))
            most = max(most, float(abs(found - wanted) / wanted) if wanted else float(found))
        print(f"{text:<34} {arguments.cases:>7} {most:>9.2g} {time.perf_counter() - start:>4.0f}")
        worst = max(worst, most)
    return 0 if worst <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main())
