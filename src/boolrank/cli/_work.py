"""Progress, time and memory of verbs that take a while, and output files.

Progress appears on stderr if that is a terminal, and only after a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from .._memory import peak_memory
from ..errors import InputError, ParameterError
from ..storage.folder import obstacle
from ._output import console, printable, say

_QUIET_SECONDS = 1.0

Tell = Callable[[str], None]


class Work:
    """A task that takes a while; its time starts when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @contextmanager
    def status(self, text: str = "", *, log: bool = False) -> Iterator[Tell]:
        """Show what is being done, and give a function that changes it.

        Without a terminal, ``log`` prints a line for each new part of ``"part: more"``.
        """
        messages = console(stderr=True)
        if not messages.is_terminal:
            yield self._log() if log else lambda _: None
            return
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        from .._compiled.compiler import on_compile

        spinner = Spinner("dots")
        # Stdout stays as it is: a library that keeps it would find it closed at the end.
        live = Live(spinner, console=messages, transient=True, redirect_stdout=False)
        later = Timer(_QUIET_SECONDS, live.start)

        def tell(text: str) -> None:
            spinner.update(text=Text(printable(f"{text} …")))  # Text: file names are not markup

        tell(text)
        later.start()
        try:
            with on_compile(tell):
                yield tell
        finally:
            later.cancel()
            later.join()
            live.stop()

    def _log(self) -> Tell:
        said = [""]

        def tell(text: str) -> None:
            part = text.partition(": ")[0]
            if part != said[-1]:
                said.append(part)
                say(f"{self._seconds:7.1f} s  {part}")

        return tell

    @contextmanager
    def counter(self, text: str) -> Iterator[Callable[[int, int, str], None]]:
        """Give a function that shows the number done, the total, the time left and a remark."""
        with self.status(text) as tell:
            start = time.perf_counter()

            def count(done: int, total: int, remark: str) -> None:
                left = (time.perf_counter() - start) * (total - done) / max(done, 1)
                more = f"; {remark}" if remark else ""
                tell(f"{text}: {done:,} of {total:,}, about {left:,.0f} s left{more}")

            yield count

    def done(self, text: str, *, beside_data: bool = False) -> None:
        """Print a summary with the time taken and the peak memory.

        Beside data that goes to a pipe or a file nothing is printed: silence means success.
        """
        if beside_data and not console().is_terminal:
            return
        peak = peak_memory()
        memory = "" if peak is None else f", {peak / 1e6:,.0f} MB peak memory"
        say(f"{text}; {self._seconds:.1f} s{memory}")

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started


def check_output(path: Path, endings: Collection[str]) -> None:
    """Raise if a file cannot be written, before the work for it is done."""
    if path.suffix.lower() not in endings:
        raise ParameterError(
            f"{path} has no known file type", hint=f"name a file in {', '.join(endings)}"
        )
    why = "it is a folder" if path.is_dir() else obstacle(path.parent)
    if why:
        raise InputError(f"{path} cannot be written: {why}", hint="choose another file")
