"""Numbers from an Excel 97 workbook (``.xls``), the format in which Jester is distributed.

Such a file is a small file system (sectors, usually of 512 bytes, chained by a table) with one
stream, *Workbook* or *Book*, of records: two bytes each for type and length, then the content.
Only the number cells of the first sheet are read.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LAST = 0xFFFFFFFA  # sector numbers from here on are marks
_SHORTEST = 4096  # bytes; shorter streams are stored differently
_ROWS = 65536
_BOF, _EOF, _NUMBER, _RK, _MULRK = 0x0809, 0x000A, 0x0203, 0x027E, 0x00BD
_SHEET = 0x0010
_CELL = np.dtype([("style", "<u2"), ("value", "<u4")])


def sheet_rows(label: str, content: bytes, columns: int) -> NDArray[np.float64]:
    """Return the first sheet, rows × columns; raise if a cell is not a number."""
    again = "delete it and fetch it again"
    try:
        matrix = _cells(_stream(content), columns)
    except (struct.error, IndexError, ValueError) as error:
        raise InputError(f"{label} is a damaged workbook ({error})", hint=again) from None
    if not len(matrix):
        raise InputError(f"the first sheet of {label} has no numbers", hint=again)
    missing = np.argwhere(np.isnan(matrix))
    if len(missing):
        row, column = missing[0] + 1
        raise InputError(f"{label}, row {row}: no number in column {column}", hint=again)
    return matrix


def _stream(content: bytes) -> bytes:
    """Return the stream of records inside the file."""
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
            stream = chain(first) if length >= _SHORTEST else b""
            if len(stream) < max(length, 1):
                raise ValueError("its stream is cut off")
            return stream[:length]
    raise ValueError("it has no sheets")


def _cells(stream: bytes, columns: int) -> NDArray[np.float64]:
    """Return the numbers of the first sheet, NaN for other cells."""
    matrix = np.full((_ROWS, columns), np.nan)
    at, last, inside, view = 0, -1, False, memoryview(stream)
    while at + 4 <= len(view):
        kind, length = struct.unpack_from("<HH", view, at)
        content = view[at + 4 : at + 4 + length]
        at += 4 + length
        if kind == _BOF:
            inside = struct.unpack_from("<H", content, 2)[0] == _SHEET
        elif kind == _EOF and inside:
            break
        if not inside or kind not in (_NUMBER, _RK, _MULRK):
            continue
        row, column = struct.unpack_from("<HH", content)
        if kind == _NUMBER:
            values = np.frombuffer(content, "<f8", 1, 6)
        else:
            count = 1 if kind == _RK else (len(content) - 6) // 6
            values = _decoded(np.frombuffer(content, _CELL, count, 4)["value"])
        matrix[row, column : column + len(values)] = values[: max(columns - column, 0)]
        last = max(last, row)
    return matrix[: last + 1]


def _decoded(packed: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Decode 30-bit numbers: bit 1 marks integers (else the top of a double), bit 0 hundredths."""
    whole = (packed.astype(np.int32) >> 2).astype(np.float64)
    double = ((packed.astype(np.uint64) & 0xFFFFFFFC) << np.uint64(32)).view(np.float64)
    value = np.where(packed & 2, whole, double)
    return np.where(packed & 1, value / 100, value)
