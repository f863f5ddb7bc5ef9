"""Learned sums of kernels against the best single arity.

    python benchmarks/learned_kernels.py [METRIC [SET ...]]

By the paper's protocol with six folds: weights and the arity are chosen on the first, and compared
on the others. The sweep evaluates all arities from 1 to 64 on shared overlaps. Prints seconds of
both, and the difference on test users with its bootstrap interval.
"""

from __future__ import annotations

import sys
import time

from boolrank import KernelRanker, Overlaps, compare, load_dataset, paper_protocol
from boolrank.data.protocols import usual_order
from boolrank.evaluation import Evaluation, evaluate_fold
from boolrank.studies import learn_kernel

SETS = ("filmtrust", "ciaodvd", "movielens-1m")


def main(metric: str = "auc", *names: str) -> None:
    """Print a paragraph per set."""
    for name in names or SETS:
        data = load_dataset(name)
        first, *others = paper_protocol(data, folds=6, order=usual_order(data))
        start = time.perf_counter()
        learned = learn_kernel(first, metric=metric)
        between = time.perf_counter()
        overlaps = Overlaps.of(first.train)
        swept = {
            arity: evaluate_fold(
                KernelRanker(f"disjunctive({arity})"), first, [metric], overlaps=overlaps
            ).means[metric]
            for arity in range(1, 65)
        }
        arity = max(swept, key=swept.__getitem__)
        end = time.perf_counter()
        shared = [(fold, Overlaps.of(fold.train)) for fold in others]
        kernels = {"learned": learned.kernel, "single": f"disjunctive({arity})"}
        found = {
            label: Evaluation(
                label,
                name,
                "",
                tuple(
                    evaluate_fold(KernelRanker(kernel), fold, [metric], overlaps=counts)
                    for fold, counts in shared
                ),
            )
            for label, kernel in kernels.items()
        }
        (row,) = compare(found, metric, "single")
        low, high = row.interval
        print(f"{name}: {learned.kernel}")
        print(f"  seconds: learned {between - start:.1f}, sweep {end - between:.1f}")
        print(
            f"  {metric} of {row.users} test users: {row.mean:.4f}; disjunctive({arity}) "
            f"{row.baseline_mean:.4f}, difference {row.difference:+.4f} ({low:.4f} to {high:.4f})",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
