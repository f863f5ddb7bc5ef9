"""Files of a data set as distributed: on their own, or inside a zip archive.

Archives are read in place and never unpacked. An archive with a member that leads out of its
folder (an absolute path, or one with ``..``) is refused.
"""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, NamedTuple

from ..errors import InputError

__all__ = ["Part", "Source"]

_LARGEST = 1 << 32  # bytes; the largest file of a known data set has 0.6 GB
_AGAIN = "delete it and fetch it again"


class Source(NamedTuple):
    """The content of a file, and its name for messages."""

    label: str
    content: bytes


@dataclass(frozen=True)
class Part:
    """Files with a name, or a pattern of names, on their own or in an archive.

    Parameters
    ----------
    name : such as ``"ratings.dat"`` or ``"combined_data_*.txt"``
    archive : the zip, or a pattern of zips, to read them from if they are not in the folder
    """

    name: str
    archive: str | None = None

    def find(self, folder: Path) -> tuple[Path, ...]:
        """Return the files to read, or the archives to read them from."""
        for pattern in filter(None, (self.name, self.archive)):
            files = tuple(sorted(path for path in folder.glob(pattern) if path.is_file()))
            if files:
                return files
        return ()

    def read(self, folder: Path) -> Iterator[Source]:
        """Yield each file, in the order of names."""
        for path in self.find(folder):
            with _readable(path):
                if self.archive is not None and fnmatch(path.name, self.archive):
                    yield from self._members(path)
                else:
                    with path.open("rb") as stream:
                        yield _source(str(path), stream)

    def _members(self, path: Path) -> Iterator[Source]:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            for name in names:
                _check_inside(path, name)
            files = [name for name in names if not name.endswith("/")]
            matching = sorted(n for n in files if fnmatch(PurePosixPath(n).name, self.name))
            if not matching:
                has = ", ".join(names[:5]) or "no files"
                raise InputError(f"{path} has no {self.name}, but {has}", hint=_AGAIN)
            for name in matching:
                with archive.open(name) as stream:
                    yield _source(f"{path}, {name}", stream)


def _source(label: str, stream: IO[bytes]) -> Source:
    content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise InputError(f"{label} has more than {_LARGEST:,} bytes", hint=_AGAIN)
    return Source(label, content)


def _check_inside(path: Path, name: str) -> None:
    """Raise for a member whose path leaves the folder on any operating system."""
    windows = PureWindowsPath(name)
    if name.startswith("/") or windows.anchor or ".." in windows.parts:
        raise InputError(f"{path} has a member {name!r} that leads out of its folder", hint=_AGAIN)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Convert errors of files and archives; RuntimeError is a member with a password."""
    system = OSError, EOFError, RuntimeError, struct.error, UnicodeDecodeError
    try:
        yield
    except InputError:
        raise
    except (*system, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            f"{path} cannot be read: {error}", hint=f"if it is damaged, {_AGAIN}"
        ) from None
