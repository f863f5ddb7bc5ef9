"""Arrays in files: written and read in slices of bounded memory, then memory-mapped."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_CHUNK = 1 << 20  # bytes that are read at once


class DiskArray:
    """A one-dimensional array in a raw little-endian file.

    Processes may write disjoint slices. A full disk raises `OSError` where a mapped file would end
    the process.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     numbers = DiskArray(Path(folder, "numbers"), "int32")
    ...     numbers[0:3] = np.array([5, 6, 7])
    ...     len(numbers), numbers[1:9], numbers.mapped().sum()
    (3, array([6, 7], dtype=int32), np.int64(18))
    """

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path, self.dtype = path, np.dtype(dtype).newbyteorder("<")
        path.touch()

    def __len__(self) -> int:
        return self.path.stat().st_size // self.dtype.itemsize

    def __getitem__(self, part: slice) -> NDArray[Any]:
        start, stop, _ = part.indices(len(self))
        at, count = start * self.dtype.itemsize, max(stop - start, 0)
        values: NDArray[Any] = np.fromfile(self.path, self.dtype, count, offset=at)
        return values.astype(self.dtype.newbyteorder("="), copy=False)

    def __setitem__(self, part: slice, values: NDArray[Any]) -> None:
        with named_errors(self.path), self.path.open("r+b") as file:
            file.seek((part.start or 0) * self.dtype.itemsize)
            file.write(np.ascontiguousarray(values, self.dtype).view(np.uint8).data)

    def beside(self, name: str, dtype: DTypeLike) -> DiskArray:
        """Return an empty array in the same folder."""
        path = self.path.with_name(f"{name}.{self.path.name.partition('.')[2]}")
        path.unlink(missing_ok=True)
        return DiskArray(path, dtype)

    def append(self, values: NDArray[Any]) -> None:
        """Append values."""
        self[len(self) :] = values

    def truncate(self, length: int) -> None:
        """Keep only the first values."""
        os.truncate(self.path, length * self.dtype.itemsize)

    def mapped(self) -> NDArray[Any]:
        """Return all values as an array whose pages are read on access."""
        if not len(self):
            return np.empty(0, self.dtype.newbyteorder("="))
        return MappedFile(self.path, self.dtype, "c")


class MappedFile(np.memmap[Any, Any]):
    """A memory-mapped array whose file a model folder can keep without a copy."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return what was computed as a plain array or number."""
        return np.asarray(super().__array_wrap__(array, context))[() if return_scalar else ...]

    @property
    def file(self) -> Path | None:
        """The file, if this is all of it and not a part."""
        base: Any = self.base
        return Path(str(self.filename)) if isinstance(base, mmap.mmap) else None


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Give errors of the system a file name, which those of a full disk lack."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with named_errors(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def mapped(array: Any) -> NDArray[Any]:
    """Return an array, or that of a file."""
    found: NDArray[Any] = array.mapped() if isinstance(array, DiskArray) else array
    return found


def raw_bytes(array: NDArray[Any]) -> Iterator[bytes | memoryview]:
    """Yield the bytes of an array; pages of a mapped file do not stay in memory."""
    if isinstance(array, MappedFile) and array.file is not None:
        with array.file.open("rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                yield chunk
        return
    yield np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def release_pages(arrays: Iterable[NDArray[Any]]) -> None:
    """Release the pages of mapped files; later access reads them again."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap) and hasattr(base, "madvise"):  # not on Windows
            base.madvise(mmap.MADV_DONTNEED)
