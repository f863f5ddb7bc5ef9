"""What verbs share that work for a while: steps, progress, time and memory, whole output files.

Progress is for people: it appears on stderr if that is a terminal, and only after a second.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

from .._memory import peak_memory
from ..errors import InputError, ParameterError
from ._output import console

if TYPE_CHECKING:
    import polars as pl
    from rich.progress import Progress

__all__ = ["WRITERS", "Work", "check_output", "write_frame"]

# A batch should take a tenth of a second or more: time enough to not be slowed by the next.
_SHORTEST = 0.1
_LONGEST_QUIET = 1.0


class Work:
    """Something that takes a while, from its making on."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.messages = console(stderr=True)

    def say(self, text: str, style: str = "") -> None:
        """Print a message, above a bar if there is one."""
        self.messages.print(text, style=style, soft_wrap=True)

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """A part of the work, named while it lasts."""
        if not self.messages.is_terminal:
            yield
            return
        status = self.messages.status(f"{text} …")
        later = Timer(_LONGEST_QUIET, status.start)
        later.start()
        try:
            yield
        finally:
            later.cancel()
            later.join()
            status.stop()

    def batches(self, values: Sequence[Any], text: str) -> Iterator[Sequence[Any]]:
        """Parts of ``values``, larger ones while they are quick, with a bar once it takes long."""
        start, size = 0, 64
        with self.counter(text) as told:
            while start < len(values):
                before = time.perf_counter()
                yield values[start : start + size]
                start = min(start + size, len(values))
                if time.perf_counter() - before < _SHORTEST:
                    size *= 2
                told(start, len(values), "")

    @contextmanager
    def counter(self, text: str) -> Iterator[Callable[[int, int, str], None]]:
        """Something to tell how much is done of how much, and what; a bar once it takes long."""
        bars: list[Progress] = []

        def told(done: int, total: int, what: str) -> None:
            if not bars and self._takes_long():
                bars.append(self._new_bar(text, total))
            for bar in bars:
                description = f"{text}: {what}" if what else text
                bar.update(bar.task_ids[0], completed=done, description=description)

        try:
            yield told
        finally:
            for bar in bars:
                bar.stop()

    @contextmanager
    def teller(self, *, log: bool = True) -> Iterator[Callable[[str], None]]:
        """Something to tell what is done now, as ``"part: more"``.

        A terminal shows the last of it; elsewhere each part is a line of a ``log``, or nothing.
        """
        if self.messages.is_terminal:
            from rich.text import Text

            with self.messages.status("…") as status:
                # Text, not str: the names of files may look like markup.
                yield lambda text: status.update(Text(f"{text} …"))
            return
        if not log:
            yield lambda _: None
            return
        parts: list[str] = []

        def told(text: str) -> None:
            part = text.partition(": ")[0]
            if part not in parts[-1:]:
                parts.append(part)
                seconds = time.perf_counter() - self.started
                self.say(f"{seconds:7.1f} s  {part}")

        yield told

    def _takes_long(self) -> bool:
        """Whether it is time for a bar; never where nobody would see it."""
        return self.messages.is_terminal and time.perf_counter() - self.started > _LONGEST_QUIET

    def _new_bar(self, text: str, total: int) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=self.messages, transient=True)
        bar.add_task(text, total=total)
        bar.start()
        return bar

    def done(self, text: str, *, beside_data: bool = False) -> None:
        """Say what was done, how long it took, and how much memory at most.

        Not beside data that goes into a pipe or a file: there, silence means that all is well.
        """
        if beside_data and not console().is_terminal:
            return
        took = f"{time.perf_counter() - self.started:.1f} s"
        peak = peak_memory()
        memory = "" if peak is None else f", {peak / 1e6:,.0f} MB at most"
        self.say(f"{text}; {took}{memory}")


# How a frame is written, by how the file's name ends.
WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": lambda frame, path: frame.write_parquet(path),
    ".csv": lambda frame, path: frame.write_csv(path),
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
}


def check_output(path: Path, endings: Collection[str] = WRITERS.keys()) -> None:
    """Refuse a file that cannot be written before the work for it is done."""
    if path.suffix.lower() not in endings:
        raise ParameterError(f"the output {path} must end in one of {', '.join(endings)}")
    if path.is_dir():
        raise InputError(f"the output {path} is a folder; name a file")
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        why = f"{above} is a file, not a folder"
    elif not os.access(above, os.W_OK):
        why = f"you may not write in {above}"
    else:
        return
    raise InputError(f"the output {path} cannot be written: {why}; choose another place for it")


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a file whole or not at all."""
    from ..studies.cache import whole_file

    check_output(path)
    with whole_file(path) as fresh:
        WRITERS[path.suffix.lower()](frame, fresh)
