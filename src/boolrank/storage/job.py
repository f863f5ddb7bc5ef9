"""Work in a model folder that continues where a killed process has stopped.

The files of a job end in a hash of what determines its result, so the same job finds them again.
They look like leftovers of a writer: readers never see them, and the next writer removes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike

from ..errors import BoolrankError, ModelFileError
from .disk_array import DiskArray
from .folder import check_target, leftovers, listed_files, locked, unwritable, write_file


class Job:
    """The files and the progress of a job; `Job.open` makes one."""

    def __init__(self, path: Path, suffix: str) -> None:
        self.path, self.suffix = path, suffix
        self._file = path / f"progress.{suffix}.json"
        self.state: dict[str, Any] = {}
        if self._file.exists():
            self.state = json.loads(self._file.read_text(encoding="utf-8"))

    @staticmethod
    @contextmanager
    def open(path: str | Path, key: Any, resumes: bool = True) -> Iterator[Job]:
        """Hold a folder for a job with this key, of JSON types.

        Files of other jobs are removed. After an error so are those of this one; a killed or
        interrupted process leaves them for the next, which ``resumes``.
        """
        path = check_target(path)
        text = json.dumps(key, sort_keys=True)
        try:
            is_new = not path.exists()
            path.mkdir(parents=True, exist_ok=True)
            with locked(path, wait=False):
                suffix = _suffix(text)
                if any(suffix in name for name in listed_files(path)):
                    suffix = _suffix(suffix)  # the same job wrote what is there: leave that alone
                _remove(path, [file for file in leftovers(path) if suffix not in file.name])
                try:
                    yield Job(path, suffix)
                except BaseException as error:
                    if resumes and not isinstance(error, Exception):
                        raise
                    _remove(path, [file for file in leftovers(path) if suffix in file.name])
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

    def commit(self, **progress: Any) -> None:
        """Keep progress, all or nothing; what it refers to must be written before."""
        self.state |= progress
        fresh = self._file.with_name(f"fresh.{self.suffix}.json")
        fresh.unlink(missing_ok=True)
        write_file(fresh, json.dumps(self.state).encode())
        fresh.replace(self._file)


def _remove(path: Path, files: list[Path]) -> None:
    for file in files:
        (path / file.name).unlink(missing_ok=True)


def _suffix(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
