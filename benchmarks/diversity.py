"""What diversity costs in accuracy and gains in coverage.

    python benchmarks/diversity.py [SET] [MODEL]

A fifth of each user's interactions is held out at random. For each value of ``diversity``: nDCG@10,
the share of items that are in some list (coverage), and 1 - the mean cosine of two items of a list.
By default MovieLens-1M and the kernel ranker.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from boolrank import hold_out, load_dataset
from boolrank.evaluation import Rankings, measure
from boolrank.models import parse_model

VALUES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)


def main() -> None:
    """Print a line per value."""
    name = sys.argv[1] if len(sys.argv) > 1 else "movielens-1m"
    spec = parse_model(sys.argv[2] if len(sys.argv) > 2 else "kernel-ranker")
    (fold,) = hold_out(load_dataset(name), 0.2, "random", 0)
    model = spec.make(None).fit(fold.train)
    users, items = list(fold.users), fold.train.items
    print(f"{spec} on {name}, {len(users):,} users, {len(items):,} items")
    print(f"{'diversity':>9}{'nDCG@10':>10}{'coverage@10':>13}{'diversity@10':>14}{'seconds':>9}")
    for value in VALUES:
        start = time.perf_counter()
        found = model.recommend(users, n=10, diversity=value)
        seconds = time.perf_counter() - start
        lists = np.array([items.find(row.tolist()) for row in found.items])
        rankings = replace(Rankings.from_lists(lists, fold.relevant), train=fold.train)
        widths = {"ndcg": 10, "coverage": 13, "diversity": 14}
        values = measure(rankings, [f"{each}@10" for each in widths])
        means = {each: np.nanmean(values[f"{each}@10"]) for each in widths}
        shown = "".join(f"{means[each]:>{width}.4f}" for each, width in widths.items())
        print(f"{value:>9}{shown}{seconds:>9.1f}", flush=True)


if __name__ == "__main__":
    main()
