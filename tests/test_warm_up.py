"""Loops are compiled beside a race on a machine that has none yet."""

import time

import pytest

from boolrank._compiled import compiler
from boolrank.engines.worker import Worker
from boolrank.studies import warm_up
from boolrank.studies.families import FAMILIES


@pytest.fixture
def workers(monkeypatch, tmp_path):
    """Give the running workers; an empty folder stands for that of compiled code."""
    running = []

    class Recorder(Worker):
        def begin(self):
            running.append(self.start)

        def end(self):
            running.remove(self.start)

    monkeypatch.setattr(warm_up, "Worker", Recorder)
    monkeypatch.setattr(warm_up, "most_threads", lambda: 2)
    monkeypatch.setattr(compiler, "cache_folder", lambda: tmp_path)
    return running


def test_on_a_new_machine_a_process_compiles_beside_a_race_and_ends_with_it(workers):
    def race():
        with warm_up.compiled_beside():
            assert workers == [warm_up.start_compiler]
            raise KeyError

    with pytest.raises(KeyError):
        race()
    assert workers == []


def test_no_process_starts_where_loops_are_compiled(workers, tmp_path):
    (tmp_path / "simplex.solve-30.py311.1.nbc").touch()
    with warm_up.compiled_beside():
        assert workers == []


def test_no_process_starts_where_compiled_code_is_not_kept(workers, monkeypatch):
    monkeypatch.setattr(compiler, "cache_folder", lambda: None)
    with warm_up.compiled_beside():
        assert workers == []


def test_no_process_starts_on_one_core(workers, monkeypatch):
    monkeypatch.setattr(warm_up, "most_threads", lambda: 1)
    with warm_up.compiled_beside():
        assert workers == []


class _StopError(Exception):
    """The first model is known."""


@pytest.mark.parametrize(("backwards", "place"), [(False, 0), (True, -1)])
def test_the_compiler_begins_with_the_last_model_of_the_race(backwards, place):
    told = []

    def tell(text):
        told.append(text)
        if len(told) == 2:
            raise _StopError

    with pytest.raises(_StopError):
        warm_up.compile_ahead(tell, backwards=backwards)
    name = type(next(FAMILIES[place].first_settings(with_times=True)).make()).__name__
    assert told[1] == f"compiling {name}"


def test_the_compiler_is_a_process_that_keeps_its_code_for_others(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    worker, until = Worker(warm_up.start_compiler, {}), time.monotonic() + 120
    worker.begin()
    try:
        while not any(tmp_path.rglob("*.nbc")) and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        worker.end()
    assert any(tmp_path.rglob("*.nbc"))
