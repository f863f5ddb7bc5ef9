"""Files and folders to write: checked before the work; files are written all or nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from ..errors import BoolrankError, InputError

HEADER = "header.json"  # of a saved model or split


def check_output(path: str | Path | None, *, is_file: bool = False) -> None:
    """Raise if a file, or results in a folder, cannot be written; None is no output."""
    if path is None:
        return
    if why := obstacle(Path(path), is_file=is_file):
        raise unwritable(path, why)
    if (Path(path) / HEADER).exists():
        raise InputError(f"{path} has a saved model or split", hint="choose another folder")


def obstacle(path: Path, *, is_file: bool = False) -> str:
    """Return what prevents writing a folder or a file, existing or not; "" if nothing does."""
    if is_file and path.is_dir():
        return "it is a folder"
    folder = path.absolute().parent if is_file else path.absolute()
    above = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not above.is_dir():
        return f"{above} is a file, not a folder"
    return "" if os.access(above, os.W_OK) else f"no permission to write in {above}"


def unwritable(path: str | Path, why: str | OSError) -> InputError:
    """Return the error for a file or a folder that cannot be written."""
    why = why if isinstance(why, str) else why.strerror or str(why)
    hint = "choose another place, or make room"
    return InputError(f"{path} cannot be written: {why}", hint=hint)


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
    except BoolrankError:
        raise
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):  # in most cases it has replaced the other
            fresh.unlink()


def write_text(path: Path, text: str | bytes) -> None:
    """Write a file atomically."""
    with whole_file(path) as fresh:
        fresh.write_bytes(text.encode() if isinstance(text, str) else text)
