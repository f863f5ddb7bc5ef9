"""A worker in this process, for tests of what is asked and answered, not of processes."""

from __future__ import annotations

import json
from collections.abc import Callable

from boolrank.engines.worker import Json


class WorkerHere:
    """Answers like `boolrank.engines.worker.Worker`, and ignores time limits."""

    def __init__(self, start: Callable[[Json], Callable[[Json], Json]], about: Json) -> None:
        self._start, self._about = start, about
        self._answer: Callable[[Json], Json] | None = None

    def ask(self, question: Json, _seconds: float | None = None) -> Json:
        """Return the answer as it would come through a pipe."""
        if self._answer is None:
            self._answer = self._start(_sent(self._about))
        return _sent(self._answer(_sent(question)))

    def end(self) -> None:
        """Forget everything, as a process that is ended."""
        self._answer = None


def _sent(content: Json) -> Json:
    return dict(json.loads(json.dumps(content)))
