"""A worker process that answers one question at a time, can be ended, and may die.

Questions and answers are pickled: ``python -m boolrank.engines.worker MODULE:FUNCTION``.
A worker that died or ran out of time is replaced at the next question.
"""

from __future__ import annotations

import contextlib
import os
import pickle
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

Message = dict[str, Any]


class WorkerEndedError(Exception):
    """The process ended before it answered; the text says why."""


class OutOfTimeError(WorkerEndedError):
    """The process took too long and was ended."""


class Worker:
    """A process for one function; call `end` when it is no longer needed.

    In the process, ``start`` is called with ``about`` and returns the function that answers.
    """

    def __init__(
        self, start: Callable[[Message], Callable[[Message], Message]], about: Message
    ) -> None:
        self.start, self.about = start, about
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process, which knows what it was told before."""
        return self._process is not None and self._process.poll() is None

    def ask(self, question: Message, seconds: float | None = None) -> Message:
        """Return the answer; raise if the process dies or exceeds the time limit."""
        process = self._running()
        _send(process.stdin, question)
        try:
            answer = self._answers.get(timeout=seconds and min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            self.end()
            raise OutOfTimeError(f"it was ended after {seconds:.3g} seconds") from None
        if answer is not None:
            return answer
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

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self.running:
            return self._process
        self.end()
        name = f"{self.start.__module__}:{self.start.__qualname__}"
        self._answers = queue.Queue[Message | None]()
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end()
        # -P: files in the current folder must not stand for modules.
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-X", "utf8", "-m", __name__, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
        )
        _receive(self._process.stdout, self._answers.put)
        _send(self._process.stdin, self.about)
        return self._process


def _serve(name: str) -> None:
    """Answer questions until the parent is gone."""
    # Ctrl-C reaches all processes of a terminal; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries is not an answer
    questions = queue.Queue[Message]()
    _receive(sys.stdin.buffer, lambda each: questions.put(each) if each else os._exit(0))
    for each in user_modules():
        load_module(each)
    module, _, function = name.partition(":")
    answer = getattr(import_module(module), function)(questions.get())
    while True:
        _send(answers, answer(questions.get()))


def _send(pipe: IO[bytes] | None, content: Message) -> None:
    with contextlib.suppress(OSError):  # a dead receiver is noticed by its silence
        if pipe is not None:
            pickle.dump(content, pipe, pickle.HIGHEST_PROTOCOL)
            pipe.flush()


def _receive(pipe: IO[bytes] | None, put: Callable[[Any], Any]) -> None:
    """Pass on messages in a thread as they arrive, and None at the end."""

    def read() -> None:
        # The pipe is closed, on our side or in the middle of a message.
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while pipe is not None:
                put(pickle.load(pipe))  # noqa: S301 - from our own process
        put(None)

    threading.Thread(target=read, daemon=True).start()


if __name__ == "__main__":
    _serve(sys.argv[1])
