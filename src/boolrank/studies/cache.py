"""Content-addressed cache of results: one JSON file per task.

The name of a file is the SHA-256 of everything that the result depends on. Files are written
atomically and have checksums. A damaged file counts as absent.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from .._version import __version__
from ..data.splits import Fold
from ..errors import InputError
from ..evaluation.metrics import BUILT_IN, Metric
from ..evaluation.result import FoldResult
from ..kernels import Kernel
from ..models import MODELS, Recommender
from ..models.spec import ModelSpec
from ..storage.output import write_text

# Increment if results change for the same key.
FORMAT = 3


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

    @cached_property
    def key(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        from importlib.metadata import version  # slow to import

        library = MODELS[self.model.name].library
        return {
            "format": FORMAT,
            "boolrank": __version__,
            "library": version(library) if library else "",
            "fold": self.fold.hash,
            "model": self.model.to_dict(),
            "metrics": [str(each) for each in self.metrics],
            "code": self.code,
            "alone": self.alone,
        }

    @cached_property
    def code(self) -> dict[str, str]:
        """Code that is not boolrank's, by name: versions of metrics, hashes of files of classes."""
        model = self.model.make().checked()
        classes: list[type] = [type(model)]
        kernels = [each for each in model.get_params().values() if isinstance(each, Kernel)]
        while kernels:
            kernel = kernels.pop()
            classes.append(type(kernel))
            kernels.extend(kernel.operands)
        bases = {base for each in classes for base in each.__mro__}
        return {each.name: each.version for each in self.metrics if each.name not in BUILT_IN} | {
            f"{base.__module__}.{base.__qualname__}": _file_hash(base)
            for base in bases
            if issubclass(base, Kernel | Recommender)
            and base.__module__.split(".")[0] != "boolrank"
        }


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
        if self.folder is None or not all(task.code.values()):
            return  # a function without a version, or a class without a file, may have changed
        result = outcome.result and outcome.result.to_dict() | {"users": []}
        about = [outcome.seconds, outcome.error, outcome.ended_after]
        write_json(self.path(task), {"key": task.key, "result": result, "about": about})


@cache
def _file_hash(kind: type) -> str:
    """Return the SHA-256 of the file of a class; "" if there is none to read.

    Hashed once: a file that is edited while it is in use does not change the class.
    """
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    with suppress(OSError):  # such as a module of a zip archive
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
    return ""


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
