"""Peak memory of a fit beside the estimates that decide whether it may start.

    python benchmarks/memory.py [ITEMS]

Every model and kernel family is fitted in a process of its own. An estimate is what a model plans
to take on top of what it holds then, so the largest of their sums is beside the peak. GLSLIM gets a
quarter of the items.
"""

from __future__ import annotations

import json
import logging
import sys

import numpy as np
from measuring import NotRunError, forget_peak, in_own_process, memory

from boolrank import Interactions, make_model

FITS = (
    *(
        ("kernel-ranker", {"kernel": kernel, "storage": "dense"})
        for kernel in (
            *("linear", "disjunctive(2)", "conjunctive(3)", "threshold(1, 3)", "tanimoto"),
            *("linear + disjunctive(2)", "linear * tanimoto", "disjunctive(2) @ conjunctive(2)"),
            *("threshold(4, 20)", "composed_dnf(2, 2)", "linear & ~disjunctive(2)"),
        )
    ),
    ("kernel-ranker", {"kernel": "disjunctive(2)", "storage": "dense", "user_exponent": 0.5}),
    ("kernel-ranker", {"kernel": "linear", "storage": "compressed"}),
    ("kernel-ranker", {"kernel": "tanimoto", "storage": "compressed"}),
    ("mean-ranker", {}),
    ("spectral-ranker", {}),
    ("spectral-ranker", {"kernel": "disjunctive(2)"}),
    ("item-knn", {}),
    ("item-knn", {"neighbours": 1000}),
    *((name, {"dtype": dtype}) for name in ("ease", "lrec") for dtype in ("float64", "float32")),
    ("ease", {"user_exponent": 0.5}),
    ("kernel-ease", {"dtype": "float64"}),
    ("kernel-ease", {"dtype": "float32"}),
    ("kernel-ease", {"kernel": "tanimoto"}),
    ("kernel-ease", {"user_exponent": 0.5}),
    ("kernel-ease", {"storage": "sparse", "density": 0.002}),
    ("ease", {"storage": "sparse", "density": 0.002}),
    ("slim", {}),
    ("glslim", {"subsets": 2}),
    ("cf-omd", {}),
    ("ecf-omd", {}),
)


def main(items: int = 5000) -> None:
    """Measure all, and print."""
    print(f"{items:,} items; MB above what the process held before\n", flush=True)
    print(f"{'':<75}{'estimate':>10}{'peak':>10}{'peak/estimate':>15}")
    for name, params in FITS:
        title = f"{name} {', '.join(f'{k}={v}' for k, v in params.items())}"
        size = items // 4 if name == "glslim" else items  # it takes an hour for all of them
        try:
            found = in_own_process(__file__, str(size), name, json.dumps(params))
        except NotRunError as error:
            print(f"{title:<75}  {error}", flush=True)
            continue
        plan, peak = found["estimate"], found["peak"]
        print(f"{title:<75}{plan:>10,.0f}{peak:>10,.0f}{peak / plan:>15.2f}", flush=True)


def measure(items: int, name: str, params: dict[str, object]) -> dict[str, float]:
    """Fit one model after a small one, and return the largest estimate and the peak, in MB."""
    make_model(name, **params).fit(_data(300, 150))  # load and compile
    data, plans = _data(items // 2, items), _Plans()
    log = logging.getLogger("boolrank.memory")
    log.addHandler(plans)
    log.setLevel(logging.DEBUG)
    before = memory("VmRSS")
    forget_peak()
    make_model(name, **params).fit(data)
    return {"estimate": max(plans.sums, default=before) - before, "peak": memory() - before}


class _Plans(logging.Handler):
    """Collects the memory held at each estimate, plus the estimate."""

    def __init__(self) -> None:
        super().__init__()
        self.sums: list[float] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.sums.append(memory("VmRSS") + record.needed / 1e6)  # type: ignore[attr-defined]


def _data(users: int, items: int) -> Interactions:
    """Return users with 100 random items each: most pairs of items share a user."""
    rng = np.random.default_rng(0)
    chosen = [rng.choice(items, 100, replace=False) for _ in range(users)]
    return Interactions.from_pairs(np.repeat(np.arange(users), 100), np.concatenate(chosen))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(measure(int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))))
    else:
        main(*map(int, sys.argv[1:]))
