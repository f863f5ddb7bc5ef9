"""Arrays in a folder: raw binary files and a JSON header, published with one atomic rename.

``header.json`` names the format, whatever the writer wants to keep, and for each array its file,
type, shape and SHA-256; a SHA-256 of all that seals it. Array files are little-endian and can be
memory-mapped. Nothing in a folder is ever executed.

A writer puts array files with a fresh suffix beside the old ones, syncs them, and renames a new
header over the old one. Until then readers see the old content, afterwards the new one. Files that
no header lists, the old ones or those of a writer that was killed, are removed by the next writer.
Writers take turns through a lock on the folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError
from .disk_array import MappedFile, named_errors, sync
from .output import HEADER, obstacle, unwritable

FORMAT = "boolrank"
VERSION = 2
_AGAIN = "save it again"
_TYPES = {"float64": "<f8", "float32": "<f4", "int64": "<i8", "int32": "<i4", "uint8": "|u1"}
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,79}")
_FILE = re.compile(r"[a-z][a-z0-9_-]{0,79}\.[0-9a-f]{32}\.(bin|json)")
# Headers hold parameters and a line per array; 4 MB is a thousand times what they need.
_MOST_HEADER = 1 << 22
# Loads that find the folder replaced under them start again.
_TRIES = 100


def write_folder(
    path: str | Path,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    instead_of: str | None = None,
    *,
    lock: bool = True,
) -> None:
    """Write arrays and a description; the previous content stays until the new one is complete.

    A `MappedFile` in the folder is listed without a copy. With ``instead_of``, raise unless the
    folder still has the content of that hash. Without ``lock``, the caller holds the folder.
    """
    with held(path) if lock else nullcontext(check_target(path)) as folder:
        if instead_of is not None and read_about(folder)["hash"] != instead_of:
            raise ModelFileError(
                f"{folder} was replaced meanwhile", hint="start again from the new content"
            )
        _publish(folder, about, arrays)


def _publish(path: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    suffix = uuid4().hex
    new = f"header.{suffix}.json"
    try:
        # The same array under two names is one file.
        keys = {name: getattr(array, "file", None) or id(array) for name, array in arrays.items()}
        distinct = {keys[name]: (name, array) for name, array in arrays.items()}
        files = {key: _write_array(path, *each, suffix) for key, each in distinct.items()}
        listed = {name: files[key] for name, key in keys.items()}
        content = {"format": FORMAT, "version": VERSION, "about": dict(about), "arrays": listed}
        text = json.dumps({"content": content, "sha256": digest(content)}, indent=1)
        write_file(path / new, text.encode())
        _sync(path)
        (path / new).replace(path / HEADER)
    except BaseException:  # Ctrl-C too
        for file in path.glob(f"*.{suffix}.*"):
            file.unlink(missing_ok=True)
        raise
    _sync(path)
    _sync(path.parent)
    kept = {HEADER, *(entry["file"] for entry in listed.values())}
    remove_files(file for file in path.iterdir() if file.name not in kept)


def _write_array(path: Path, name: str, array: NDArray[Any], suffix: str) -> dict[str, Any]:
    if not _NAME.fullmatch(name):
        raise ModelFileError(f"{name!r} cannot be the name of an array")
    kind = array.dtype.name
    if kind not in _TYPES:
        raise ModelFileError(f"array {name!r} of type {kind} cannot be stored")
    file = array.file if isinstance(array, MappedFile) else None
    if file is not None and file.parent == path and _FILE.fullmatch(file.name):
        _sync(file)
        with file.open("rb") as opened:
            sha256 = hashlib.file_digest(opened, "sha256")
    else:
        file = path / f"{name}.{suffix}.bin"
        plain = np.ascontiguousarray(array).astype(_TYPES[kind], copy=False)
        content = np.asarray(plain).reshape(-1).view(np.uint8).data
        write_file(file, content)
        sha256 = hashlib.sha256(content)
    shape = list(array.shape)
    return {"file": file.name, "type": kind, "shape": shape, "sha256": sha256.hexdigest()}


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Write a new file and sync it."""
    with named_errors(path), path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    with suppress(OSError):  # where the system can
        sync(path)


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Hold the folder against other writers: wait for them, or raise `BlockingIOError`.

    A killed process releases it.
    """
    try:
        import fcntl
    except ImportError:  # Windows: writers have to take turns by themselves
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            with named_errors(folder):
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)


@contextmanager
def held(path: str | Path, *, wait: bool = True, shown: Path | None = None) -> Iterator[Path]:
    """Make and lock a folder to write to.

    Errors of the system about its files name ``shown``, or the folder; others are left alone.
    """
    path = check_target(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        with locked(path, wait):
            yield check_target(path)  # another writer may have been here meanwhile
    except OSError as error:
        file = Path(str(error.filename or ""))
        if path not in (file, *file.parents) and file not in path.parents:
            raise
        if isinstance(error, BlockingIOError):
            hint = "wait for it, or choose another name"
            raise ModelFileError(f"another process writes {shown or path}", hint=hint) from None
        raise unwritable(shown or path, error) from None


def check_target(path: str | Path) -> Path:
    """Return the path to write to, links resolved; raise if it holds files that are not ours."""
    path = Path(os.path.realpath(path))
    if path == Path.cwd():
        raise ModelFileError(f"{path} is the current folder", hint="name a folder of its own")
    if why := obstacle(path):
        raise unwritable(path, why)
    if path.exists() and not all(_FILE.fullmatch(file.name) for file in leftovers(path)):
        raise ModelFileError(
            f"{path} exists and is not a model folder of this version", hint="choose another name"
        )
    return path


def leftovers(path: Path) -> list[Path]:
    """Return the files in a folder that its header does not list."""
    listed = listed_files(path)
    return [file for file in path.iterdir() if file.name not in listed]


def remove_files(files: Iterable[Path]) -> None:
    """Remove files, if the system can."""
    for file in files:
        with suppress(OSError):  # Windows keeps files that are mapped; the next writer tries
            file.unlink()


def listed_files(path: Path) -> set[str]:
    """Return the names of a header and of the files that it lists; none without a header."""
    with suppress(ModelFileError, OSError):
        return {entry["file"] for entry in _header(path)["arrays"].values()} | {HEADER}
    return set()


def read_about(path: str | Path) -> dict[str, Any]:
    """Return the description in a header, with ``bytes`` and a ``hash`` of the content.

    The date and the last event do not change the hash.
    """
    with _readable(path):
        content = _header(Path(path))
    entries, about = content["arrays"], content["about"]
    sealed = {name: [e["type"], e["shape"], e["sha256"]] for name, e in entries.items()}
    undated = {name: about[name] for name in about.keys() - {"created", "last_event"}}
    size = sum({entry["file"]: _size(entry) for entry in entries.values()}.values())
    return dict(about) | {"hash": digest([undated, sealed]), "bytes": size}


def read_folder(
    path: str | Path, verify: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the description and the memory-mapped arrays; ``verify`` checks every byte."""
    path = Path(path)
    with _readable(path):
        content = _header(path)
        for _ in range(_TRIES):
            entries = content["arrays"].items()
            try:
                arrays = {name: _map(path / e["file"], e, verify) for name, e in entries}
                return content["about"], arrays
            except FileNotFoundError as error:
                before, content = content, _header(path)  # replaced since we read the header?
                if content == before:
                    hint = f"copy the whole folder, or {_AGAIN}"
                    raise ModelFileError(f"{error.filename} is missing", hint=hint) from None
    raise ModelFileError(f"{path} is replaced faster than it can be read", hint="try again")


@contextmanager
def _readable(path: str | Path) -> Iterator[None]:
    """Turn errors of the system into ours."""
    try:
        yield
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error}", hint=_AGAIN) from None


def _header(path: Path) -> dict[str, Any]:
    name = "name the folder of a saved model"
    if not path.is_dir():
        raise ModelFileError(f"no folder {path}", hint=name)
    try:
        with _opened(path / HEADER) as file:
            raw = file.read(_MOST_HEADER + 1)
    except FileNotFoundError:
        raise ModelFileError(
            f"{path} is not a model folder: it has no {HEADER}", hint=name
        ) from None
    broken = ModelFileError(f"{path / HEADER} is damaged or not a boolrank header", hint=_AGAIN)
    try:
        text = json.loads(raw.decode("utf-8")) if len(raw) <= _MOST_HEADER else {}
        content: dict[str, Any] = text["content"]
        version = content["version"] if content["format"] == FORMAT else None
        sound = digest(content) == text["sha256"] and (version != VERSION or _is_sound(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise broken from None
    if version is None or not sound:
        raise broken
    if version != VERSION:
        raise ModelFileError(
            f"{path / HEADER} has format version {version!r}; this boolrank reads version "
            f"{VERSION}",
            hint=f"{_AGAIN}, or install the boolrank that wrote it",
        )
    return content


def _is_sound(content: Mapping[str, Any]) -> bool:
    """Return whether every entry of a header has the form that `write_folder` gives it."""
    return isinstance(content["about"], dict) and all(
        _NAME.fullmatch(name)
        and entry.keys() == {"file", "type", "shape", "sha256"}
        and entry["type"] in _TYPES
        and bool(_FILE.fullmatch(entry["file"]))
        and isinstance(entry["shape"], list)
        and len(entry["shape"]) <= 2
        and all(type(side) is int and 0 <= side < 1 << 48 for side in entry["shape"])
        for name, entry in content["arrays"].items()
    )


def _map(path: Path, entry: Mapping[str, Any], verify: bool) -> NDArray[Any]:
    """Map one array from an open file, the same that is hashed."""
    dtype, shape, expected = np.dtype(_TYPES[entry["type"]]), tuple(entry["shape"]), _size(entry)
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size != expected:
            found = f"{size:,} bytes instead of {expected:,}"
            raise ModelFileError(f"{path} has {found}: it is truncated or altered", hint=_AGAIN)
        # Copy on write: the file never changes and processes share its pages, and compiled loops
        # see the same type as in fitted models; read-only arrays would be compiled once more.
        array = np.memmap(file, dtype, "c", shape=shape) if expected else np.empty(shape, dtype)
        file.seek(0)
        # Read rather than mapped, so that pages do not count as memory of this process.
        if verify and hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
            raise ModelFileError(f"{path} is not what was written", hint=_AGAIN)
    return array


def _size(entry: Mapping[str, Any]) -> int:
    return int(math.prod(entry["shape"])) * np.dtype(_TYPES[entry["type"]]).itemsize


def _opened(path: Path) -> Any:
    """Open a regular file for reading; refuse links and special files without blocking."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ModelFileError(f"{path} is not a regular file", hint=_AGAIN)
    return os.fdopen(descriptor, "rb")


def digest(content: Any) -> str:
    """Return a SHA-256 of JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
