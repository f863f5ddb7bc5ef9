"""Speed of metrics, compared with ir-measures and scikit-learn: `python benchmarks/metrics.py`.

- Lists: all metrics at k = 10 for a million users with ten recommended items each. ir-measures gets
  50,000 of them, as dictionaries, which it reads fastest, and the six metrics that both have. The
  time is per user.
- Scores: both kinds of AUC, from scores of the size of MovieLens-1M, in blocks as in `evaluate`.
  scikit-learn gets 300 of the users.
"""

from __future__ import annotations

from dataclasses import replace

import ir_measures
import numpy as np
from common import side_by_side
from sklearn.metrics import roc_auc_score

from boolrank import Interactions
from boolrank.data.rows import Rows
from boolrank.data.vocabulary import Vocabulary
from boolrank.evaluation.metrics import METRICS, measure
from boolrank.evaluation.rankings import Rankings

USERS, THEIRS, ITEMS, K = 1_000_000, 50_000, 3_706, 10
PEERS = [f"{name}@{K}" for name in ("AP", "nDCG", "P", "R", "Success", "RR")]


def random_rows(rng: np.random.Generator, users: int, mean: int) -> Rows:
    """Return rows of distinct ascending items with about ``mean`` items each."""
    counts = rng.poisson(mean, users) + 1
    rows = np.repeat(np.arange(users), counts)
    keys = np.unique(rows * ITEMS + rng.integers(0, ITEMS, len(rows)))
    indptr = np.searchsorted(keys, np.arange(users + 1) * ITEMS)
    return Rows(indptr, (keys % ITEMS).astype(np.int32))


def lists(rng: np.random.Generator) -> None:
    """Print the time for a million lists, compared with ir-measures."""
    start = rng.integers(0, ITEMS, USERS)
    top = ((start[:, None] + 37 * np.arange(K)) % ITEMS).astype(np.int32)
    relevant = random_rows(rng, USERS, 10)
    ids = (Vocabulary(np.arange(size)) for size in (6_040, ITEMS))
    data = Interactions(*ids, *random_rows(rng, 6_040, 165))
    names = [
        f"{name}@{K}" if row.cut != "none" else name
        for name, row in METRICS.items()
        if not name.startswith("auc")
    ]
    qrels = {
        str(user): {str(item): 1 for item in relevant.row(user).tolist()} for user in range(THEIRS)
    }
    run = {
        str(user): {str(item): float(K - place) for place, item in enumerate(top[user].tolist())}
        for user in range(THEIRS)
    }
    peers = [ir_measures.parse_measure(name) for name in PEERS]

    def ours(n_threads: int | None) -> None:
        rankings = Rankings.from_lists(top, relevant, n_threads)
        measure(replace(rankings, train=data), names, n_threads)

    ours(None)  # compile, or load from disk
    seconds = side_by_side(
        {
            f"boolrank, {len(names)} metrics": lambda: ours(None),
            f"boolrank, {len(names)} metrics, one thread": lambda: ours(1),
            f"ir-measures, {len(peers)} metrics": lambda: list(
                ir_measures.iter_calc(peers, qrels, run)
            ),
        },
        rounds=3,
    )
    each = {
        name: taken / (THEIRS if name.startswith("ir") else USERS)
        for name, taken in seconds.items()
    }
    base = next(iter(each.values()))
    print(f"\nlists of {K}: {USERS:,} users (ir-measures: {THEIRS:,})")
    print(f"{'':<40} {'µs a user':>10} {'ratio':>8}")
    for name, taken in each.items():
        print(f"{name:<40} {taken * 1e6:>10.3f} {taken / base:>8.1f}")


def scores(rng: np.random.Generator) -> None:
    """Print the time for the AUC of whole rankings, compared with scikit-learn."""
    users, some = 6040, 300
    matrix = rng.random((users, ITEMS))
    both = random_rows(rng, users, 165)
    rows = np.repeat(np.arange(users), np.diff(both.indptr))
    tested = rng.random(len(rows)) < 0.5
    relevant, known = (
        Rows(
            np.concatenate(([0], np.cumsum(np.bincount(rows[part], minlength=users)))),
            both.indices[part],
        )
        for part in (tested, ~tested)
    )
    block = (1 << 23) // ITEMS

    def ours(n_threads: int | None) -> None:
        parts = [
            Rankings.from_scores(
                matrix[a : a + block],
                relevant.part(a, min(a + block, users)),
                known.part(a, min(a + block, users)),
                K,
                n_threads,
            )
            for a in range(0, users, block)
        ]
        measure(Rankings.joined(parts), ["auc", "auc_ties"], n_threads)

    def theirs() -> None:
        for user in range(some):
            allowed = np.ones(ITEMS, bool)
            allowed[known.row(user)] = False
            wanted = np.zeros(ITEMS, bool)
            wanted[relevant.row(user)] = True
            roc_auc_score(wanted[allowed], matrix[user, allowed])

    ours(None)
    seconds = side_by_side(
        {"boolrank": lambda: ours(None), "one thread": lambda: ours(1), "scikit-learn": theirs},
        rounds=3,
    )
    seconds["scikit-learn"] *= users / some
    print(f"\nAUC, {users:,} users x {ITEMS:,} items")
    print(f"{'':<40} {'seconds':>10} {'ratio':>8}")
    for name, taken in seconds.items():
        print(f"{name:<40} {taken:>10.3f} {taken / seconds['boolrank']:>8.1f}")


def main() -> None:
    """Print both tables."""
    rng = np.random.default_rng(0)
    lists(rng)
    scores(rng)


if __name__ == "__main__":
    main()
