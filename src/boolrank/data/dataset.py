"""Named data sets: their files, their format, and facts about them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._extras import needs
from ..errors import DatasetNotFoundError
from .formats import Format
from .interactions import Interactions
from .parts import Part

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Dataset", "Download", "Printed", "Size", "data_folder"]


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the folder of all data sets: as given, ``BOOLRANK_DATA``, or in the user's cache.

    >>> data_folder("sets").name
    'sets'
    """
    given = folder or os.environ.get("BOOLRANK_DATA")
    return Path(given).expanduser() if given else _cache() / "boolrank" / "datasets"


def _cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says to ignore relative paths.
    return Path(named) if Path(named).is_absolute() else Path.home() / ".cache"


@dataclass(frozen=True)
class Size:
    """Numbers of users, items and distinct pairs."""

    users: int
    items: int
    interactions: int

    @staticmethod
    def of(events: Interactions) -> Size:
        """Return the size of interactions."""
        return Size(*events.shape, events.size)

    @property
    def density(self) -> float:
        """Interactions divided by users × items."""
        return self.interactions / (self.users * self.items)


@dataclass(frozen=True)
class Printed:
    """A row of the paper's first table as printed, and why it differs from the data."""

    users: str
    items: str
    interactions: str
    density: str
    differs: str = ""


@dataclass(frozen=True)
class Download:
    """A file at its official address. The checksum is ``md5:...`` or ``sha256:...``."""

    address: str
    file: str
    checksum: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A named data set.

    Attributes
    ----------
    name, title : its name here, and the publisher's
    parts : the files, in reading order; two parts are a published split, training and test
    format : how the files are read
    time : the meaning of the times of interactions
    page : the address of its description
    licence, citation : what the publisher asks for
    size : its size
    downloads : files to fetch; none if it cannot be fetched by a program
    by_hand : how to get it if it cannot be fetched
    printed : the paper's description, if the paper uses it
    remark : anything else to know
    place : its folder inside the folder of all data sets, if that is not its name

    >>> from boolrank.data import DATASETS
    >>> DATASETS["movielens-1m"].size
    Size(users=6040, items=3706, interactions=1000209)
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    format: Format
    time: str
    page: str
    licence: str
    citation: str
    size: Size
    downloads: tuple[Download, ...] = ()
    by_hand: str = ""
    printed: Printed | None = None
    remark: str = ""
    place: str = ""

    def folder(self, folder: str | Path | None = None) -> Path:
        """Return the folder of its files, whether or not it exists."""
        return data_folder(folder) / (self.place or self.name)

    def is_here(self, folder: str | Path | None = None) -> bool:
        """Return True if all its files are on this machine."""
        return all(part.find(self.folder(folder)) for part in self.parts)

    def load(self, folder: str | Path | None = None, *, file_order: bool = False) -> Interactions:
        """Read all of it. In ``file_order``, the numbers of the rows are the times."""
        return _interactions(self._frames(folder), file_order)

    def load_parts(self, folder: str | Path | None = None) -> tuple[Interactions, ...]:
        """Read each part on its own, all with the users and items of the whole."""
        frames = self._frames(folder)
        whole = _interactions(frames)
        out = []
        for frame in frames:
            part = _interactions([frame])
            rows = whole.users.numbers(part.users)[part.rows.numbers]
            columns = whole.items.numbers(part.items)[part.indices]
            ids = whole.users, whole.items
            out.append(Interactions.from_numbers(*ids, rows, columns, part.time))
        return tuple(out)

    def instructions(self, folder: str | Path | None = None) -> str:
        """Return how to get it by hand: what to open, and where to save which file."""
        place = self.folder(folder)
        if not self.downloads:
            return f"{self.by_hand}; put it into {place}"
        files = (f"open {d.address} and save it as {place / d.file}" for d in self.downloads)
        return f"by hand: {'; '.join(files)}"

    def _frames(self, folder: str | Path | None) -> list[pl.DataFrame]:
        if not self.is_here(folder):
            raise self.missing(folder)
        with needs("cli", "Reading data sets"):
            import polars as pl

        place = self.folder(folder)
        read = ([self.format.read(source) for source in part.read(place)] for part in self.parts)
        return [pl.concat(frames, how="vertical_relaxed") for frames in read]

    def missing(self, folder: str | Path | None = None) -> DatasetNotFoundError:
        """Return the error for a data set that is not on this machine."""
        fetch = f"`boolrank datasets fetch {self.name}` downloads it" if self.downloads else ""
        other = "BOOLRANK_DATA names another folder of data sets" if folder is None else ""
        return DatasetNotFoundError(
            f"the data set {self.name} is not in {self.folder(folder)}",
            hint="; ".join(filter(None, (fetch, self.instructions(folder), other))),
        )


def _interactions(frames: list[pl.DataFrame], file_order: bool = False) -> Interactions:
    import polars as pl

    frame = pl.concat(frames, how="vertical_relaxed")
    if file_order or "time" not in frame.columns:
        frame = frame.with_columns(time=np.arange(len(frame)))
    return Interactions.from_frame(frame, user="user", item="item", time="time")
