"""Rank items without users by genres, on MovieLens-1M; and what genres do to the usual protocol.

    python benchmarks/cold_items.py [--seeds 3] [--parts cold,usual]

Cold: a random fifth of the items is hidden from training, and ranked for users who rated some of
them. Kernel, weight and parameters are chosen in the same way on a fifth of the other items. Usual:
a term over genres, or none, is chosen on the first of six folds of the paper's protocol, and the
best term is tested on the others. Metrics are means over users; intervals are of the difference,
from users drawn with replacement. The exit code is 1 if the interval of a cold difference from
genre overlap includes 0 or less, or one of the usual protocol lies below 0.
"""

from __future__ import annotations

import argparse
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from boolrank import Interactions, ItemTable, KernelRanker, Overlaps, evaluate, paper_protocol
from boolrank.data import DATASETS
from boolrank.data.splits import Split
from boolrank.evaluation import Evaluation
from boolrank.evaluation.significance import bootstrap_interval, compare

Floats = NDArray[np.float64]

N = 10
USERS = "disjunctive(8)"
# Alternatives, chosen one after the other; the first of each stands until it is chosen.
STAGES: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("tags", ("conjunctive(2)", "linear", "tanimoto", "all_subset")),
    ("negative_weight", (1.0, 0.5, 0.75, 1.25)),
    ("reg", (1000.0, 10.0, 1e5)),
    ("weight", (1.0, 0.1, 10.0)),
)
VALIDATION_USERS = 1500
USUAL_WEIGHTS = (0.0003, 0.003, 0.03)


def read() -> tuple[Interactions, ItemTable]:
    """Return ratings as interactions, and titles and genres."""
    dataset = DATASETS["movielens-1m"]
    with zipfile.ZipFile(dataset.folder() / "ml-1m.zip") as files:
        lines = files.read("ml-1m/movies.dat").decode("latin-1").splitlines()
    ids, titles, genres = zip(*(line.split("::") for line in lines), strict=True)
    sets = [each.split("|") for each in genres]
    frame = pl.DataFrame({"item": [int(key) for key in ids], "title": titles, "genres": sets})
    return dataset.load(), ItemTable.from_frame(frame)


class Cold:
    """A part of the items is hidden: training data, and test users with hidden items."""

    def __init__(self, data: Interactions, rng: np.random.Generator, most: int | None = None):
        m = len(data.items)
        hidden = np.zeros(m, bool)
        hidden[rng.permutation(m)[: m // 5]] = True
        self.train = data[~hidden[data.indices]]
        self.hidden, self.overlaps = list(data.items.chosen(hidden)), Overlaps.of(self.train)
        test = data[hidden[data.indices]]
        users = [user for user in test.users if user in self.train.users]
        if most is not None:
            users = sorted(rng.choice(users, min(most, len(users)), replace=False).tolist())
        self.users = users
        rows = test.rows.take(test.users.numbers(users))
        self.relevant = [set(test.items.names(rows.row(k)).tolist()) for k in range(len(users))]

    def ndcg(self, lists: Iterable[Iterable[Any]]) -> Floats:
        """(users,) Return nDCG@10 with the gain 1 for relevant items."""
        gains = 1 / np.log2(np.arange(2, N + 2))
        return np.array(
            [
                sum(gain for gain, item in zip(gains, best, strict=False) if item in wanted)
                / gains[: len(wanted)].sum()
                for best, wanted in zip(lists, self.relevant, strict=True)
            ]
        )

    def of_scores(self, scores: Floats) -> Floats:
        """(users,) Return nDCG@10 of (users, hidden) scores; ties by id."""
        best = np.argsort(-scores, axis=1, kind="stable")[:, :N]
        return self.ndcg(np.array(self.hidden)[best].tolist())

    def of_setting(self, setting: Mapping[str, Any], table: ItemTable) -> Floats:
        """(users,) Return nDCG@10 of the kernel ranker."""
        given = dict(setting)
        kernel = f"{USERS} + {given.pop('weight')}*{given.pop('tags')}[genres]"
        model = KernelRanker(kernel, **given).fit(self.train, self.overlaps, items=table)
        found = model.recommend(self.users, n=N, candidates=self.hidden)
        return self.ndcg(found.lists())

    def overlap(self, table: ItemTable) -> Floats:
        """(users, hidden) Return the number of genres shared with all of a user's items."""
        rows = table.columns["genres"].rows
        sets = np.zeros((len(table), rows.indices.max() + 1))
        sets[rows.numbers, rows.indices] = 1
        own, hidden = (sets[table.ids.find(each)] for each in (self.train.items, self.hidden))
        users = self.train.users.numbers(self.users)
        return np.asarray(self.train.matrix()[users] @ own @ hidden.T)


def choose(cold: Cold, table: ItemTable) -> dict[str, Any]:
    """Return the best setting, one parameter after the other."""
    setting = {name: values[0] for name, values in STAGES}
    for name, values in STAGES:
        means = {v: cold.of_setting(setting | {name: v}, table).mean() for v in values}
        setting[name] = max(means, key=means.__getitem__)
    return setting


def run_cold(data: Interactions, table: ItemTable, seeds: int) -> bool:
    """Print the table of cold items; return whether tags beat overlap."""
    found: dict[str, dict[Any, list[float]]] = {}
    for seed in range(seeds):
        start = time.perf_counter()
        cold = Cold(data, np.random.default_rng(seed))
        inner = Cold(cold.train, np.random.default_rng([seed, 1]), VALIDATION_USERS)
        setting = choose(inner, table)
        shape = len(cold.users), len(cold.hidden)
        values = {
            "tags": cold.of_setting(setting, table),
            "genre overlap": cold.of_scores(cold.overlap(table)),
            "popularity": cold.of_scores(np.zeros(shape)),
            "random": cold.of_scores(np.random.default_rng([seed, 2]).random(shape)),
        }
        for name, each in values.items():
            for user, value in zip(cold.users, each.tolist(), strict=True):
                found.setdefault(name, {}).setdefault(user, []).append(value)
        took = time.perf_counter() - start
        print(f"seed {seed}: {setting}, {shape[0]:,} users, {shape[1]} hidden, {took:.0f} s")
    means = {name: np.array([np.mean(v) for v in users.values()]) for name, users in found.items()}
    print(f"\n{'cold items':<16} {'ndcg@10':>8} {'tags minus it':>14} {'interval':>20}")
    excludes_zero = True
    for name, each in means.items():
        difference = means["tags"] - each
        low, high = bootstrap_interval(difference) if name != "tags" else (0.0, 0.0)
        print(f"{name:<16} {each.mean():8.4f} {difference.mean():14.4f} {low:10.4f} {high:9.4f}")
        excludes_zero &= low > 0 or name == "tags"
    return excludes_zero


def run_usual(data: Interactions, table: ItemTable) -> bool:
    """Print the usual protocol with genres and without; return whether nothing is lost."""
    split, metrics = paper_protocol(replace(data, table=table), folds=6), ("auc", f"ndcg@{N}")
    first, rest = (
        Split(split.name, {**split.parameters, "part": name}, split.data, roles)
        for name, roles in (("first", split.roles[:1]), ("rest", split.roles[1:]))
    )

    def tested(tags: str, part: Split) -> Evaluation:
        return evaluate(KernelRanker(f"{USERS}{tags}"), part, metrics)

    terms = [f" + {w}*{tags}[genres]" for tags in STAGES[0][1] for w in USUAL_WEIGHTS]
    means = {term: tested(term, first).means[metrics[1]] for term in ("", *terms)}
    chosen = max(means, key=means.__getitem__)
    best = max(terms, key=means.__getitem__)
    print(f"\nvalidation: {means['']:.4f} without tags, {means[best]:.4f} with {best[3:]}")
    print(f"chosen: {chosen[3:] or 'without tags, which is the usual result'}")
    both = {"without": tested("", rest), "with": tested(best, rest)}
    print(f"{'usual protocol':<16} {'without':>8} {'with':>8} {'difference':>11} {'interval':>20}")
    nothing_lost = True
    for metric in metrics:
        row = compare(both, metric, "without")[0]
        low, high = row.interval
        print(
            f"{metric:<16} {row.baseline_mean:8.4f} {row.mean:8.4f} {row.difference:11.5f} "
            f"{low:10.5f} {high:9.5f}"
        )
        nothing_lost &= high >= 0 or not chosen
    return nothing_lost


def main() -> int:
    """Print both tables; return 1 if one falls short."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", default="cold,usual")
    arguments = parser.parse_args()
    data, table = read()
    parts = arguments.parts.split(",")
    good = [
        "cold" not in parts or run_cold(data, table, arguments.seeds),
        "usual" not in parts or run_usual(data, table),
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
