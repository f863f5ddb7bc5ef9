"""A long result as part files beside the target: bounded memory, and a killed run continues."""

from __future__ import annotations

import glob
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..storage.folder import locked
from ..studies.cache import unwritable, whole_file
from ..table import FORMULA

if TYPE_CHECKING:
    import polars as pl

# Functions that write a lazy frame, by the ending of the file.
WRITERS = {".parquet": "sink_parquet", ".csv": "sink_csv", ".jsonl": "sink_ndjson"}


class Parts:
    """Parts of a result in a hidden folder, which is named by what determines the result."""

    def __init__(self, target: Path, key: Any) -> None:
        self.target, name = target, hashlib.sha256(json.dumps(key, default=str).encode())
        self._folder = target.with_name(f".{target.name}-{name.hexdigest()[:32]}")
        self._lock = ExitStack()

    def __enter__(self) -> Parts:
        try:
            with self._reported():
                self._folder.mkdir(parents=True, exist_ok=True)
                self._lock.enter_context(locked(self._folder, wait=False))
                name = glob.escape(f".{self.target.name}-")
                for other in self.target.parent.glob(name + "[0-9a-f]" * 32):
                    if other != self._folder and other.is_dir():
                        with locked(other, wait=False):
                            shutil.rmtree(other)  # of a run that was killed and will not continue
        except InputError:
            with self._lock, suppress(OSError):  # parts of an earlier run stay
                self._folder.rmdir()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Remove parts, unless somebody interrupted the run and may continue it."""
        with self._lock, suppress(OSError):
            if kind is None or issubclass(kind, Exception):
                shutil.rmtree(self._folder)
            self._folder.rmdir()  # if nothing was written

    def get(self, number: int) -> pl.DataFrame | None:
        """Return a part that was written before."""
        import polars as pl

        with suppress(FileNotFoundError, pl.exceptions.PolarsError):  # of a machine that stopped
            return pl.read_parquet(self._path(number), glob=False)
        return None

    def put(self, number: int, frame: pl.DataFrame) -> None:
        """Write a part, all or nothing."""
        path = self._path(number)
        with self._reported():
            frame.write_parquet(path.with_suffix(".fresh"))
            path.with_suffix(".fresh").replace(path)

    def join(self, count: int, *, safe: bool) -> None:
        """Write all parts into the target. With ``safe``, formulas in CSV are marked as text."""
        import polars as pl

        paths = [self._path(number) for number in range(count)]
        scans = [pl.scan_parquet(path, glob=False) for path in paths]
        rows = [scan.select(pl.len()).collect().item() for scan in scans]
        some = [scan for scan, length in zip(scans, rows, strict=True) if length] or scans[:1]
        frame = pl.concat(some, how="vertical_relaxed")
        ending = self.target.suffix.lower()
        if safe and ending == ".csv":
            frame = frame.with_columns(pl.col(pl.String).str.replace(FORMULA, "'$1"))
        with self._reported(), whole_file(self.target) as fresh:
            getattr(frame, WRITERS[ending])(fresh)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06}.parquet"

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Raise errors of the system and of polars as errors about the target."""
        import polars as pl

        try:
            yield
        except BlockingIOError:
            raise InputError(
                f"another process writes {self.target}",
                hint="wait for it, or choose another file",
                parameter="out",
            ) from None
        except OSError as error:
            raise unwritable(self.target, error.strerror or str(error)) from None
        except pl.exceptions.PolarsError as error:
            raise unwritable(self.target, str(error).rpartition("error: ")[2]) from None
