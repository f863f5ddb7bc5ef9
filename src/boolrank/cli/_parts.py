"""A long result as part files beside the target: bounded memory, and a killed run continues."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..storage.job import Job
from ..storage.output import unwritable, whole_file
from ..table import FORMULA

if TYPE_CHECKING:
    import polars as pl

# Functions that write a lazy frame, by the ending of the file.
WRITERS = {".parquet": "sink_parquet", ".csv": "sink_csv", ".jsonl": "sink_ndjson"}


class Parts:
    """Numbered parts of a result, in Parquet files of a job; `Parts.open` makes them."""

    def __init__(self, target: Path, job: Job) -> None:
        self.target, self._job = target, job

    @staticmethod
    @contextmanager
    def open(target: Path, key: Any) -> Iterator[Parts]:
        """Hold a hidden folder beside the target, which is removed unless the run is interrupted.

        The key determines the result.
        """
        folder = target.with_name(f".{target.name}-parts")
        with Job.open(folder, json.dumps(key, default=str), shown=target) as job:
            yield Parts(target, job)
            shutil.rmtree(folder)

    def get(self, number: int) -> pl.DataFrame | None:
        """Return a part that was written before."""
        import polars as pl

        known = number < self._job.state.get("parts", 0)
        return pl.read_parquet(self._path(number), glob=False) if known else None

    def put(self, number: int, frame: pl.DataFrame) -> None:
        """Write the part behind those that are known."""
        with self._reported():
            frame.write_parquet(self._path(number))
        self._job.commit(self._path(number), parts=number + 1)

    def join(self, count: int, *, safe: bool) -> None:
        """Write all parts into the target. With ``safe``, formulas in CSV are marked as text."""
        import polars as pl

        scans = [pl.scan_parquet(self._path(number), glob=False) for number in range(count)]
        frame = pl.concat(scans, how="vertical_relaxed")  # parts without rows have no types
        ending = self.target.suffix.lower()
        if safe and ending == ".csv":
            frame = frame.with_columns(pl.col(pl.String).str.replace(FORMULA, "'$1"))
        with self._reported(), whole_file(self.target) as fresh:
            getattr(frame, WRITERS[ending])(fresh)

    def _path(self, number: int) -> Path:
        return self._job.file(f"part-{number}")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Raise errors of writing as errors about the target."""
        import polars as pl

        try:
            yield
        except OSError as error:
            raise unwritable(self.target, error) from None
        except pl.exceptions.PolarsError as error:
            raise unwritable(self.target, str(error).rpartition("error: ")[2]) from None
