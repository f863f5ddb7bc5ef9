"""Named data sets: their files, on their own or in a zip archive, and facts about them."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from .._extras import needs
from ..errors import DatasetNotFoundError, InputError
from .archives import AGAIN, contents
from .conditions import EventFilters, parse_filters
from .formats import Format
from .interactions import Interactions, joined

if TYPE_CHECKING:
    import polars as pl


def data_folder(folder: str | Path | None = None) -> Path:
    """Return the folder of all data sets: as given, ``BOOLRANK_DATA``, or in the user's cache."""
    given = folder or os.environ.get("BOOLRANK_DATA")
    if given:
        return Path(given).expanduser()
    # The XDG specification says to ignore relative paths.
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "boolrank" / "datasets"


class Size(NamedTuple):
    """Numbers of users, items and distinct pairs."""

    users: int
    items: int
    interactions: int

    @property
    def density(self) -> float:
        """Interactions divided by users × items."""
        return self.interactions / (self.users * self.items)


class Download(NamedTuple):
    """A file at its official address. The checksum is ``md5:...`` or ``sha256:...``."""

    address: str
    file: str
    checksum: str = ""


@dataclass(frozen=True)
class Dataset:
    """A named data set.

    >>> from boolrank.data import DATASETS
    >>> DATASETS["movielens-1m"].size
    Size(users=6040, items=3706, interactions=1000209)
    """

    name: str
    title: str
    files: tuple[str, ...]  # names or patterns; two are a published split, training and test
    format: Format
    page: str
    licence: str
    citation: str
    size: Size
    archive: str = ""  # name or pattern of zips that contain the files
    downloads: tuple[Download, ...] = ()
    by_hand: str = ""  # instructions if it cannot be downloaded automatically
    printed: tuple[str, ...] = ()  # users, items, ratings and density in the paper's first table
    differs: str = ""  # why these differ from the data
    place: str = ""  # its folder inside the folder of all data sets, if that is not its name
    ordered: bool = True  # whether the order of the rows replaces unknown times

    def folder(self, folder: str | Path | None = None) -> Path:
        """Return the folder of its files, whether or not it exists."""
        return data_folder(folder) / (self.place or self.name)

    def is_here(self, folder: str | Path | None = None) -> bool:
        """Return True if all its files are on this machine."""
        return all(self._find(name, folder) for name in self.files)

    def load(
        self,
        folder: str | Path | None = None,
        *,
        file_order: bool | None = None,
        **filters: Unpack[EventFilters],
    ) -> Interactions:
        """Read all of it. In ``file_order``, the numbers of the rows are the times.

        By default they are if the data are ``ordered`` and have no times. The filters are those of
        `Interactions.from_frame`.
        """
        parse_filters(filters)
        return self._interactions(self._frames(folder), file_order, **filters)

    def load_parts(self, folder: str | Path | None = None) -> tuple[Interactions, ...]:
        """Read each file on its own, all with the users and items of the whole."""
        parts = [self._interactions([frame]) for frame in self._frames(folder)]
        whole, keys = joined(*parts)
        users, items = whole.users, whole.items
        return tuple(
            Interactions.from_numbers(users, items, *divmod(each, len(items)), part.time)
            for part, each in zip(parts, keys, strict=True)
        )

    def _interactions(
        self,
        frames: list[pl.DataFrame],
        file_order: bool | None = None,
        **filters: Unpack[EventFilters],
    ) -> Interactions:
        import polars as pl

        frame = pl.concat(frames, how="vertical_relaxed")
        if file_order is None:
            file_order = self.ordered and "time" not in frame.columns
        if file_order:
            frame = frame.with_columns(time=np.arange(len(frame)))
        time = "time" if "time" in frame.columns else None
        made = Interactions.from_frame(frame, user="user", item="item", time=time, **filters)
        dropped = [replace(each, source=self.name) for each in made.readings if each.dropped]
        return replace(made, readings=tuple(dropped))

    def instructions(self, folder: str | Path | None = None) -> str:
        """Return how to get it by hand: what to open, and where to save which file."""
        place = self.folder(folder)
        if not self.downloads:
            return f"{self.by_hand or f'see {self.page}'}; put it into {place}"
        files = (f"open {d.address} and save it as {place / d.file}" for d in self.downloads)
        return f"by hand: {'; '.join(files)}"

    def missing(self, folder: str | Path | None = None) -> DatasetNotFoundError:
        """Return the error for a data set that is not on this machine."""
        fetch = f"`boolrank datasets fetch {self.name}` downloads it" if self.downloads else ""
        other = "BOOLRANK_DATA names another folder of data sets" if folder is None else ""
        return DatasetNotFoundError(
            f"the data set {self.name} is not in {self.folder(folder)}",
            hint="; ".join(filter(None, (fetch, self.instructions(folder), other))),
        )

    def _find(self, name: str, folder: str | Path | None) -> list[Path]:
        """Return the files of a name, or the archives to read them from."""
        for pattern in filter(None, (name, self.archive)):
            found = sorted(self.folder(folder).glob(pattern))
            if files := [path for path in found if path.is_file()]:
                return files
        return []

    def _frames(self, folder: str | Path | None) -> list[pl.DataFrame]:
        """Return user, item and, if known, time of the rows of each file."""
        if not self.is_here(folder):
            raise self.missing(folder)
        with needs("cli", "Reading data sets"):
            import polars as pl

        def read(label: str, content: bytes) -> pl.DataFrame:
            frame = self.format(label, content)
            columns = getattr(frame, "columns", ())
            for side in (side for side in ("user", "item") if side not in columns):
                problem = f"the format of {self.name} gives no column {side!r}"
                raise InputError(problem, hint="return a frame with user and item")
            if not len(frame):
                raise InputError(f"{label} is empty: it has no rows", hint=AGAIN)
            # Half the memory for ids: data sets have up to a hundred million rows.
            ids = [frame[side].shrink_dtype() for side in ("user", "item")]
            return frame.select(*ids, pl.col("^time$"))

        return [
            pl.concat(
                (read(*each) for path in self._find(name, folder) for each in contents(path, name)),
                how="vertical_relaxed",
            )
            for name in self.files
        ]
