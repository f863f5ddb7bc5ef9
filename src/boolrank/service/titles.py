"""Titles of items from a file with a row per item."""

from __future__ import annotations

from pathlib import Path

from ..data.columns import likely
from ..data.scans import scan_file
from ..errors import InputError

_TITLES = ("title", "name", "label", "description")


def read_titles(path: Path) -> dict[str, str]:
    """Return titles by item id as text. Columns are those with usual names."""
    if not path.is_file():
        raise InputError(
            f"no file {path}", hint="name a file with item and title", parameter="items"
        )
    frame = scan_file(path).frame.collect()
    lower = {name.lower(): name for name in frame.columns}
    title = next((lower[name] for name in _TITLES if name in lower), None)
    others = [name for name in frame.columns if name != title]
    ids = likely(others, "item") or [name for name in others if name.lower() == "id"]
    if title is None or not ids:
        raise InputError(
            f"{path} has no columns for ids and titles, but {', '.join(frame.columns)}",
            hint="name them item and title",
            parameter="items",
        )
    pairs = zip(frame[ids[0]].to_list(), frame[title].to_list(), strict=True)
    return {str(key): str(title) for key, title in pairs if key is not None and title}
