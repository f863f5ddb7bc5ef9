"""Work in a model folder that continues where a killed process has stopped.

The files of a job end in a hash of what determines its result, so the same job finds them again.
They look like leftovers of a writer: readers never see them, and the next writer removes them.
Progress names the length and the checksum of each file: after damage the job starts again.
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

from ..errors import BoolrankError, ModelFileError
from .disk_array import DiskArray
from .folder import (
    check_target,
    digest,
    leftovers,
    listed_files,
    locked,
    remove_files,
    unwritable,
    write_file,
)


class Job:
    """The files and the progress of a job; `Job.open` makes one."""

    def __init__(self, path: Path, suffix: str) -> None:
        self.path, self.suffix = path, suffix
        self._file = path / f"progress.{suffix}.json"
        self.state, self._files = self._restored()
        kept = {self._file.name, *self._files} if self.state else set()
        remove_files(file for file in leftovers(path) if file.name not in kept)

    @staticmethod
    @contextmanager
    def open(path: str | Path, key: Any, resumes: bool = True) -> Iterator[Job]:
        """Hold a folder for a job with this key, of JSON types.

        Files of other jobs are removed, and after an error the files of this job. A killed or
        interrupted process leaves them for the next one, which ``resumes``.
        """
        path = check_target(path)
        suffix = digest(key)[:32]
        try:
            is_new = not path.exists()
            path.mkdir(parents=True, exist_ok=True)
            with locked(path, wait=False):
                if any(suffix in name for name in listed_files(path)):
                    suffix = digest(suffix)[:32]  # this job wrote the current content: keep it
                try:
                    yield Job(path, suffix)
                except BaseException as error:
                    if isinstance(error, Exception) or not resumes:
                        remove_files(file for file in leftovers(path) if suffix in file.name)
                        if is_new and not any(path.iterdir()):
                            path.rmdir()
                    raise
        except (BoolrankError, ConnectionError):
            raise
        except BlockingIOError:
            raise ModelFileError(
                f"another process writes {path}", hint="wait for it, or choose another folder"
            ) from None
        except OSError as error:
            raise unwritable(path, error.strerror or str(error)) from None

    def array(self, name: str, dtype: DTypeLike) -> DiskArray:
        """Return the array of this name."""
        return DiskArray(self.path / f"{name}.{self.suffix}.bin", dtype)

    def remove(self, name: str) -> None:
        """Remove an array that is not needed any more."""
        (self.path / f"{name}.{self.suffix}.bin").unlink(missing_ok=True)

    def commit(self, *arrays: DiskArray, **progress: Any) -> None:
        """Keep progress, all or nothing, and what was appended to the arrays that it refers to."""
        for array in arrays:
            array.sync()
            start, checksum = self._files.get(array.path.name, (0, 0))
            length = array.path.stat().st_size
            self._files[array.path.name] = length, _checksum(array.path, start, length, checksum)
        self.state |= progress
        text = json.dumps([self.state, self._files]).encode()
        fresh = self._file.with_name(f"fresh.{self.suffix}.json")
        fresh.unlink(missing_ok=True)
        write_file(fresh, b"%08x" % zlib.crc32(text) + text)
        fresh.replace(self._file)

    def _restored(self) -> tuple[dict[str, Any], dict[str, tuple[int, int]]]:
        """Return the progress and the files it refers to, cut to their lengths; {} if damaged."""
        try:
            raw = self._file.read_bytes()
            if self._file.is_symlink() or raw[:8] != b"%08x" % zlib.crc32(raw[8:]):
                return {}, {}
            state, files = json.loads(raw[8:])
            for name, (length, checksum) in files.items():
                file = self.path / name
                if file.is_symlink() or _checksum(file, 0, length) != checksum:
                    return {}, {}
                os.truncate(file, length)
        except (OSError, EOFError):
            return {}, {}
        return state, files


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
