"""What a filter adds to ranking 1,000 users on 100,000 items.

    python benchmarks/filters.py [MODEL ...]

Every user has 20 items at random. Filters pass about half of the items, one in a hundred, and one
in a thousand. Processor time on one thread, runs with and without the filter in turns; the ratio is
that of the medians of nine runs. The time of a filter includes parsing and evaluating it.
"""

from __future__ import annotations

import sys
import time
from statistics import median

import numpy as np

from boolrank import Interactions, ItemTable, Recommender, make_model

ITEMS, USERS, PROFILE, RUNS = 100_000, 1_000, 20, 9
MODELS = {
    "kernel-ranker": {"kernel": "disjunctive(8)", "storage": "compressed", "n_threads": 1},
    "item-knn": {"neighbours": 40, "n_threads": 1},
    "spectral-ranker": {"n_threads": 1},
    "popularity": {},
}
FILTERS = {
    "half": "price < 50",
    "1 in 100": "category = 'c7'",
    "1 in 1,000": "category = 'c7' and tags has 't3'",
    "all but few": "not (category = 'c7' and price > 20) and released >= '2020-01-01'",
}


def items_of(rng: np.random.Generator) -> ItemTable:
    """Return a table with a number, a category, two or so tags and a date per item."""
    import polars as pl

    tags = [[f"t{tag}" for tag in rng.integers(0, 20, rng.integers(1, 4))] for _ in range(ITEMS)]
    days = pl.Series(rng.integers(0, 2000, ITEMS)).cast(pl.Int32) + 18_262  # from 2020 on
    columns = {
        "item": np.arange(ITEMS),
        "title": [f"item {k}" for k in range(ITEMS)],
        "price": rng.random(ITEMS) * 100,
        "category": [f"c{k}" for k in rng.integers(0, 100, ITEMS)],
        "tags": tags,
        "released": days.cast(pl.Date),
    }
    return ItemTable.from_frame(pl.DataFrame(columns))


def seconds(model: Recommender, users: list[int], where: str | None) -> float:
    """Return the processor time of one call."""
    start = time.process_time()
    model.recommend(users, n=10, where=where)
    return time.process_time() - start


def main() -> None:
    """Print a line per model and filter."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(ITEMS // 10), PROFILE)
    items = np.concatenate([np.arange(ITEMS), rng.integers(0, ITEMS, len(users) - ITEMS)])
    data = Interactions.from_pairs(users, rng.permutation(items))
    table = items_of(rng)
    print(f"{'model':<16}{'filter':<14}{'plain ms':>10}{'filtered ms':>13}{'ratio':>8}")
    for name in sys.argv[1:] or MODELS:
        model = make_model(name, **MODELS[name]).fit(data, items=table)
        some = list(data.users)[:USERS]
        for label, where in FILTERS.items():
            seconds(model, some, None), seconds(model, some, where)
            runs = [(seconds(model, some, None), seconds(model, some, where)) for _ in range(RUNS)]
            plain, filtered = (1e3 * median(each) for each in zip(*runs, strict=True))
            ratio = filtered / plain
            print(f"{name:<16}{label:<14}{plain:>10.1f}{filtered:>13.1f}{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
