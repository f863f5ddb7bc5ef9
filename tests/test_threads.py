"""Compiled loops may be called from several threads at once and after a fork, in any layer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from boolrank import ParameterError
from boolrank.engines.threads import threads

START = """
import os
import numpy as np
from boolrank import Interactions, KernelRanker, parse_kernel

X = np.random.default_rng(0).random((300, 40)) < 0.2
kernels = [parse_kernel(text).normalized() for text in ("disjunctive(3)", "linear", "dnf")]
data = Interactions.from_matrix(X)
"""
THREADS = """
from concurrent.futures import ThreadPoolExecutor

def work(i):
    return kernels[i % 3](X), KernelRanker("disjunctive(2)").fit(data).score()

alone = [work(i) for i in range(3)]
with ThreadPoolExecutor(6) as pool:
    for i, found in enumerate(pool.map(work, range(24))):
        for ours, theirs in zip(found, alone[i % 3], strict=True):
            assert np.array_equal(ours, theirs)
"""
FORK = """
import multiprocessing
before = [kernel(X) for kernel in kernels]
with multiprocessing.get_context("fork").Pool(2) as pool:
    after = pool.starmap_async(type(kernels[0]).__call__, [(k, X) for k in kernels]).get(100)
assert all(map(np.array_equal, before, after))
"""
RANKER = """
before = KernelRanker("disjunctive(2)").fit(data).score()
child = os.fork()
if child == 0:
    same = np.array_equal(before, KernelRanker("disjunctive(2)").fit(data).score())
    os._exit(0 if same else 7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
FORK_AMID = """
from concurrent.futures import ThreadPoolExecutor
from threading import Event

counts = 100, np.full(9000, 3), np.full(9000, 3), np.ones(9000, int)
expected, done = kernels[0].on_counts(*counts), Event()

def busy():
    while not done.is_set():
        kernels[0].on_counts(*counts)

with ThreadPoolExecutor(2) as pool:
    for _ in range(2):
        pool.submit(busy)
    try:
        for _ in range(12):
            child = os.fork()
            if child == 0:
                import signal
                signal.alarm(60)
                same = np.array_equal(expected, kernels[0].on_counts(*counts))
                os._exit(0 if same else 7)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
"""


def run(program: str, layer: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START + program],
        env={**os.environ, "NUMBA_THREADING_LAYER": layer},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_python_threads_may_call_compiled_loops_at_once(layer: str) -> None:
    run(THREADS, layer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_kernels_have_the_same_values_in_a_forked_child(layer: str) -> None:
    run(FORK, layer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_a_ranker_has_the_same_scores_in_a_forked_child(layer: str) -> None:
    run(RANKER, layer)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_a_fork_waits_for_other_threads_to_leave_the_loops(layer: str) -> None:
    run(FORK_AMID, layer)


def test_the_number_of_threads_is_restored() -> None:
    import numba

    before = numba.get_num_threads()
    with threads(1) as count:
        assert count == 1
    assert numba.get_num_threads() == before
    with pytest.raises(ParameterError, match="n_threads"), threads(0):
        pass
