"""A worker process that answers questions one at a time; it can be ended, and may die.

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
from typing import IO, Any, Self

from .user_modules import import_for_workers

__all__ = ["OutOfTimeError", "Worker", "WorkerEndedError"]

Json = dict[str, Any]
# Called with what a worker is told at first, it gives what answers questions.
Answering = Callable[[Json], Callable[[Json], Json]]


class WorkerEndedError(Exception):
    """The process has ended before it answered; the text says why."""


class OutOfTimeError(WorkerEndedError):
    """It took too long, and was ended."""


class Worker:
    """A process of its own for a function; a context, at whose end it is ended.

    Parameters
    ----------
    answering : a function of a module of ours, which is called there
    about : what it is called with
    """

    def __init__(self, answering: Answering, about: Json) -> None:
        self.answering, self.about = answering, about
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, question: Json, seconds: float | None = None) -> Json:
        """The answer, for which it has so many seconds."""
        process = self._running()
        _tell(process.stdin, question)
        try:
            line = self._lines.get(timeout=seconds and min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            self.end()
            raise OutOfTimeError(f"it was ended after {seconds:.3g} seconds") from None
        if line:
            return dict(json.loads(line))
        code = process.wait()
        self._said.seek(0)
        why = _ended(code, self._said.read().decode("utf-8", "replace"))
        self.end()
        raise WorkerEndedError(why)

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._said):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]  # both are pipes
        self._process = None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.end()
        name = f"{self.answering.__module__}:{self.answering.__qualname__}"
        self._lines = queue.Queue[str]()
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed at the end
        # -P: what lies in the folder where we are must not stand for a module.
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-X", "utf8", "-m", __name__, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            encoding="utf-8",
        )
        reader = threading.Thread(
            target=_pass_on, args=(self._process.stdout, self._lines.put), daemon=True
        )
        reader.start()
        _tell(self._process.stdin, self.about)
        return self._process


def _serve(name: str) -> None:
    """Answer questions until whoever asks is gone."""
    # Ctrl-C goes to all processes of a terminal, and whoever asks decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    lines = queue.Queue[str]()
    threading.Thread(target=_pass_on, args=(sys.stdin, lines.put, os._exit), daemon=True).start()
    import_for_workers()
    module, _, function = name.partition(":")
    answer = getattr(import_module(module), function)(json.loads(lines.get()))
    while True:
        _tell(answers, answer(json.loads(lines.get())))


def _tell(pipe: IO[str] | None, content: Json) -> None:
    with contextlib.suppress(OSError):  # whoever is gone is noticed by what it does not say
        if pipe is not None:
            pipe.write(json.dumps(content) + "\n")
            pipe.flush()


def _pass_on(
    pipe: IO[str], put: Callable[[str], None], at_end: Callable[[int], None] = lambda _: None
) -> None:
    """Lines as they come; an empty one at the end."""
    with contextlib.suppress(OSError, ValueError):  # it was closed on our side
        for line in pipe:
            put(line)
    put("")
    at_end(0)


def _ended(code: int, messages: str) -> str:
    if code < 0:
        return f"its process was ended by signal {-code}, most likely for want of memory"
    last = messages.strip().splitlines()[-1:] or ["it said nothing"]
    return f"its process ended with code {code}: {last[0]}"


if __name__ == "__main__":
    _serve(sys.argv[1])
