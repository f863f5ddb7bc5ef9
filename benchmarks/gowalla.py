"""Rank Gowalla's public split: recall@20 and nDCG@20 over all users and all unseen items.

    python benchmarks/gowalla.py [ROW ...]

Each row runs in its own process on two threads: seconds to choose and fit, to list 20 items for all
users, and the peak memory. ``auto`` chooses on a held-out fifth of the training file; the settings
of other rows are fixed here.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

ROWS = {
    "auto": "auto",
    "spectral-ranker": "spectral-ranker",
    "item-knn": "item-knn",
    "item-knn, 20 neighbours": "item-knn(neighbours=20)",
    "kernel-ranker": "kernel-ranker",
    "kernel-ranker, weighted users": "kernel-ranker(kernel=disjunctive(10), user_exponent=1)",
    "kernel-ease, sparse": "kernel-ease(kernel=linear, storage=sparse)",
    "als, 64 factors": "als(factors=64)",
    "als, 256 factors": "als(factors=256)",
}
_METRICS = ("recall@20", "ndcg@20")
_BUDGET = 600.0


def main() -> None:
    """Run the rows, and print a Markdown table."""
    chosen = sys.argv[1:] or list(ROWS)
    print("| model | recall@20 | nDCG@20 | choose + fit | lists | memory |")
    print("|---|--:|--:|--:|--:|--:|")
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "2")
    for name in chosen:
        command = [sys.executable, __file__, "--run", ROWS.get(name, name)]
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads
        )
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"| {name}{found['chosen']} | {found['recall@20']:.4f} | {found['ndcg@20']:.4f} | "
            f"{found['fit']:.0f} s | {found['rank']:.0f} s | {found['memory'] / 2**30:.1f} GB |",
            flush=True,
        )


def run(text: str) -> None:
    """Choose, fit, list and measure one row; print JSON."""
    from boolrank import evaluate
    from boolrank.data import DATASETS
    from boolrank.data.protocols import published_folds
    from boolrank.models import parse_model
    from boolrank.studies import choose

    train, test = DATASETS["gowalla"].load_parts()
    start = time.perf_counter()
    if text == "auto":
        tell = _tell
        choice = choose(train, "ndcg@20", trials=40, budget=_BUDGET, n_threads=2, progress=tell)
        spec = choice.spec
    else:
        spec = parse_model(text)
    model = spec.make(2).fit(train)
    fitted = time.perf_counter()
    model.recommend(n=20)
    ranked = time.perf_counter()
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    means = evaluate(_Fitted(model), published_folds((train, test)), _METRICS).means
    times = {"fit": fitted - start, "rank": ranked - fitted, "memory": memory}
    said = f": `{spec}`" if text == "auto" else ""
    print(json.dumps({**means, **times, "chosen": said}))


def _tell(done: int, total: int, best: str) -> None:
    print(done, total, best, file=sys.stderr)


class _Fitted:
    """A model that is already fitted on the training part."""

    def __init__(self, model: object) -> None:
        self.model = model

    def __deepcopy__(self, _: object) -> _Fitted:
        return self

    def fit(self, interactions: object) -> None:
        """Keep what is fitted."""

    def score(self, users: object = None) -> object:
        """Return the scores of the fitted model."""
        return self.model.score(users)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run(sys.argv[2])
    else:
        main()
