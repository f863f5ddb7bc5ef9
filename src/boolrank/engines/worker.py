"""A worker process that answers one question at a time, can be ended, and may die.

Questions and answers are lines of JSON: ``python -m boolrank.engines.worker MODULE:FUNCTION``.
A worker that died or ran out of time is replaced at the next question.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any

from .user_modules import load_module, user_modules

Json = dict[str, Any]


class WorkerEndedError(Exception):
    """The process ended before it answered; the text says why."""


class OutOfTimeError(WorkerEndedError):
    """The process took too long and was ended."""


class Worker:
    """A process for one function; call `end` when it is no longer needed.

    In the process, ``start`` is called with ``about`` and returns the function that answers.
    """

    def __init__(self, start: Callable[[Json], Callable[[Json], Json]], about: Json) -> None:
        self.start, self.about = start, about
        self._process: subprocess.Popen[str] | None = None

    def ask(self, question: Json, seconds: float | None = None) -> Json:
        """Return the answer; raise if the process dies or exceeds the time limit."""
        process = self.begin()
        _send(process.stdin, question)
        try:
            line = self._lines.get(timeout=seconds and min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            self.end()
            raise OutOfTimeError(f"it was ended after {seconds:.3g} seconds") from None
        if line:
            return dict(json.loads(line))
        code = process.wait()
        self._messages.seek(0)
        last = self._messages.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        self.end()
        if code < 0:
            raise WorkerEndedError(f"its process was ended by signal {-code}, maybe out of memory")
        raise WorkerEndedError(f"its process ended with code {code}: {''.join(last)}")

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._messages):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both are pipes
        self._process = None

    def begin(self) -> subprocess.Popen[str]:
        """Start the process unless it runs; the first question does so, too."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        name = f"{self.start.__module__}:{self.start.__qualname__}"
        self._lines = queue.Queue[str]()
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end()
        # -P: files in the current folder must not stand for modules.
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-X", "utf8", "-m", __name__, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            encoding="utf-8",
        )
        _read_lines(self._process.stdout, self._lines.put)
        _send(self._process.stdin, self.about)
        return self._process


def _serve(name: str) -> None:
    """Answer questions until the parent is gone."""
    # Ctrl-C reaches all processes of a terminal; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries is not an answer
    lines = queue.Queue[str]()
    _read_lines(sys.stdin, lambda line: lines.put(line) if line else os._exit(0))
    for each in user_modules():
        load_module(each)
    module, _, function = name.partition(":")
    answer = getattr(import_module(module), function)(json.loads(lines.get()))
    while True:
        _send(answers, answer(json.loads(lines.get())))


def _send(pipe: IO[str] | None, content: Json) -> None:
    with contextlib.suppress(OSError):  # a dead receiver is noticed by its silence
        if pipe is not None:
            pipe.write(json.dumps(content) + "\n")
            pipe.flush()


def _read_lines(pipe: IO[str] | None, put: Callable[[str], Any]) -> None:
    """Pass on lines in a thread as they arrive, and "" at the end."""

    def read() -> None:
        with contextlib.suppress(OSError, ValueError):  # closed on our side
            for line in pipe or ():
                put(line)
        put("")

    threading.Thread(target=read, daemon=True).start()


if __name__ == "__main__":
    _serve(sys.argv[1])
