"""Throughput of single requests: eight Python threads against one, and beside a long batch.

    python benchmarks/threads.py

Prints requests per second, their ratio (at least 1.6 on two cores), and the median latency of a
request alone and while another thread ranks all users.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from threading import Event, Thread

import numpy as np

from boolrank import Interactions, KernelRanker, load_dataset
from boolrank.data import DATASETS, synthetic

_REQUESTS = 2_000
_ROUNDS = 3
_THREADS = 8


def main() -> None:
    """Measure, and print."""
    here = DATASETS["movielens-1m"].is_here()
    data = load_dataset("movielens-1m") if here else synthetic(6_000, 3_700, 1_000_000)
    model = KernelRanker("disjunctive(2)").fit(data)
    profiles = _profiles(data)
    expected = [model.recommend_profile(profile).lists() for profile in profiles]
    best: dict[int, float] = {}
    for _ in range(_ROUNDS):
        for n_threads in (1, _THREADS):
            rate, answers = _throughput(model, profiles, n_threads)
            best[n_threads] = max(best.get(n_threads, 0.0), rate)
            if answers != expected:
                raise SystemExit("answers depend on the number of threads")
    for n_threads, rate in best.items():
        print(f"{n_threads} threads: {rate:,.0f} requests a second")
    print(f"ratio: {best[_THREADS] / best[1]:.2f}")
    alone = _latency(model, profiles[:200])
    done = Event()

    def batches() -> None:
        while not done.is_set():
            model.recommend()

    beside = Thread(target=batches)
    beside.start()
    print(f"latency: {alone:.2f} ms alone, {_latency(model, profiles[:200]):.2f} ms beside a batch")
    done.set()
    beside.join()


def _profiles(data: Interactions) -> list[list[object]]:
    rng = np.random.default_rng(0)
    users = rng.integers(0, len(data.users), _REQUESTS)
    return [data.items.ids[data.rows.row(int(user))].tolist() for user in users]


def _throughput(
    model: KernelRanker, profiles: list[list[object]], n_threads: int
) -> tuple[float, list[list[list[object]]]]:
    with ThreadPoolExecutor(n_threads) as pool:
        start = time.perf_counter()
        answers = list(pool.map(model.recommend_profile, profiles))
        seconds = time.perf_counter() - start
    return len(profiles) / seconds, [answer.lists() for answer in answers]


def _latency(model: KernelRanker, profiles: list[list[object]]) -> float:
    """Return the median milliseconds of a request."""
    taken = []
    for profile in profiles:
        start = time.perf_counter()
        model.recommend_profile(profile)
        taken.append(1e3 * (time.perf_counter() - start))
    return median(taken)


if __name__ == "__main__":
    main()
