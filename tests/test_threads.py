"""Compiled loops run on Python threads, in forked children, and without a folder for their code."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread, get_ident
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import boolrank._compiled
from boolrank import Interactions, KernelRanker
from boolrank._compiled.ranges import for_ranges, most_threads
from boolrank.engines.threads import threads
from boolrank.errors import ParameterError
from effort import THOROUGH

MUCH = 1 << 30

START = """
import os
import numpy as np
from boolrank import Interactions, KernelRanker, parse_kernel

X = np.random.default_rng(0).random((300, 40)) < 0.2
kernels = [parse_kernel(text).normalized() for text in ("disjunctive(3)", "linear", "dnf")]
data = Interactions.from_matrix(X)
"""
FORK = """
import multiprocessing
before = [kernel(X) for kernel in kernels]
with multiprocessing.get_context("fork").Pool(2) as pool:
    after = pool.starmap_async(type(kernels[0]).__call__, [(k, X) for k in kernels]).get(100)
assert all(map(np.array_equal, before, after))
"""
# The three equal items of the first user make a problem whose curvature is 0.
RANKER = """
X[0], X[:, 1], X[:, 2] = False, X[:, 0], X[:, 0]
X[0, :3] = True
equal = Interactions.from_matrix(X)

def scores():
    return KernelRanker("disjunctive(2)", reg=0).fit(equal).score()

before = scores()
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(before, scores()) else 7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
FORK_AMID = """
from concurrent.futures import ThreadPoolExecutor
from threading import Event

model = KernelRanker("disjunctive(2)").fit(data)
expected, done = model.score(), Event()

def busy():
    while not done.is_set():
        model.score()

with ThreadPoolExecutor(2) as pool:
    for _ in range(2):
        pool.submit(busy)
    try:
        for _ in range(12):
            child = os.fork()
            if child == 0:
                import signal
                signal.alarm(60)
                os._exit(0 if np.array_equal(expected, model.score()) else 7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
"""
FORK_WITH_BLAS = """
from threading import Event, Thread
from threadpoolctl import threadpool_info
from boolrank.engines.threads import one_blas_thread

def counts():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

def hold():
    with one_blas_thread():
        inside.set()
        Event().wait(0.2)

before, inside, thread = counts(), Event(), Thread(target=hold)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    import signal
    signal.alarm(60)
    with one_blas_thread():
        os._exit(0 if counts() == {1} else 7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
assert counts() == before
"""
COMPILE = """
import warnings
import numpy as np

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from boolrank._compiled.compiler import on_compile
    from boolrank._compiled.rows import column_sums, transposed
told = []
with on_compile(told.append):
    start, rows, _ = transposed(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), 2)
    column_sums(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), 2)
assert (start.tolist(), rows.tolist()) == ([0, 1, 3], [0, 0, 1])
print(len(told), *(warning.message for warning in caught))
"""


def run(program: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def model() -> KernelRanker:
    rng = np.random.default_rng(0)
    return KernelRanker("disjunctive(2)").fit(
        Interactions.from_matrix(rng.random((900, 300)) < 0.2)
    )


def answers(model: KernelRanker, profile: list[int]) -> Any:
    return model.recommend_profile(profile, n=5)


def test_ranges_cover_every_row_once_on_several_threads() -> None:
    rows, seen = np.zeros(1000, int), set[int]()

    def loop(start: int, stop: int, step: int) -> None:
        rows[start:stop] += step
        seen.add(get_ident())

    for_ranges(loop, 1000, MUCH, 1)
    assert rows.tolist() == [1] * 1000
    assert (get_ident() in seen) == (most_threads() == 1)


@pytest.mark.parametrize(("size", "work", "n_threads"), [(1000, 10, 8), (1, MUCH, 8), (9, MUCH, 1)])
def test_little_work_stays_in_the_calling_thread(size: int, work: int, n_threads: int) -> None:
    calls: list[tuple[int, int, int]] = []
    with threads(n_threads):
        for_ranges(lambda *pair: calls.append((*pair, get_ident())), size, work)
    assert calls == [(0, size, get_ident())]


def test_an_error_in_a_range_reaches_the_caller() -> None:
    def loop(start: int, stop: int) -> None:
        if start <= 500 < stop:
            raise MemoryError("no scratch memory")

    with pytest.raises(MemoryError, match="scratch"):
        for_ranges(loop, 1000, MUCH)


def test_the_number_of_threads_is_scoped_to_a_block_and_a_context() -> None:
    most = most_threads()
    elsewhere: list[int] = []

    def look() -> None:
        with threads(None) as count:
            elsewhere.append(count)

    with threads(1) as count:
        assert count == 1
        with threads(None) as inner:
            assert inner == 1
        other = Thread(target=look)
        other.start()
        other.join()
    with threads(None) as count:
        assert count == most
    with threads(most + 5) as count:
        assert count == most
    assert elsewhere == [most]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2"])
def test_a_number_of_threads_below_1_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="n_threads"), threads(wrong):
        pass


@pytest.mark.parametrize("storage", ["dense", "compressed"])
def test_the_number_of_threads_changes_no_bit(model: KernelRanker, storage: str) -> None:
    scores = [
        KernelRanker("disjunctive(3)", storage=storage, n_threads=n).fit(model.interactions).score()
        for n in (1, 2, None)
    ]
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


def test_concurrent_answers_are_those_of_one_thread(model: KernelRanker) -> None:
    profiles = [list(range(k, k + 20)) for k in range(100)]
    alone = [answers(model, profile) for profile in profiles]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda profile: answers(model, profile), profiles))
    assert list(map(repr, together)) == list(map(repr, alone))


def test_a_fit_does_not_disturb_who_asks_meanwhile() -> None:
    """Every answer is that of the old fit or of the new one, though items come and go."""
    rng = np.random.default_rng(5)
    sides = [Interactions.from_matrix(rng.random((80, m)) < 0.2) for m in (30, 300)]
    model = KernelRanker("disjunctive(2)")
    expected = [repr(model.fit(side).recommend(n=5).lists()) for side in sides]
    answers: SimpleQueue[str] = SimpleQueue()
    stop = Event()

    def ask() -> None:
        while not stop.is_set():
            answers.put(repr(model.recommend(n=5).lists()))

    seen = set()
    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(ask) for _ in range(3)]
        try:
            for k in range(16):
                model.fit(sides[k % 2])
                answer = None
                while answer != expected[k % 2]:  # requests that were under way come first
                    answer = answers.get(timeout=60)
                    seen.add(answer)
        finally:
            stop.set()
    for each in asking:
        each.result()
    while not answers.empty():
        seen.add(answers.get())
    assert seen == set(expected)


def test_a_long_batch_in_another_thread_does_not_block_single_requests(model: KernelRanker) -> None:
    done, started = Event(), Event()
    rows = np.tile(np.arange(900), 40)

    def batch() -> None:
        started.set()
        model.recommend(rows.tolist(), n=5)
        done.set()

    answers(model, [1, 2, 3])
    long = Thread(target=batch)
    long.start()
    started.wait()
    for _ in range(5):
        answers(model, [1, 2, 3])
    assert not done.is_set()
    long.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    "program",
    [FORK, RANKER, FORK_AMID, FORK_WITH_BLAS],
    ids=["kernel", "ranker", "amid", "blas"],
)
def test_a_forked_child_has_the_results_of_its_parent(program: str) -> None:
    run(START + program)


def test_compiling_is_told_once_and_never_for_cached_code(tmp_path: Path) -> None:
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(COMPILE, **env) == "1\n"
    assert run(COMPILE, **env) == "0\n"


SCORES = """
import boolrank
data = boolrank.load_dataset("synthetic:400x300x5000")
print(boolrank.KernelRanker().fit(data).recommend(n=20).scores.tolist())
"""


@pytest.mark.skipif(not THOROUGH, reason="compiles for 15 s; continuous integration does")
def test_cached_code_rounds_as_the_process_that_compiled_it(tmp_path: Path) -> None:
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(SCORES, **env) == run(SCORES, **env)


def test_only_loops_that_bound_scores_may_be_rounded_freely() -> None:
    """The order in which loops were compiled once changed the last digits of sparse KernelEase."""
    free = set()
    for module in pkgutil.iter_modules(boolrank._compiled.__path__):
        loops = vars(importlib.import_module(f"boolrank._compiled.{module.name}"))
        for name, loop in loops.items():
            if isinstance(loop, Dispatcher) and loop.targetoptions.get("fastmath"):
                free.add(f"{loop.py_func.__module__.rpartition('.')[2]}.{name}")
    bounds = {"low_rank._coarse_product", "low_rank._fill_heads", "low_rank._fill_near"}
    bounds |= {"low_rank._highest", "sketch._add_entries", "sketch._add_long"}
    assert free == bounds | {"ranking._fill_tops"}


READ_ONLY = """
import tempfile
def fail(*_args, **_options):
    raise OSError("read-only file system")
tempfile.TemporaryFile = fail  # by which numba finds out
"""


def test_compiled_code_in_a_read_only_folder_is_used(tmp_path: Path) -> None:
    env = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(COMPILE, **env) == "1\n"
    assert run(READ_ONLY + COMPILE, **env) == "0\n"


def test_without_a_writable_folder_loops_run_uncached_with_one_warning(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    env = {
        "NUMBA_CACHE_DIR": str(blocked / "cache"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }
    told = run(COMPILE, **env)
    assert told.startswith("1 compiled code is not kept")
    assert told.count("NUMBA_CACHE_DIR") == 1
