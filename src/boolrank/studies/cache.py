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
from ..data.splits import Fold
from ..errors import InputError
from ..evaluation.metrics import BUILT_IN, Metric
from ..evaluation.result import FoldResult
from ..kernels import parse_kernel
from ..models import MODELS
from ..models.spec import ModelSpec
from ..storage.folder import obstacle

# Raise it when the same key is to have another result.
FORMAT = 2


@dataclass(frozen=True)
class Task:
    """A model, a fold to fit and rank it on, and metrics.

    A task that runs ``alone`` shares neither its process nor overlaps with other models, so that
    its peak memory is that of the model.
    """

    fold: Fold
    model: ModelSpec
    metrics: tuple[Metric, ...]
    alone: bool = False

    @property
    def key(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        from importlib.metadata import version  # slow to import

        library = MODELS[self.model.name].library
        also = {"times": self.fold.time_hash} if self.model.params.get("recency") else {}
        if parse_kernel(self.model.params.get("kernel", "linear")).variables != ("",):
            also["table"] = self.fold.table_hash
        return also | {
            "format": FORMAT,
            "boolrank": __version__,
            "library": version(library) if library else "",
            "fold": self.fold.hash,
            "model": self.model.to_dict(),
            "metrics": [str(each) for each in self.metrics],
            "functions": self.functions,
            "alone": self.alone,
        }

    @property
    def functions(self) -> dict[str, str]:
        """The versions of the metrics that are functions, by name."""
        return {each.name: each.version for each in self.metrics if each.name not in BUILT_IN}


@dataclass(frozen=True)
class Outcome:
    """The result of a task, or the error and the seconds after which its process was ended."""

    result: FoldResult | None
    seconds: float
    error: str = ""
    ended_after: float | None = None


@dataclass(frozen=True)
class Cache:
    """A folder of outcomes; without a folder nothing is kept."""

    folder: Path | None

    def path(self, task: Task) -> Path:
        """Return the path of an outcome."""
        name = digest(task.key)
        return Path(self.folder or "") / name[:2] / f"{name[2:40]}.json"

    def read(self, task: Task) -> Outcome | None:
        """Return an outcome; None if it is absent or damaged."""
        if self.folder is None:
            return None
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = read_json(self.path(task))
            result = content["result"]
            if result is not None:
                result = FoldResult.from_dict(result | {"users": list(task.fold.users)})
            if content["key"] == task.key:
                return Outcome(result, *content["about"])
        return None

    def write(self, task: Task, outcome: Outcome) -> None:
        """Keep an outcome, without the users, which are the fold's."""
        if self.folder is None or not all(task.functions.values()):
            return  # a function without a version may have changed
        result = outcome.result and outcome.result.to_dict() | {"users": []}
        about = [outcome.seconds, outcome.error, outcome.ended_after]
        write_json(self.path(task), {"key": task.key, "result": result, "about": about})


def digest(content: Any) -> str:
    """Return the SHA-256 of JSON types."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_json(path: Path, content: Mapping[str, Any], indent: int | None = None) -> None:
    """Write content with a checksum, atomically."""
    text = json.dumps(dict(content) | {"sha256": digest(content)}, indent=indent)
    write_text(path, text + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a file of `write_json`; raise if it is damaged."""
    with suppress(ValueError, RecursionError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and content.pop("sha256", None) == digest(content):
            return content
    raise InputError(f"{path} is damaged", hint="run the same command again to write it anew")


def write_text(path: Path, text: str | bytes) -> None:
    """Write a file atomically."""
    with whole_file(path) as fresh:
        fresh.write_bytes(text.encode() if isinstance(text, str) else text)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces another at the end, even if the machine stops."""
    fresh = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield fresh
        with fresh.open("rb+") as file:
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from None
    finally:
        with suppress(OSError):  # in most cases it has replaced the other
            fresh.unlink()


def check_folder(folder: str | Path | None) -> None:
    """Raise if a folder cannot be written to, before any work is done."""
    why = obstacle(Path(folder)) if folder is not None else ""
    if why:
        raise unwritable(folder, why)


def unwritable(path: object, why: str) -> InputError:
    """Return the error for a file or folder that cannot be written."""
    return InputError(
        f"{path} cannot be written: {why}", hint="choose another folder, or make room"
    )
