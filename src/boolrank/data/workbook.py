"""Numbers out of an Excel 97 workbook (``.xls``), the form in which Jester is distributed.

Such a file is a small file system (sectors of 512 bytes, chained by a table) with one stream,
*Workbook* or *Book*, of records: two bytes each for kind and length, then the content. Only the
first sheet's number cells are read; formulas, text and styles are not.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .parts import OpenPart

__all__ = ["is_workbook", "sheet_rows"]

_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LAST = 0xFFFFFFFA  # sector numbers from here on are marks
_SHORTEST = 4096
_LARGEST = 1 << 28  # 65,536 rows of 256 numbers take less
_ROWS = 65536
_BOF, _EOF, _NUMBER, _RK, _MULRK = 0x0809, 0x000A, 0x0203, 0x027E, 0x00BD
_SHEET = 0x0010
_CELL = np.dtype([("style", "<u2"), ("value", "<u4")])


def is_workbook(part: OpenPart) -> bool:
    """Whether a file starts as such a file does."""
    return part.starts_with(_MAGIC)


def sheet_rows(part: OpenPart, columns: int) -> NDArray[np.float64]:
    """The first sheet, rows × columns; every cell must be a number."""
    content = part.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise InputError(f"{part.label} is larger than such a workbook can be; fetch it again")
    try:
        matrix = _cells(_stream(content), columns)
    except (struct.error, IndexError, ValueError) as error:
        raise InputError(
            f"{part.label} is a damaged workbook ({error}); delete it and fetch it again"
        ) from None
    if not len(matrix):
        raise InputError(f"{part.label} is empty: its first sheet has no numbers; fetch it again")
    missing = np.argwhere(np.isnan(matrix))
    if len(missing):
        row, column = missing[0] + 1
        raise InputError(f"{part.label}, row {row}: there is no number in column {column}")
    return matrix


def _stream(content: bytes) -> bytes:
    """The stream of records inside the file."""
    size = 1 << struct.unpack_from("<H", content, 30)[0]

    def sector(number: int) -> bytes:
        found = content[(number + 1) * size : (number + 2) * size]
        if not found:
            raise ValueError(f"sector {number} is missing")
        return found

    table_sectors = list(struct.unpack_from("<109I", content, 76))
    further = struct.unpack_from("<I", content, 68)[0]
    while further < _LAST:
        numbers = struct.unpack(f"<{size // 4}I", sector(further))
        table_sectors += numbers[:-1]
        further = numbers[-1]
        if len(table_sectors) > len(content):
            raise ValueError("its table has no end")
    table = np.frombuffer(b"".join(sector(n) for n in table_sectors if n < _LAST), "<u4")

    def chain(number: int) -> bytes:
        parts = []
        while number < _LAST:
            parts.append(sector(number))
            number = int(table[number])
            if len(parts) > len(table):
                raise ValueError("a chain of sectors has no end")
        return b"".join(parts)

    directory = chain(struct.unpack_from("<I", content, 48)[0])
    for at in range(0, len(directory), 128):
        length = struct.unpack_from("<H", directory, at + 64)[0]
        name = directory[at : at + max(length - 2, 0)].decode("utf-16-le", "replace")
        if name in ("Workbook", "Book"):
            first, length = struct.unpack_from("<II", directory, at + 116)
            if length < _SHORTEST:
                raise ValueError("its stream is too short to lie in sectors of its own")
            stream = chain(first)
            if len(stream) < length:
                raise ValueError("its stream is cut off")
            return stream[:length]
    raise ValueError("it has no sheets")


def _records(stream: bytes) -> Iterator[tuple[int, memoryview]]:
    """Kind and content of each record of the first sheet."""
    at, inside, view = 0, False, memoryview(stream)
    while at + 4 <= len(view):
        kind, length = struct.unpack_from("<HH", view, at)
        content = view[at + 4 : at + 4 + length]
        at += 4 + length
        if kind == _BOF:
            inside = struct.unpack_from("<H", content, 2)[0] == _SHEET
        elif kind == _EOF and inside:
            return
        elif inside:
            yield kind, content


def _cells(stream: bytes, columns: int) -> NDArray[np.float64]:
    matrix = np.full((_ROWS, columns), np.nan)
    last = -1
    for kind, content in _records(stream):
        if kind not in (_NUMBER, _RK, _MULRK):
            continue
        row, column = struct.unpack_from("<HH", content)
        if kind == _NUMBER:
            values = np.frombuffer(content, "<f8", 1, 6)
        else:
            count = 1 if kind == _RK else (len(content) - 6) // 6
            values = _unpacked(np.frombuffer(content, _CELL, count, 4)["value"])
        room = max(columns - column, 0)
        matrix[row, column : column + len(values)] = values[:room]
        last = max(last, row)
    return matrix[: last + 1]


def _unpacked(packed: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Numbers of 30 bits: those of a double or a whole number; bit 0 divides by a hundred."""
    whole = (packed.astype(np.int32) >> 2).astype(np.float64)
    double = ((packed.astype(np.uint64) & 0xFFFFFFFC) << np.uint64(32)).view(np.float64)
    value = np.where(packed & 2, whole, double)
    return np.where(packed & 1, value / 100, value)
