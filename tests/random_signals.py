"""Send SIGINT or SIGTERM to commands at random moments.

    python tests/random_signals.py COUNT SEED [VERB ...]

prints how many runs ended in which way. A signal must end a command with 130 or 143, or kill it,
and never lead to a traceback. Whatever a killed run leaves behind is gone after the next.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from boolrank import Interactions, make_model

EVENTS = "events.csv"
COMMANDS = {
    "fit": ("fit", EVENTS, "--kernel", "disjunctive(2)", "--out", "fitted"),
    "auto": ("fit", EVENTS, "--trials", "3", "--out", "chosen"),
    "tune": ("tune", EVENTS, "--model", "item-knn", "--trials", "6"),
    "compare": ("compare", EVENTS, "--models", "item-knn,popularity", "--trials", "2"),
    "recommend": ("recommend", "model", "--out", "lists.csv"),
    "demo": ("demo",),
}
LONGEST = 8.0  # seconds before a signal
PYTHON = "tracebacks of Python's own start"


def write_events(folder: Path) -> None:
    """Write the events of 300 users."""
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 300, 6000), rng.pareto(1, 6000).astype(int) % 200
    rows = (f"u{user},i{item},{k}" for k, (user, item) in enumerate(zip(users, items, strict=True)))
    (folder / EVENTS).write_text("\n".join(["user,item,time", *rows]))


def send_signals(folder: Path, verbs: list[str], count: int, seed: int) -> Counter[str]:
    """Return how many runs ended in which way; raise at the first wrong one."""
    rng, ends = np.random.default_rng(seed), Counter[str]()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
    (folder / "temporary").mkdir()
    write_events(folder)
    make_model("item-knn").fit(Interactions.from_files(folder / EVENTS)).save(folder / "model")
    usual = {verb: _run(folder, *COMMANDS[verb]) for verb in verbs}
    for k in range(count):
        verb = verbs[k % len(verbs)]
        sent = (signal.SIGINT, signal.SIGTERM)[k // len(verbs) % 2]
        ends[_interrupt(folder, verb, sent, rng.random() * min(usual[verb], LONGEST))] += 1
    return ends


def _interrupt(folder: Path, verb: str, sent: signal.Signals, delay: float) -> str:
    out = tempfile.mkdtemp(dir=folder)
    command = COMMANDS[verb] if "--out" in COMMANDS[verb] else (*COMMANDS[verb], "--out", out)
    process = _start(folder, *command)
    time.sleep(delay)
    done = process.poll() is not None or _is_exiting(process.pid)
    process.send_signal(sent)
    try:
        _, messages = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{verb} ignored {sent.name} after {delay:.3f} s") from None
    if done:
        return "done before"
    if "KeyboardInterrupt" in messages and f"{os.sep}boolrank{os.sep}" not in messages:
        return PYTHON  # before anything of ours is imported
    expected = {-sent, {signal.SIGINT: 130, signal.SIGTERM: 143}[sent]}
    if process.returncode not in expected or "Traceback" in messages or "ignored" in messages:
        raise AssertionError(
            f"{verb} ended with {process.returncode} at {sent.name} after {delay:.3f} s: {messages}"
        )
    return f"{sent.name}: {process.returncode}"


def _is_exiting(process: int) -> bool:
    """Return whether the system is already removing the process."""
    flags = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[6]
    return bool(int(flags) & 4)


def _start(folder: Path, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "boolrank", *command],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder / "temporary")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _run(folder: Path, *command: str) -> float:
    """Return the seconds that a command takes."""
    start = time.perf_counter()
    with _start(folder, *command) as process:
        _, messages = process.communicate()
    if process.returncode:
        raise AssertionError(messages)
    return time.perf_counter() - start


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        verbs = sys.argv[3:] or [*COMMANDS]
        for end, number in send_signals(Path(place), verbs, *map(int, sys.argv[1:3])).items():
            sys.stdout.write(f"{end}: {number}\n")
