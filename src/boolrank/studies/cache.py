"""Results on disk: one small JSON file for each fold and model, found by what it is the result of.

The name of a file is the SHA-256 of everything that its values depend on, so whoever asks for the
same again finds it, and nothing is counted twice. A file is written whole or not at all, and what
is damaged all the same counts as not there.
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
from ..data.splits import Split
from ..errors import InputError
from ..evaluation.result import FoldResult
from ..models import MODELS
from ..models.spec import ModelSpec
from ..storage.folder import obstacle

__all__ = [
    "Cells",
    "cell_key",
    "check_folder",
    "digest",
    "library_of",
    "whole_file",
    "write_text",
]

# To be raised when the same key is to mean other values.
FORMAT = 1


def cell_key(split: Split, fold: int, model: ModelSpec, metrics: tuple[str, ...]) -> str:
    """What the values of a model on a fold depend on, as text: always the same for the same."""
    return canonical(
        {
            "format": FORMAT,
            "boolrank": __version__,
            "split": split.hash,
            "fold": fold,
            "model": model.to_dict(),
            "metrics": list(metrics),
        }
        | library_of(model.name)
    )


def library_of(model: str) -> dict[str, str]:
    """The library that a model comes from, and its version; nothing for those of our own.

    >>> library_of("ease")
    {}
    """
    from importlib.metadata import version  # slow to import

    library = MODELS[model].library
    return {library: version(library)} if library else {}


@dataclass(frozen=True)
class Cells:
    """A folder of results."""

    folder: Path

    def path(self, key: str) -> Path:
        """Where the result of a key lies, or would lie."""
        name = digest(key)
        return self.folder / name[:2] / f"{name[2:40]}.json"

    def read(self, key: str, users: list[Any]) -> FoldResult | None:
        """The result of a key for the fold's users; None where there is none, or a damaged one."""
        try:
            content = json.loads(self.path(key).read_text(encoding="utf-8"))
            body = content["content"]
            if content["sha256"] != digest(canonical(body)) or body["key"] != json.loads(key):
                return None
            return FoldResult.from_dict({"users": users} | body["result"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def write(self, key: str, result: FoldResult) -> None:
        """Keep a result, without its users: they are the fold's, and the key names that."""
        values = {k: v for k, v in result.to_dict().items() if k != "users"}
        body = {"key": json.loads(key), "result": values}
        text = canonical({"content": body, "sha256": digest(canonical(body))})
        write_text(self.path(key), text + "\n")


def canonical(content: Mapping[str, Any]) -> str:
    """JSON with one form for the same content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(text: str) -> str:
    """SHA-256 as text."""
    return hashlib.sha256(text.encode()).hexdigest()


def write_text(path: Path, text: str | bytes) -> None:
    """Write a file whole or not at all."""
    with whole_file(path) as fresh:
        fresh.write_bytes(text.encode() if isinstance(text, str) else text)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to be written in place of another: whole or not at all, even if the machine stops."""
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
        with suppress(OSError):  # most often it is not there any more
            fresh.unlink()


def check_folder(folder: str | Path) -> None:
    """Refuse a folder that cannot be written in before the work for it is done."""
    why = obstacle(Path(folder))
    if why:
        raise _unwritable(Path(folder), why)


def _unwritable(path: Path, why: str) -> InputError:
    return InputError(f"{path} cannot be written: {why}; choose another folder, or make room")
