"""A named data set: where it is from, where it lies, how it is read, and what is known of it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import DatasetNotFoundError
from .formats import Delimited, Events, JokeMatrix
from .interactions import Interactions
from .parts import Part
from .vocabulary import Vocabulary

__all__ = ["Dataset", "Download", "Printed", "Size", "data_folder"]


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


@dataclass(frozen=True)
class Size:
    """How many users, items, and distinct pairs of them."""

    users: int
    items: int
    interactions: int

    @staticmethod
    def of(events: Interactions) -> Size:
        """Size of interactions that were read."""
        return Size(len(events.users), len(events.items), events.size)

    @property
    def density(self) -> float:
        """The share of all pairs that are there."""
        return self.interactions / (self.users * self.items)


@dataclass(frozen=True)
class Printed:
    """A row of the paper's first table, as it is printed, and why it differs from the data."""

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
    name : how it is called here
    title : how its publisher calls it
    parts : the files that are read, in this order
    format : what reads them
    time : what the times of the interactions are
    page : where to read about it, and to get it by hand
    downloads : files to fetch; none where it cannot be had without a person
    by_hand : what a person has to do where it cannot be fetched
    licence, citation : what its publisher asks for
    size : how large it is
    printed : the paper's words about it, where the paper uses it
    remark : what else one should know
    place : its folder inside the folder of all, where that is not its name

    >>> from boolrank import DATASETS
    >>> DATASETS["movielens-1m"].size
    Size(users=6040, items=3706, interactions=1000209)
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    format: Delimited | JokeMatrix
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
        """Where its files lie, or would lie."""
        return data_folder(folder) / (self.place or self.name)

    def is_here(self, folder: str | Path | None = None) -> bool:
        """Whether all its files are on this machine."""
        return all(part.found(self.folder(folder)) for part in self.parts)

    def load(self, folder: str | Path | None = None, *, file_order: bool = False) -> Interactions:
        """Read it whole; in ``file_order``, the places of the rows stand for the times."""
        events = self._events(self.parts, folder)
        time = np.arange(len(events.users)) if file_order else events.time
        return Interactions.from_pairs(events.users, events.items, time)

    def load_parts(self, folder: str | Path | None = None) -> tuple[Interactions, ...]:
        """Read each of its parts by itself, all over the users and items of the whole."""
        read = [self._events((part,), folder) for part in self.parts]
        users, rows = Vocabulary.of(np.concatenate([e.users for e in read]), "user")
        items, columns = Vocabulary.of(np.concatenate([e.items for e in read]), "item")
        ends = np.cumsum([len(e.time) for e in read])[:-1]
        numbers = zip(np.split(rows, ends), np.split(columns, ends), read, strict=True)
        return tuple(Interactions.from_numbers(users, items, r, c, e.time) for r, c, e in numbers)

    def missing(self, folder: str | Path | None = None) -> DatasetNotFoundError:
        """The error that it is not here, with what to do about it."""
        place = self.folder(folder)
        error = DatasetNotFoundError(f"the data set {self.name} is not in {place}")
        if self.downloads:
            error.add_note(f"`boolrank datasets fetch {self.name}` downloads it")
        error.add_note(self.instructions(folder))
        if folder is None:
            error.add_note("another folder of data sets can be named with BOOLRANK_DATA")
        return error

    def instructions(self, folder: str | Path | None = None) -> str:
        """How a person gets it: what to open, and where to put which file."""
        place = self.folder(folder)
        if not self.downloads:
            return f"{self.by_hand}; put it into {place}"
        files = "; ".join(
            f"open {d.address} and save it as {place / d.file}" for d in self.downloads
        )
        return f"by hand: {files}"

    def _events(self, parts: tuple[Part, ...], folder: str | Path | None) -> Events:
        if not self.is_here(folder):
            raise self.missing(folder)
        place = self.folder(folder)
        return self.format.read(opened for part in parts for opened in part.open(place))
