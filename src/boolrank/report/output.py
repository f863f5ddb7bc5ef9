"""Output folders of commands: they are marked, so that no command writes into a foreign one."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from ..studies.cache import check_folder, write_text

__all__ = ["MARKER", "claim_folder"]

MARKER = ".boolrank"  # a file with the name of the command


def claim_folder(folder: str | Path, command: str) -> Path:
    """Mark a folder as the output of a command; raise if it holds anything else.

    A new folder, an empty one and one with output of the same command are fine.
    """
    folder = Path(folder)
    check_folder(folder)
    marker = folder / MARKER
    owner = marker.read_text(encoding="utf-8", errors="replace").strip() if marker.is_file() else ""
    if owner != command and folder.is_dir() and any(folder.iterdir()):
        content = f"output of `boolrank {owner}`" if owner else "files that boolrank did not write"
        raise InputError(
            f"{folder} holds {content}", hint="choose a new or an empty folder", parameter="out"
        )
    write_text(marker, f"{command}\n")
    return folder
