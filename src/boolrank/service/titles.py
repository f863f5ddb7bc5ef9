"""Titles of items from a file with a row per item."""

from __future__ import annotations

from pathlib import Path

from ..data.events import USUAL_NAMES
from ..data.files import scan_file
from ..errors import InputError

_IDS = (*USUAL_NAMES["item"], "id")
_TITLES = ("title", "name", "label", "description")


def read_titles(path: Path) -> dict[str, str]:
    """Return titles by item id as text. Columns are those with usual names."""
    if not path.is_file():
        raise InputError(
            f"no file {path}", hint="name a file with item and title", parameter="items"
        )
    frame = scan_file(path).frame.collect()
    lower = {name.lower(): name for name in frame.columns}
    columns = [
        next((lower[name] for name in usual if name in lower), None) for usual in (_IDS, _TITLES)
    ]
    if None in columns:
        raise InputError(
            f"{path} has no columns for ids and titles, but {', '.join(frame.columns)}",
            hint="name them item and title",
            parameter="items",
        )
    keys, titles = (frame[str(name)].to_list() for name in columns)
    pairs = zip(keys, titles, strict=True)
    return {str(key): str(title) for key, title in pairs if key is not None and title}
