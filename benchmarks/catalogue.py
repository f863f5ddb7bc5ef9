"""Time to rank a user with 20 items as the catalogue grows: 10,000 to 1,000,000 items.

    python benchmarks/catalogue.py

Every user has 20 items at random, and there is a user for every ten items, so rows of the item
matrix have the same length (about 38) at every size. One thread; the median of seven runs of 1,000
users in one call, and of single requests. The plot goes to ``bench/catalogue.svg``.
"""

from __future__ import annotations

import json
import sys
import time
from statistics import median
from typing import Any

import numpy as np
from measuring import OUT, in_own_process

from boolrank import Interactions, make_model

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
MODELS = {
    "kernel-ranker": {"kernel": "disjunctive(8)", "storage": "compressed"},
    "item-knn": {"neighbours": 40},
}
PROFILE, USERS, RUNS = 20, 1_000, 7


def measure(items: str, model: str) -> dict[str, float]:
    """Return the microseconds per user of one model on one catalogue."""
    size = int(items)
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(size // 10), PROFILE)
    data = Interactions.from_pairs(users, rng.integers(0, size, len(users)))
    fitted = make_model(model, **MODELS[model], n_threads=1).fit(data)
    some = list(data.users)[:USERS]
    profiles = [data.items.ids[data.rows.row(user)].tolist() for user in range(USERS)]
    calls: dict[str, Any] = {
        "batch": lambda: fitted.recommend(some, n=10),
        "single": lambda: [fitted.recommend_profile(profile, n=10) for profile in profiles[:500]],
    }
    found = {}
    for name, call in calls.items():
        call()
        seconds = []
        for _ in range(RUNS):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
        found[name] = 1e6 * median(seconds) / (USERS if name == "batch" else 500)
    return found


def main() -> None:
    """Print a table, and plot it."""
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(measure(*sys.argv[2:])))
        return
    rows: dict[str, list[float]] = {}
    for model in MODELS:
        for size in SIZES:
            found = in_own_process(__file__, "--run", str(size), model)
            for what, micros in found.items():
                rows.setdefault(f"{model}, {what}", []).append(micros)
    print(
        f"\n{'microseconds per user':<24}"
        + "".join(f"{size:>12,}" for size in SIZES)
        + "   last/first"
    )
    for name, values in rows.items():
        print(
            f"{name:<24}"
            + "".join(f"{value:>12.1f}" for value in values)
            + f"{values[-1] / values[0]:>13.2f}"
        )
    _plot(rows)


def _plot(rows: dict[str, list[float]]) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for name, values in rows.items():
        axes.loglog(SIZES, values, marker="o", label=name)
    axes.set(xlabel="items", ylabel="microseconds per user", ylim=(1, 10_000))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "catalogue.svg")


if __name__ == "__main__":
    main()
