"""Work in a folder that continues where a killed process has stopped.

The files of a job end in a hash of everything that determines its result, so the same job finds
them again. In a model folder, readers never see them, and the next writer removes them. Progress
names the length and the checksum of each file: after damage the job starts again.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike

from .disk_array import DiskArray, sync
from .folder import digest, held, leftovers, listed_files, remove_files, write_file


class Job:
    """The files and the progress of a job; `Job.open` makes one."""

    def __init__(self, path: Path, suffix: str) -> None:
        self.path, self.suffix = path, suffix
        self._progress = path / f"progress.{suffix}.json"
        self.state, self._files = self._restored()
        kept = {self._progress.name, *self._files} if self.state else set()
        remove_files(file for file in leftovers(path) if file.name not in kept)

    @staticmethod
    @contextmanager
    def open(
        path: str | Path, key: Any, *, resumes: bool = True, shown: Path | None = None
    ) -> Iterator[Job]:
        """Hold a folder for a job with this key, of JSON types.

        Files of other jobs are removed, and after an error the files of this job. A killed or
        interrupted process leaves them for the next one, which ``resumes``. Errors name ``shown``
        in place of a hidden folder, which is the job's own.
        """
        suffix, is_own = digest(key)[:32], shown is not None or not Path(path).exists()
        with held(path, wait=False, shown=shown) as folder:
            if any(suffix in name for name in listed_files(folder)):
                suffix = digest(suffix)[:32]  # this job wrote the current content: keep it
            try:
                yield Job(folder, suffix)
            except BaseException as error:
                if isinstance(error, Exception) or not resumes:
                    remove_files(file for file in leftovers(folder) if suffix in file.name)
                if is_own and not any(folder.iterdir()):
                    folder.rmdir()
                raise

    def file(self, name: str) -> Path:
        """Return the path of a file of this job."""
        return self.path / f"{name}.{self.suffix}.bin"

    def array(self, name: str, dtype: DTypeLike) -> DiskArray:
        """Return an array in a file, which may be new."""
        return DiskArray(self.file(name), dtype)

    def commit(self, *files: Path, **progress: Any) -> None:
        """Keep progress, all or nothing, and what was appended to the files that it refers to."""
        for file in files:
            start, checksum = self._files.get(file.name, (0, 0))
            sync(file)
            length = file.stat().st_size
            self._files[file.name] = length, _checksum(file, start, length, checksum)
        self.state |= progress
        text = json.dumps([self.state, self._files]).encode()
        fresh = self._progress.with_name(f"fresh.{self.suffix}.json")
        fresh.unlink(missing_ok=True)
        write_file(fresh, b"%08x" % zlib.crc32(text) + text)
        fresh.replace(self._progress)

    def _restored(self) -> tuple[dict[str, Any], dict[str, tuple[int, int]]]:
        """Return the progress and the files it refers to, cut to their lengths; {} if damaged."""
        try:
            raw = self._progress.read_bytes()
            if self._progress.is_symlink() or raw[:8] != b"%08x" % zlib.crc32(raw[8:]):
                return {}, {}
            state, files = json.loads(raw[8:])
            for name, (length, checksum) in files.items():
                file = self.path / name
                if file.is_symlink() or file.parent != self.path or self.suffix not in file.name:
                    return {}, {}
                if _checksum(file, 0, length) != checksum:
                    return {}, {}
                os.truncate(file, length)
            return dict(state), files
        except (OSError, EOFError, ValueError, TypeError, AttributeError):
            return {}, {}


def _checksum(path: Path, start: int, stop: int, checksum: int = 0) -> int:
    """Continue a CRC-32 with a range of a file."""
    with path.open("rb") as file:
        file.seek(start)
        while start < stop:
            chunk = file.read(min(stop - start, 1 << 20))
            if not chunk:
                raise EOFError(path)
            start, checksum = start + len(chunk), zlib.crc32(chunk, checksum)
    return checksum
