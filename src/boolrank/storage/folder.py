"""Arrays on disk: a folder with a JSON header and plain binary files, written whole or not at all.

``header.json`` has the kind and version of the format, whatever the writer wants to know again, and
for each array its type, shape, size and SHA-256; and the SHA-256 of all that. The arrays are raw
little-endian bytes that can be memory-mapped. Nothing in the folder is ever run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelFileError

__all__ = ["check_target", "obstacle", "read_folder", "write_folder"]

HEADER = "header.json"
FORMAT = "boolrank"
VERSION = 1
_TYPES = {"float64": "<f8", "float32": "<f4", "int64": "<i8", "int32": "<i4", "uint8": "|u1"}


def write_folder(
    path: str | Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays and what is to be known about them; an older folder is replaced at the end."""
    path = check_target(path)
    try:
        _write_whole(path, about, arrays)
    except OSError as error:
        raise _unwritable(path, error) from None


def _write_whole(path: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile's: those are for their owner alone, and a model may be served by somebody else.
    fresh = path.parent / f".{path.name}-{uuid4().hex}"
    fresh.mkdir()
    try:
        files = {name: _write(fresh / f"{name}.bin", array) for name, array in arrays.items()}
        content = {"format": FORMAT, "version": VERSION, "about": dict(about), "files": files}
        text = {"content": content, "sha256": _digest(content)}
        (fresh / HEADER).write_text(json.dumps(text, indent=1), encoding="utf-8")
        _replace(fresh, path)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check_target(path: str | Path) -> Path:
    """Where to write, links followed; refuse where something else is, or nothing can be.

    What is no model is nothing to be replaced.
    """
    path = Path(os.path.realpath(path))
    try:
        _check_free(path)
    except OSError as error:
        raise _unwritable(path, error) from None
    return path


def _unwritable(path: Path, why: str | OSError) -> ModelFileError:
    said = why if isinstance(why, str) else why.strerror or why
    return ModelFileError(f"{path} cannot be written: {said}; choose another folder, or make room")


def _check_free(path: Path) -> None:
    if path == Path.cwd():
        raise ModelFileError(f"{path} is the folder you are in; name one for the model alone")
    if not path.exists():
        why = obstacle(path)
        if why:
            raise _unwritable(path, why)
        return
    names = {file.name for file in path.iterdir()} if path.is_dir() else {path.name}
    ours = HEADER in names and all(name == HEADER or name.endswith(".bin") for name in names)
    if names and not ours:
        raise ModelFileError(f"{path} is there already and is no model folder; choose another name")


def obstacle(folder: Path) -> str:
    """What keeps anybody from writing in a folder that may be there or not; "" if nothing does."""
    folder = folder.absolute()
    above = next(each for each in (folder, *folder.parents) if each.exists())
    if not above.is_dir():
        return f"{above} is a file, not a folder"
    return "" if os.access(above, os.W_OK) else f"you may not write in {above}"


def read_folder(
    path: str | Path, verify: bool = True
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What was written, the arrays memory-mapped; to ``verify`` is to check every byte first."""
    path = Path(path)
    try:
        content = _header(path)
        arrays = {
            name: _read(path / f"{name}.bin", np.dtype(_TYPES[file["type"]]), file, verify)
            for name, file in content["files"].items()
        }
        about = dict(content["about"])
    except (KeyError, TypeError, AttributeError):
        raise ModelFileError(f"{path / HEADER} is not as boolrank writes it") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error}") from None
    return about, arrays


def _read(path: Path, dtype: np.dtype[Any], file: dict[str, Any], verify: bool) -> NDArray[Any]:
    shape = tuple(file["shape"])
    expected = math.prod(shape) * dtype.itemsize
    if not path.is_file():
        raise ModelFileError(f"{path} is missing; the folder was not copied whole")
    size = path.stat().st_size
    if size != expected:
        raise ModelFileError(
            f"{path} has {size} bytes instead of {expected}; it is cut off or altered: write the "
            "model again"
        )
    if verify and _file_digest(path) != file["sha256"]:
        raise ModelFileError(f"{path} is not what was written; write the model again")
    # Copy on write: the file never changes and processes share its pages, and yet compiled loops
    # see the same type as in fitted models; for read-only arrays they would be compiled once more.
    return np.memmap(path, dtype, "c", shape=shape) if expected else np.empty(shape, dtype)


def _header(path: Path) -> dict[str, Any]:
    header = path / HEADER
    if not path.exists():
        raise ModelFileError(
            f"there is no folder {path}; name the folder that a model was saved in"
        )
    if not header.is_file():
        raise ModelFileError(
            f"{path} is no model folder: it has no {HEADER}; name the folder that a model was "
            "saved in"
        )
    try:
        text = json.loads(header.read_bytes().decode("utf-8"))
        content, digest = text["content"], text["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ModelFileError(f"{header} cannot be read; write the model again") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{header} is not of a boolrank model")
    if content.get("version") != VERSION:
        raise ModelFileError(
            f"{header} has format version {content.get('version')!r}; this boolrank reads version "
            f"{VERSION}: write the model again, or install the boolrank that wrote it"
        )
    if _digest(content) != digest:
        raise ModelFileError(f"{header} is not what was written; write the model again")
    return content


def _write(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    plain = np.ascontiguousarray(array).astype(_TYPES[array.dtype.name], copy=False)
    with path.open("wb") as file:
        plain.tofile(file)
        file.flush()
        os.fsync(file.fileno())
    return {"type": array.dtype.name, "shape": list(array.shape), "sha256": _file_digest(path)}


def _replace(fresh: Path, path: Path) -> None:
    """Put a finished folder in the place of an older one, in two steps.

    Whoever has the old one open keeps it. If the process is killed between the two steps, the old
    model is in the hidden folder beside.
    """
    if not path.exists():
        fresh.rename(path)
        return
    old = path.parent / f".{path.name}-old-{uuid4().hex}"
    path.rename(old)
    try:
        fresh.rename(path)
    except BaseException:  # Ctrl-C too
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
