"""Interactions: a binary users × items matrix with the ids of its rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._extras import needs
from ..checks import whole
from ..errors import InputError, ParameterTypeError
from ..table import counted
from .conditions import EventFilters, filtered, parse_filters
from .events import Events, Reading, check_times, read_frame, read_matrix
from .rows import Rows
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    import polars as pl
    from narwhals.typing import IntoFrame

    from .events import MatrixLike
    from .items import ItemTable


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """A binary users × items matrix in compressed rows, with the ids of both sides. Immutable.

    ``time`` has the time of each interaction, the earliest if it repeats. ``duplicates`` counts the
    events left out because they repeat a (user, item) pair. ``readings`` tell what was read from
    frames or files. ``table`` has the tags of items, for kernels over them.
    """

    users: Vocabulary
    items: Vocabulary
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    time: NDArray[Any] | None = None
    duplicates: int = 0
    readings: tuple[Reading, ...] = ()
    table: ItemTable | None = None

    @staticmethod
    def from_pairs(
        users: Iterable[Hashable] | NDArray[Any],
        items: Iterable[Hashable] | NDArray[Any],
        time: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Interactions:
        """Return interactions from sequences of ids, and of times, of the same length.

        >>> Interactions.from_pairs(["ann", "bob", "ann"], ["tea", "tea", "tea"])
        Interactions: 2 users x 1 item, 2 interactions, 1 duplicate left out
        """
        user_names, rows = Vocabulary.of(users, "user")
        item_names, columns = Vocabulary.of(items, "item")
        if len(rows) != len(columns):
            raise InputError(
                f"{counted(len(rows), 'user')} and {counted(len(columns), 'item')} are given",
                hint="give one of each per event",
            )
        when = None if time is None else check_times(time, len(rows))
        return Interactions.from_numbers(user_names, item_names, rows, columns, when)

    @staticmethod
    def from_numbers(
        users: Vocabulary,
        items: Vocabulary,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        time: NDArray[Any] | None = None,
    ) -> Interactions:
        """Return interactions from the row and column number of each event."""
        if not len(rows):
            raise InputError("there are no interactions: the input has no events", hint="give some")
        return _distinct(users, items, rows * len(items) + columns, time)

    @staticmethod
    def from_matrix(
        matrix: MatrixLike,
        users: Sequence[Hashable] | None = None,
        items: Sequence[Hashable] | None = None,
    ) -> Interactions:
        """Return interactions for the positive cells of a dense or sparse matrix, users × items.

        The ids of users and items are by default the numbers of rows and columns.

        >>> Interactions.from_matrix([[0, 5], [1, 1]], items=["tea", "jam"])
        Interactions: 2 users x 2 items, 3 interactions
        """
        return Interactions.from_numbers(*read_matrix(matrix, users, items))

    @staticmethod
    def from_frame(
        frame: IntoFrame,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        rating: str | None = None,
        positive: str | None = None,
        **filters: Unpack[EventFilters],
    ) -> Interactions:
        """Return interactions from a frame with a row per event.

        A frame is one of pandas, polars or pyarrow, or any object with the Arrow C stream
        interface, such as those of duckdb, ADBC, deltalake and pyiceberg, which is read batch by
        batch. Columns are by default those with a usual name. ``positive`` is a condition on
        ratings, such as ``">= 4"``; by default all rows count. ``min_count``, ``since``, ``until``
        and ``last`` choose events, see `EventFilters`.

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "tea"], "rating": [5, 2]})
        >>> Interactions.from_frame(frame, positive=">= 4")
        Interactions: 1 user x 1 item, 1 interaction
        """
        columns = {"user": user, "item": item, "time": time, "rating": rating}
        return _of_events(filters, read_frame, frame, columns, positive)

    @staticmethod
    def from_files(
        *paths: str | Path,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        rating: str | None = None,
        positive: str | None = None,
        file_order: bool = False,
        **filters: Unpack[EventFilters],
    ) -> Interactions:
        """Return interactions from CSV, TSV, Parquet or JSON-lines files, or globs of them.

        Ids in text files are whole numbers if all of a column are, and text otherwise. In
        ``file_order``, the numbers of the rows are the times. The other parameters are those of
        ``from_frame``.
        """
        columns = {"user": user, "item": item, "time": time, "rating": rating}
        with needs("cli", "Reading files"):
            from .files import read_files

        return _of_events(filters, read_files, paths, columns, positive, file_order)

    @staticmethod
    def from_sql(
        query: str,
        database: str,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        rating: str | None = None,
        positive: str | None = None,
        file_order: bool = False,
        **filters: Unpack[EventFilters],
    ) -> Interactions:
        """Return interactions from a query on ``postgresql://...`` or ``sqlite:///file.db``.

        Rows are read batch by batch. The other parameters are those of ``from_files``.
        """
        columns = {"user": user, "item": item, "time": time, "rating": rating}
        with needs("cli", "Reading queries"):
            from .files import read_query

        return _of_events(filters, read_query, query, database, columns, positive, file_order)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""
        return len(self.users), len(self.items)

    @property
    def rows(self) -> Rows:
        """The items of each user as compressed rows."""
        return Rows(self.indptr, self.indices)

    @property
    def keys(self) -> NDArray[np.int64]:
        """One ascending number per interaction: row × items + column."""
        return self.rows.numbers * len(self.items) + self.indices

    @property
    def size(self) -> int:
        """Number of interactions."""
        return len(self.indices)

    def __getitem__(self, mask: Any) -> Interactions:
        """Return the interactions where a mask is True, and the users and items that occur in them.

        >>> data = Interactions.from_pairs(["ann", "ann", "bob"], ["jam", "tea", "tea"])
        >>> data[np.array([True, False, False])]
        Interactions: 1 user x 1 item, 1 interaction
        """
        # scikit-learn indexes with X[mask, ...].
        keep = np.asarray(mask[0] if isinstance(mask, tuple) and mask[1:] == (...,) else mask)
        if keep.dtype != bool or keep.shape != self.indices.shape:
            raise ParameterTypeError(
                f"interactions are chosen by a mask of {self.size:,} truth values, not by "
                f"{keep.dtype} of shape {keep.shape}",
                hint="for cross-validation use boolrank.evaluation.masks(split)",
            )
        return _part(self, keep)

    @property
    def T(self) -> Interactions:  # noqa: N802 - numpy's name
        """The transpose, with items as users: for example to rank people for an item."""
        from .._compiled.rows import transposed

        indptr, indices, order = transposed(*self.rows, len(self.items))
        when = None if self.time is None else self.time[order]
        ids = Vocabulary(self.items.ids, "user"), Vocabulary(self.users.ids, "item")
        return Interactions(*ids, indptr, indices, when, self.duplicates)

    def updated(
        self, added: Interactions | None = None, removed: Interactions | None = None
    ) -> Interactions:
        """Return the interactions with some added and then some removed.

        Users and items that lose their last interaction are dropped, so that the result equals
        interactions made from what is left. Times are kept if both sides have them. An interaction
        that is added again keeps the earlier time; removing an unknown one raises.
        """
        for what, given in (("added", added), ("removed", removed)):
            if given is not None:
                check_interactions(given, f"{what} interactions are")
        whole, _ = joined(self, *([] if added is None else [added]))
        if removed is None:
            return whole
        users, items, keys = whole.users, whole.items, whole.keys
        gone = users.numbers(removed.users)[removed.rows.numbers] * len(items)
        gone += items.numbers(removed.items)[removed.indices]
        places = np.searchsorted(keys, gone)
        missing = gone[np.append(keys, -1)[places] != gone]
        if len(missing):
            user, item = divmod(int(missing[0]), len(items))
            raise InputError(
                f"{counted(len(missing), 'interaction')} to remove cannot be found, such as user "
                f"{users[user]!r} with item {items[item]!r}",
                hint="remove only interactions of the model",
                parameter="removed",
            )
        keep = np.ones(whole.size, bool)
        keep[places] = False
        return _part(whole, keep, whole.rows.lengths == 0, whole.popularity() == 0)

    def typed_as(self, other: Interactions) -> Interactions:
        """Return the interactions with ids of the type of other ids, where they stay distinct."""
        users, rows = self.users.typed_as(other.users)
        items, columns = self.items.typed_as(other.items)
        numbers = rows[self.rows.numbers], columns[self.indices]
        return Interactions.from_numbers(users, items, *numbers, self.time)

    def with_items(self, items: Vocabulary) -> Interactions:
        """Return the same interactions with more items, which have none.

        >>> data = Interactions.from_pairs([1, 2], ["tea", "jam"])
        >>> data.with_items(Vocabulary.of(["egg", "jam"])[0])
        Interactions: 2 users x 3 items, 2 interactions
        """
        merged, (places, _) = self.items.merged(items)
        return replace(self, items=merged, indices=places[self.indices].astype(np.int32))

    def k_core(self, k: int) -> Interactions:
        """Return the largest part in which every user and every item has k interactions or more.

        >>> data = Interactions.from_pairs([1, 1, 2, 2, 3], list("abab") + ["c"])
        >>> data.k_core(2)
        Interactions: 2 users x 2 items, 4 interactions
        """
        k, core, keep = whole("", "k_core", k, 1), self, np.ones(self.size, bool)
        while core is self or not keep.all():
            core = core[keep]
            active, popular = core.rows.lengths >= k, core.popularity() >= k
            keep = active[core.rows.numbers] & popular[core.indices]
        if not core.size:
            raise InputError(f"the {k}-core is empty", hint="lower k_core, or give more data")
        outside, (users, items) = {f"outside the {k}-core": self.size - core.size}, core.shape
        readings = [
            replace(each, users=users, items=items, dropped=each.dropped | outside)
            for each in self.readings
        ]
        return replace(core, duplicates=self.duplicates, readings=tuple(readings))

    def capped(self, most: int | None) -> Interactions:
        """Return all users and items, but no interactions of users with more than ``most`` items.

        >>> data = Interactions.from_pairs([1, 1, 2], ["jam", "tea", "tea"])
        >>> data.capped(1)
        Interactions: 2 users x 2 items, 1 interaction
        """
        indptr, indices = self.rows.capped(most)
        if indices is self.indices:
            return self
        if not len(indices):
            raise none_within(most)
        return replace(self, indptr=indptr, indices=indices, time=None)

    def to_frame(self) -> pl.DataFrame:
        """Return a polars frame with a row per interaction: user, item and, if known, time.

        >>> Interactions.from_pairs(["ann", "bob"], ["tea", "tea"]).to_frame().rows()
        [('ann', 'tea'), ('bob', 'tea')]
        """
        with needs("cli", "A frame of interactions"):
            import polars as pl

        ids = self.users.ids[self.rows.numbers], self.items.ids[self.indices]
        users, items = (each.tolist() if each.dtype == object else each for each in ids)
        frame = pl.DataFrame({"user": users, "item": items})
        return frame if self.time is None else frame.with_columns(time=pl.Series(self.time))

    def matrix(self) -> csr_array[Any, Any]:
        """Return the users × items matrix of 0 and 1."""
        return csr_array((np.ones(self.size, np.float32), self.indices, self.indptr), self.shape)

    def popularity(self) -> NDArray[np.int64]:
        """Return the number of users of each item."""
        return np.bincount(self.indices, minlength=len(self.items))

    def __repr__(self) -> str:
        left_out = f", {counted(self.duplicates, 'duplicate')} left out" if self.duplicates else ""
        return f"Interactions: {self.size_text}{left_out}"

    @property
    def size_text(self) -> str:
        """Numbers of users, items and interactions."""
        users, items = counted(len(self.users), "user"), counted(len(self.items), "item")
        return f"{users} x {items}, {counted(self.size, 'interaction')}"


def _of_events(filters: EventFilters, read: Callable[..., Events], *given: Any) -> Interactions:
    parse_filters(filters)  # raise before the work
    events = filtered(read(*given), filters)
    events.reading.check(len(events.rows))
    whole, reading = Interactions.from_numbers(*events[:5]), events.reading
    made = _part(whole, np.ones(whole.size, bool)) if filters else whole
    (reading.users, reading.items), reading.duplicates = made.shape, whole.duplicates
    return replace(made, duplicates=whole.duplicates, readings=(reading,))


def _distinct(
    users: Vocabulary, items: Vocabulary, keys: NDArray[np.int64], time: NDArray[Any] | None
) -> Interactions:
    """Return interactions from keys in any order, each with its earliest time."""
    order = np.argsort(keys, kind="stable")  # linear where keys are in runs
    keys = keys[order]
    new = np.diff(keys, prepend=-1) != 0
    if time is not None:
        time = np.fmin.reduceat(time[order], np.flatnonzero(new))
    rows = Rows.of_keys(keys[new], len(users), len(items))
    return Interactions(users, items, *rows, time, int((~new).sum()))


def joined(*parts: Interactions) -> tuple[Interactions, list[NDArray[np.int64]]]:
    """Return the interactions of all parts, and the keys of each part among them.

    Times are kept if all parts have times of one kind.
    """
    first, *others = parts
    users, rows = first.users.merged(*(part.users for part in others))
    items, columns = first.items.merged(*(part.items for part in others))
    keys = [
        row[part.rows.numbers] * len(items) + column[part.indices]
        for part, row, column in zip(parts, rows, columns, strict=True)
    ]
    times = [part.time for part in parts if part.time is not None]
    alike = len(times) == len(parts) and len({time.dtype.kind == "M" for time in times}) == 1
    time = np.concatenate(times) if alike else None
    union = _distinct(users, items, np.concatenate(keys), time)
    readings = tuple(chain(*(part.readings for part in parts)))
    return replace(union, duplicates=0, readings=readings, table=first.table), keys


def none_within(cap: int | None) -> InputError:
    """Return the error for an activity cap that leaves nothing to learn from."""
    return InputError(
        f"every user has more than {counted(cap or 0, 'item')}, so none counts",
        hint="give a higher activity_cap, or none",
        parameter="activity_cap",
    )


def check_interactions(given: Any, subject: str) -> None:
    """Raise unless a value is Interactions; ``subject`` begins the message."""
    if not isinstance(given, Interactions):
        raise ParameterTypeError(
            f"{subject} Interactions, not {type(given).__name__}",
            hint="make them with Interactions.from_frame, from_matrix, from_pairs or from_files",
        )


def _part(
    data: Interactions,
    keep: NDArray[np.bool_],
    users: NDArray[np.bool_] | bool = False,
    items: NDArray[np.bool_] | bool = False,
) -> Interactions:
    """Return some interactions with their users and items, and some other users and items."""
    counts = np.bincount(data.rows.numbers[keep], minlength=len(data.users))
    users = users | (counts > 0)
    items = items | (np.bincount(data.indices[keep], minlength=len(data.items)) > 0)
    columns = (np.cumsum(items) - 1)[data.indices[keep]].astype(np.int32)
    return Interactions(
        data.users.chosen(users),
        data.items.chosen(items),
        *Rows.of_lengths(counts[users], columns),
        None if data.time is None else data.time[keep],
        table=data.table,
    )
