"""Content-addressed cache of results: one JSON file per task.

The name of a file is the SHA-256 of everything that the result depends on. Files are written
atomically and have checksums. A damaged file counts as absent.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from .._version import __version__
from ..errors import InputError
from ..evaluation.result import FoldResult
from ..models import MODELS
from ..storage.folder import obstacle
from .task import Outcome, Task

__all__ = ["Cache", "check_folder", "digest", "read_json", "write_json", "write_text"]

# Raise it when the same key is to have another result.
FORMAT = 2


@dataclass(frozen=True)
class Cache:
    """A folder of results."""

    folder: Path

    def path(self, task: Task) -> Path:
        """Return the path of a result."""
        name = digest(_key(task))
        return self.folder / name[:2] / f"{name[2:40]}.json"

    def read(self, task: Task) -> Outcome | None:
        """Return the outcome of a task; None if it is absent or damaged."""
        try:
            content = read_json(self.path(task))
            if content["key"] != _key(task):
                return None
            outcome = dict(content["outcome"])
            if outcome["result"] is not None:
                users = {"users": list(task.fold.users)}
                outcome["result"] = FoldResult.from_dict(outcome["result"] | users)
            return Outcome(**outcome)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, task: Task, outcome: Outcome) -> None:
        """Keep an outcome; the users of a result are not written, since they are the fold's."""
        if not all(each.metric.version for each in task.functions):
            return
        result = None if outcome.result is None else outcome.result.to_dict() | {"users": []}
        content = {"key": _key(task), "outcome": vars(outcome) | {"result": result}}
        write_json(self.path(task), content)


def library_of(model: str) -> dict[str, str]:
    """Return the library that a model comes from and its version; nothing for our own models.

    >>> library_of("ease")
    {}
    """
    from importlib.metadata import version  # slow to import

    library = MODELS[model].library
    return {library: version(library)} if library else {}


def digest(content: Any) -> str:
    """Return the SHA-256 of content that JSON can hold."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_json(path: Path, content: Mapping[str, Any], indent: int | None = None) -> None:
    """Write content with a checksum, atomically."""
    text = json.dumps(dict(content) | {"sha256": digest(content)}, indent=indent)
    write_text(path, text + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a file of `write_json`; raise ValueError if it is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None
    if not isinstance(content, dict) or content.pop("sha256", None) != digest(content):
        raise ValueError(f"{path} is damaged")
    return content


def write_text(path: Path, text: str | bytes) -> None:
    """Write a file atomically."""
    with whole_file(path) as fresh:
        fresh.write_bytes(text.encode() if isinstance(text, str) else text)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces another at the end, also if the machine stops."""
    fresh = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield fresh
        with fresh.open("rb+") as file:
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None
    finally:
        with suppress(OSError):  # replaced, in most cases
            fresh.unlink()


def check_folder(folder: str | Path) -> None:
    """Raise if a folder cannot be written to, before any work is done."""
    why = obstacle(Path(folder))
    if why:
        raise _unwritable(Path(folder), why)


def _unwritable(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} cannot be written: {why}", hint="choose another folder, or make room"
    )


def _key(task: Task) -> dict[str, Any]:
    """Return all that a result depends on."""
    return {
        "format": FORMAT,
        "boolrank": __version__,
        "fold": task.fold.hash,
        "model": task.model.to_dict(),
        "metrics": [str(each) for each in task.measures],
        "functions": [[str(each), each.metric.version] for each in task.functions],
        "alone": task.alone,
    } | library_of(task.model.name)
