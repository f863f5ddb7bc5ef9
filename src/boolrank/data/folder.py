"""Where data sets lie: the folder that ``BOOLRANK_DATA`` names, or else the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["data_folder"]


def data_folder(folder: str | Path | None = None) -> Path:
    """The folder with one folder for each data set.

    Parameters
    ----------
    folder : the answer, where it is given

    >>> data_folder("sets").name
    'sets'
    """
    given = folder or os.environ.get("BOOLRANK_DATA")
    if given:
        return Path(given).expanduser()
    return _cache() / "boolrank" / "datasets"


def _cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The specification wants relative paths ignored.
    return Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
