"""A worker in this process, for tests of what is asked and answered, not of processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable

from boolrank.engines.worker import Message


class WorkerHere:
    """Answers like `boolrank.engines.worker.Worker`, and ignores time limits."""

    def __init__(
        self, start: Callable[[Message], Callable[[Message], Message]], about: Message
    ) -> None:
        self._start, self._about = start, about
        self._answer: Callable[[Message], Message] | None = None

    @property
    def running(self) -> bool:
        """Whether it knows what it was told before."""
        return self._answer is not None

    def ask(self, question: Message, _seconds: float | None = None) -> Message:
        """Return the answer as it would come through a pipe."""
        if self._answer is None:
            self._answer = self._start(_sent(self._about))
        return _sent(self._answer(_sent(question)))

    def end(self) -> None:
        """Forget everything, as a process that is ended."""
        self._answer = None


def _sent(content: Message) -> Message:
    return dict(pickle.loads(pickle.dumps(content)))  # noqa: S301 - our own
