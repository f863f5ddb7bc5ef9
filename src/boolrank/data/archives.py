"""Zip archives and Excel workbooks, read in place and never unpacked, up to a size.

Archives with a member outside their folder (an absolute path, or one with ``..``) are refused.
"""

from __future__ import annotations

import csv
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

from .._extras import needs
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
            yield str(path), path.read_bytes()
            return
        with zipfile.ZipFile(path) as archive:
            for member in _members(path, archive.namelist(), name, only):
                with archive.open(member) as stream:
                    content = stream.read(_LARGEST + 1)
                label = f"{path}, {member}"
                if len(content) > _LARGEST:
                    raise InputError(f"{label} has more than {_LARGEST:,} bytes", hint=AGAIN)
                yield label, content
    except _UNREADABLE as error:
        hint = f"if it is damaged, {AGAIN}"
        raise InputError(f"{path} cannot be read: {error}", hint=hint) from None


def _members(path: Path, members: list[str], name: str, only: bool) -> list[str]:
    for member in members:
        windows = PureWindowsPath(member)  # backslashes and drives count too
        if member.startswith("/") or windows.anchor or ".." in windows.parts:
            problem = f"{path} has a member {member!r} that leads out of its folder"
            raise InputError(problem, hint=AGAIN)
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
    return matching


def check_name(path: Path) -> None:
    """Raise for a name that is not UTF-8, which polars cannot open."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"the name {str(path)!r} is not UTF-8", hint="rename it") from None


def check_expansion(path: Path) -> None:
    """Raise for a gzip file that holds more than 4 GB and a hundred times its size."""
    size = path.stat().st_size
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    if not is_gzip or 1032 * size <= _LARGEST:  # the most that gzip can do
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


def sheet(label: str, content: bytes, *, only: bool = False) -> bytes:
    """Return the first sheet of an Excel workbook as CSV; raise if ``only`` one is allowed."""
    with needs("cli", "Reading workbooks"):
        from python_calamine import CalamineWorkbook

    with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(content)) as archive:
        needed = sum(member.file_size for member in archive.infolist())
        if needed > _LARGEST_SHEET:
            hint = "save the table of events as CSV"
            raise InputError(f"{label} unpacks to {needed:,} bytes", hint=hint)
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(content))
        sheets = [book.get_sheet_by_index(k) for k in range(len(book.sheet_names))]
        rows = sheets[0].to_python(skip_empty_area=False)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - panics of Rust are not an Exception
        hint = "save it again, or its table as CSV"
        raise InputError(f"{label} is a damaged workbook ({error})", hint=hint) from None
    filled = [each.name for each in sheets if each.height]
    if only and len(filled) > 1:
        raise InputError(
            f"{label} has {len(filled)} sheets with rows: {', '.join(filled)}",
            hint="save the one with the events as CSV",
        )
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [int(v) if isinstance(v, float) and v.is_integer() else v for v in row] for row in rows
    )
    return out.getvalue().encode()
