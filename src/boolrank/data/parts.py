"""The files of a data set as they are distributed: lying there, or inside an archive.

Members of an archive are read where they are; nothing is unpacked, so nothing can be written
outside the folder. An archive that tries to (a member with an absolute path, or one that climbs
out with ``..``) is not read at all.
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
from typing import IO

from ..errors import InputError

__all__ = ["OpenPart", "Part"]


@dataclass(frozen=True)
class OpenPart:
    """An opened file, and what to call it in messages."""

    label: str
    stream: IO[bytes]

    def read(self, size: int = -1) -> bytes:
        """Some bytes, or all; what is wrong with them, such as a broken archive, is our error."""
        with _readable(self.label):
            return self.stream.read(size)

    def starts_with(self, mark: bytes) -> bool:
        """Whether the file begins so. To be asked before anything is read."""
        start = self.read(len(mark))
        self.stream.seek(0)
        return start == mark


@dataclass(frozen=True)
class Part:
    """Files with a name, or a pattern of names, on their own or in an archive.

    Parameters
    ----------
    name : such as ``"ratings.dat"`` or ``"combined_data_*.txt"``
    archive : the zip, or a pattern of zips, that has them where they do not lie there themselves
    """

    name: str
    archive: str | None = None

    def found(self, folder: Path) -> tuple[Path, ...]:
        """The files to read, or the archive to read them from; none where there is neither."""
        for pattern in filter(None, (self.name, self.archive)):
            files = tuple(sorted(path for path in folder.glob(pattern) if path.is_file()))
            if files:
                return files
        return ()

    def open(self, folder: Path) -> Iterator[OpenPart]:
        """Each file in the order of names, open for reading until the next is asked for."""
        for path in self.found(folder):
            if self.archive is not None and fnmatch(path.name, self.archive):
                yield from self._members(path)
            else:
                with _readable(path), path.open("rb") as stream:
                    yield OpenPart(str(path), stream)

    def _members(self, path: Path) -> Iterator[OpenPart]:
        with _readable(path), zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            for name in names:
                _check_inside(path, name)
            files = [n for n in names if not n.endswith("/")]
            matching = [n for n in files if fnmatch(PurePosixPath(n).name, self.name)]
            if not matching:
                raise InputError(
                    f"{path} has no {self.name}, but {', '.join(names[:5]) or 'nothing'}; "
                    "is it another archive? Fetch it again, or put the right one there"
                )
            for name in sorted(matching):
                with archive.open(name) as stream:
                    yield OpenPart(f"{path}, {name}", stream)


def _check_inside(path: Path, name: str) -> None:
    """Refuse a member whose path leaves the folder, by the rules of any system."""
    windows = PureWindowsPath(name)
    if name.startswith("/") or windows.anchor or ".." in windows.parts:
        raise InputError(
            f"{path} has a member {name!r}, which leads out of its folder: it is not what the "
            "publisher distributes, and is not read; delete it and fetch it again"
        )


# What goes wrong in files and archives; RuntimeError is a member that wants a password.
_BROKEN = (
    *(OSError, EOFError, RuntimeError, struct.error, UnicodeDecodeError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


@contextmanager
def _readable(path: Path | str) -> Iterator[None]:
    """Turn what goes wrong inside a file into an error of ours."""
    try:
        yield
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(
            f"{path} cannot be read: {error}; if it is damaged, delete it and fetch it again"
        ) from None
