"""What all tests share: hypothesis draws the same examples every time, and where real data lies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from effort import tries

# Derandomised, so that a red test is red for everyone; no deadline, because the first call of a
# compiled loop may compile it.
settings.register_profile("boolrank", derandomize=True, deadline=None, max_examples=tries(60))
settings.load_profile("boolrank")

# Longest first, so that no worker is left with one of these while the other has nothing to do.
LONGEST = [
    *("spark", "service_process", "masses", "cli", "saved_models", "kernel_tables", "any_floats"),
    *("kernel_enumeration", "item_models", "service_page", "kernel_laws", "docs", "tuning"),
    *("cli_models", "kernel_accuracy", "tag_ranker", "threads", "matrix", "experiments"),
    *("cli_doctor", "demo", "disk_fit", "service"),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first; all other tests stay in order."""
    places = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets, named by the environment variable BOOLRANK_DATA."""
    named = os.environ.get("BOOLRANK_DATA")
    if not named:
        pytest.skip("BOOLRANK_DATA does not name a folder of real data sets")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"BOOLRANK_DATA names {named}, which is not a folder")
    return folder


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process; gives exit code, stdout and stderr."""
    from boolrank import cli

    monkeypatch.setenv("COLUMNS", "160")

    def run(*args: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_info:
            cli.main([str(arg) for arg in args])
        captured = capsys.readouterr()
        return int(exit_info.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit models of studies in this process: a worker process takes a second to start."""
    from worker_here import WorkerHere

    monkeypatch.setattr("boolrank.studies.executor.Worker", WorkerHere)
