"""Zip archives, read in place and never unpacked.

An archive with a member that leads out of its folder (an absolute path, or one with ``..``) is
refused.
"""

from __future__ import annotations

import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from ..errors import InputError

_LARGEST = 1 << 32  # bytes; the largest file of a known data set has 0.6 GB
_RATIO = 100  # tables of events are compressed to a tenth or a thirtieth
_LARGEST_SHEET = 1 << 30  # a workbook has at most a million rows
AGAIN = "delete it and fetch it again"
# RuntimeError is a member with a password.
_UNREADABLE = (
    *(OSError, EOFError, RuntimeError, struct.error, UnicodeDecodeError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def contents(path: Path, name: str = "*", *, only: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield label and content of a file, or of the members of an archive with this name.

    With ``only``, the archive must contain one file, apart from folders and hidden files.
    """
    try:
        if path.suffix.lower() != ".zip":
            with path.open("rb") as stream:
                yield str(path), _content(str(path), stream)
            return
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            for member in members:
                windows = PureWindowsPath(member)  # backslashes and drives count too
                if member.startswith("/") or windows.anchor or ".." in windows.parts:
                    raise InputError(
                        f"{path} has a member {member!r} that leads out of its folder", hint=AGAIN
                    )
            files = [member for member in members if not member.endswith("/")]
            matching = sorted(file for file in files if fnmatch(PurePosixPath(file).name, name))
            if only:
                matching = [file for file in matching if not file.startswith((".", "__MACOSX"))]
            has = ", ".join(members[:5]) or "no files"
            if not matching:
                raise InputError(f"{path} has no {name}, but {has}", hint=AGAIN)
            if only and len(matching) > 1:
                hint = "unpack it, and name the file with the events"
                raise InputError(f"{path} has {len(matching)} files: {has}", hint=hint)
            for member in matching:
                with archive.open(member) as stream:
                    yield f"{path}, {member}", _content(f"{path}, {member}", stream)
    except _UNREADABLE as error:
        hint = f"if it is damaged, {AGAIN}"
        raise InputError(f"{path} cannot be read: {error}", hint=hint) from None


def check_expansion(path: Path) -> None:
    """Raise for a file of gzip that holds more than 4 GB and a hundred times its size."""
    size = path.stat().st_size
    if 1032 * size <= _LARGEST:  # the most that gzip can do
        return
    left = max(_LARGEST, _RATIO * size)
    with gzip.open(path) as stream:
        while piece := stream.read(1 << 20):
            left -= len(piece)
            if left < 0:
                raise InputError(
                    f"{path} holds more than {_RATIO} times its size, {size:,} bytes",
                    hint="unpack it, and look at what it is",
                )


def check_workbook(label: str, content: bytes) -> None:
    """Raise for a workbook, itself a zip archive, that would take up memory without end."""
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
        needed = sum(member.file_size for member in archive.infolist())
        if needed > _LARGEST_SHEET:
            raise InputError(
                f"{label} unpacks to {needed:,} bytes", hint="save the table of events as CSV"
            )


def _content(label: str, stream: IO[bytes]) -> bytes:
    content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise InputError(f"{label} has more than {_LARGEST:,} bytes", hint=AGAIN)
    return content
