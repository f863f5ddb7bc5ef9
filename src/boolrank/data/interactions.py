"""Interactions: who touched what, as a binary matrix with the names of its rows and columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ParameterTypeError
from ..table import Table
from .events import (
    checked_times,
    encoded,
    find_columns,
    parse_threshold,
    read_events,
    times,
)
from .rows import Rows
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from narwhals.typing import IntoFrame
    from numpy.typing import ArrayLike
    from scipy.sparse import csr_array, sparray, spmatrix

    MatrixLike = ArrayLike | sparray[Any, Any] | spmatrix[Any]

__all__ = ["Interactions", "check_interactions", "read_files", "row_numbers"]


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """A binary users × items matrix in compressed rows, with ids of both sides. Immutable.

    Attributes
    ----------
    users, items : the ids, in order, with their row and column numbers
    indptr, indices : compressed sparse rows, columns in order within each row
    time : when each interaction was (the earliest, where it repeats), or None
    duplicates : how many events repeated a (user, item) pair and were left out
    """

    users: Vocabulary
    items: Vocabulary
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    time: NDArray[Any] | None = None
    duplicates: int = 0

    @staticmethod
    def from_pairs(
        users: Iterable[Hashable] | NDArray[Any],
        items: Iterable[Hashable] | NDArray[Any],
        time: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Interactions:
        """Interactions from two sequences of ids of the same length, and one of times or none.

        >>> Interactions.from_pairs(["ann", "bob", "ann"], ["tea", "tea", "tea"])
        Interactions: 2 users x 1 items, 2 interactions, 1 duplicates left out
        """
        user_names, user_numbers = Vocabulary.of(users, "user")
        item_names, item_numbers = Vocabulary.of(items, "item")
        if len(user_numbers) != len(item_numbers):
            raise InputError(
                f"there are {len(user_numbers)} users for {len(item_numbers)} items; "
                "each event has one of each"
            )
        when = None if time is None else checked_times(time, len(user_numbers))
        return Interactions.from_numbers(user_names, item_names, user_numbers, item_numbers, when)

    @staticmethod
    def from_numbers(
        users: Vocabulary,
        items: Vocabulary,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        time: NDArray[Any] | None = None,
    ) -> Interactions:
        """Interactions from row and column numbers of known users and items."""
        if not len(rows):
            raise InputError("there are no interactions: the input has no rows; give some")
        from .._compiled.rows import sorted_rows, transposed

        if time is None:
            indptr, indices = sorted_rows(rows, columns, len(users), len(items))
        else:
            # Two counting sorts, by column and then by row: a third of the time of a comparing one.
            one_each = np.arange(len(rows) + 1)
            _, by_column, _ = transposed(one_each, columns, len(items))
            _, by_row, _ = transposed(one_each, rows[by_column], len(users))
            order = by_column[by_row]
            in_rows, in_columns = rows[order], columns[order]
            new = (np.diff(in_rows, prepend=-1) != 0) | (np.diff(in_columns, prepend=-1) != 0)
            lengths = np.bincount(in_rows[new], minlength=len(users))
            indptr = np.concatenate(([0], np.cumsum(lengths)))
            indices = in_columns[new].astype(np.int32)
            time = np.fmin.reduceat(time[order], np.flatnonzero(new))
        return Interactions(users, items, indptr, indices, time, len(rows) - len(indices))

    @staticmethod
    def from_matrix(
        matrix: MatrixLike,
        users: Sequence[Hashable] | None = None,
        items: Sequence[Hashable] | None = None,
    ) -> Interactions:
        """Interactions where a users × items matrix, dense or sparse, is not 0.

        Parameters
        ----------
        matrix : (users, items) numbers
        users, items : the ids of its rows and columns; their numbers where not given

        >>> Interactions.from_matrix([[0, 5], [1, 1]], items=["tea", "jam"])
        Interactions: 2 users x 2 items, 3 interactions
        """
        from scipy.sparse import coo_array

        unchecked: Any = matrix
        try:
            cells = coo_array(unchecked)
        except (TypeError, ValueError) as error:
            raise InputError(f"{type(matrix).__name__} is no matrix: {error}") from None
        if cells.ndim != 2:
            raise InputError(f"a matrix of users and items has 2 dimensions, not {cells.ndim}")
        cells.sum_duplicates()
        nan = np.flatnonzero(cells.data != cells.data)  # NaN alone is not itself
        if len(nan):
            row, column = int(cells.row[nan[0]]), int(cells.col[nan[0]])
            raise InputError(
                f"the matrix has {len(nan):,} NaN, the first in row {row}, column {column}; put 0 "
                "where there is no interaction"
            )
        names = []
        for kind, given, size in (("user", users, cells.shape[0]), ("item", items, cells.shape[1])):
            if given is not None and len(given) != size:
                raise InputError(f"the matrix has {size} {kind}s, but {len(given)} ids are given")
            vocabulary, numbers = Vocabulary.of(np.arange(size) if given is None else given, kind)
            if len(vocabulary) != size:
                raise InputError(f"the {kind}s' ids are not distinct")
            names.append((vocabulary, numbers))
        some = cells.data != 0
        return Interactions.from_numbers(
            names[0][0], names[1][0], names[0][1][cells.row[some]], names[1][1][cells.col[some]]
        )

    @staticmethod
    def from_frame(
        frame: IntoFrame,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        rating: str | None = None,
        positive: str | None = None,
    ) -> Interactions:
        """Interactions from a pandas, polars or pyarrow frame with a row per event.

        Parameters
        ----------
        frame : the events
        user, item, time, rating : names of its columns; where not given, the usual ones are found
        positive : which ratings count, such as ``">= 4"``; all rows do where not given

        >>> import pandas as pd
        >>> frame = pd.DataFrame({"user": ["ann", "bob"], "item": ["tea", "tea"], "rating": [5, 2]})
        >>> Interactions.from_frame(frame, positive=">= 4")
        Interactions: 1 users x 1 items, 1 interactions
        """
        import narwhals as nw

        try:
            table: Any = nw.from_native(frame, eager_only=False)
        except TypeError:
            raise ParameterTypeError(
                "events are a pandas, polars or pyarrow frame, not of type "
                f"{type(frame).__name__}; make a frame of them, or use Interactions.from_pairs"
            ) from None
        table = table.collect() if isinstance(table, nw.LazyFrame) else table
        given = {"user": user, "item": item, "time": time, "rating": rating}
        columns = find_columns(list(table.columns), needed=_needed(positive), **given)
        name = columns["rating"]
        if positive is not None and name is not None:
            above, bound = parse_threshold(positive)
            if not table[name].dtype.is_numeric():
                raise InputError(f"the ratings in {name!r} are no numbers but {table[name].dtype}")
            every = table
            table = table.filter(above(nw.col(name), bound))
            if len(every) and not len(table):
                low, high = every[name].min(), every[name].max()
                raise InputError(
                    f"no rating is {positive.strip()}: those in {name!r} are {low} to {high}; "
                    "compare with a number among them"
                )
        missing = [c for c in (columns["user"], columns["item"]) if table[c].null_count()]
        if missing:
            raise InputError(
                f"{table[missing[0]].null_count()} rows have nothing in the column {missing[0]!r}; "
                f"leave them out first, for example with frame.{_drop_nulls(table, missing)}"
            )
        users, rows = encoded(table[columns["user"]], "user")
        items, numbers = encoded(table[columns["item"]], "item")
        when = None if columns["time"] is None else times(table[columns["time"]])
        if when is None and time is not None:
            raise InputError(f"the column {time!r} has neither numbers nor dates, so it is no time")
        return Interactions.from_numbers(users, items, rows, numbers, when)

    @staticmethod
    def from_files(
        *paths: str | Path,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        rating: str | None = None,
        positive: str | None = None,
    ) -> Interactions:
        r"""Interactions from CSV, TSV, Parquet or JSON-lines files, or globs of them.

        Ids of text files are whole numbers if all of a column are written so, and text otherwise.
        The other parameters are those of ``from_frame``.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "events.csv")
        ...     written = path.write_text("user,item\nann,tea\nbob,tea\n")
        ...     Interactions.from_files(path)
        Interactions: 2 users x 1 items, 2 interactions
        """
        return read_files(paths, user=user, item=item, time=time, rating=rating, positive=positive)

    @property
    def shape(self) -> tuple[int, int]:
        """How many users and items."""
        return len(self.users), len(self.items)

    @property
    def rows(self) -> Rows:
        """The items of each user as compressed rows."""
        return Rows(self.indptr, self.indices)

    @property
    def size(self) -> int:
        """How many interactions."""
        return len(self.indices)

    def __getitem__(self, mask: Any) -> Interactions:
        """Some of the interactions, with the users and items that occur in these only.

        Parameters
        ----------
        mask : (interactions,) True for those to keep, which are in the order of ``indices``

        >>> data = Interactions.from_pairs(["ann", "ann", "bob"], ["jam", "tea", "tea"])
        >>> data[np.array([True, False, False])]
        Interactions: 1 users x 1 items, 1 interactions
        """
        # scikit-learn writes X[mask, ...] for whatever has a shape.
        keep = np.asarray(mask[0] if isinstance(mask, tuple) and mask[1:] == (...,) else mask)
        if keep.dtype != bool or keep.shape != self.indices.shape:
            raise ParameterTypeError(
                f"interactions are chosen by a mask of {self.size:,} truth values, one for each, "
                f"not by {keep.dtype} of shape {keep.shape}; for cross-validation take "
                "boolrank.evaluation.masks(split)"
            )
        rows = row_numbers(self)[keep]
        counts = np.bincount(rows, minlength=len(self.users))
        touched = np.bincount(self.indices[keep], minlength=len(self.items)) > 0
        number = np.cumsum(touched) - 1
        return Interactions(
            self.users.chosen(counts > 0),
            self.items.chosen(touched),
            np.concatenate(([0], np.cumsum(counts[counts > 0]))),
            number[self.indices[keep]].astype(np.int32),
            None if self.time is None else self.time[keep],
        )

    @property
    def T(self) -> Interactions:  # noqa: N802 - as numpy names it
        """The same with the roles swapped: items as users. Ranking people for an item, for one."""
        from .._compiled.rows import transposed

        indptr, indices, order = transposed(self.indptr, self.indices, len(self.items))
        when = None if self.time is None else self.time[order]
        users = Vocabulary(self.items.ids, "user")
        return Interactions(
            users, Vocabulary(self.users.ids, "item"), indptr, indices, when, self.duplicates
        )

    def updated(
        self, added: Interactions | None = None, removed: Interactions | None = None
    ) -> Interactions:
        """With some interactions more and some fewer; users and items that were known stay so.

        What is added and known already, or in both, is no error; what is removed must be known.
        Times are not kept.
        """
        for given in (added, removed):
            if given is not None:
                check_interactions(given, "what is added and removed are")
        users, items = self.users, self.items
        rows, columns = row_numbers(self), self.indices.astype(np.int64)
        if added is not None:
            users, *of_users = users.merged(added.users)
            items, *of_items = items.merged(added.items)
            rows = np.concatenate([of_users[0][rows], of_users[1][row_numbers(added)]])
            columns = np.concatenate([of_items[0][columns], of_items[1][added.indices]])
        keys = np.unique(rows * len(items) + columns)
        if removed is not None:
            gone = users.numbers(removed.users)[row_numbers(removed)] * len(items)
            gone += items.numbers(removed.items)[removed.indices]
            missing = ~np.isin(gone, keys)
            if missing.any():
                user, item = divmod(int(gone[missing][0]), len(items))
                raise InputError(
                    f"{int(missing.sum())} interactions to remove are not there, such as user "
                    f"{users[user]!r} with item {items[item]!r}"
                )
            keys = np.setdiff1d(keys, gone, assume_unique=True)
        lengths = np.bincount(keys // len(items), minlength=len(users))
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        return Interactions(users, items, indptr, (keys % len(items)).astype(np.int32))

    def matrix(self) -> csr_array[Any, Any]:
        """The users × items matrix of 0 and 1."""
        from scipy.sparse import csr_array

        return csr_array((np.ones(self.size, np.float32), self.indices, self.indptr), self.shape)

    def row(self, user: int) -> NDArray[np.int32]:
        """Column numbers of a row, in order."""
        return self.indices[self.indptr[user] : self.indptr[user + 1]]

    def popularity(self) -> NDArray[np.int64]:
        """How many users each item has."""
        return np.bincount(self.indices, minlength=len(self.items))

    def __repr__(self) -> str:
        text = f"Interactions: {len(self.users):,} users x {len(self.items):,} items, "
        text += f"{self.size:,} interactions"
        return text + (f", {self.duplicates:,} duplicates left out" if self.duplicates else "")

    def _repr_html_(self) -> str:
        rows = []
        for name, counts in (("users", np.diff(self.indptr)), ("items", self.popularity())):
            some = counts if len(counts) else np.zeros(1, np.int64)
            middle = float(np.median(some))
            middle = int(middle) if middle.is_integer() else middle
            rows.append([name, len(counts), int(some.min()), middle, int(some.max())])
        share = self.size / max(1, self.shape[0] * self.shape[1])
        note = f"{share:.3%} of all pairs, {'without' if self.time is None else 'with'} times"
        heads = ["", "how many", "fewest", "median", "most interactions"]
        return Table.of(repr(self), heads, rows, note=note).to_html()


def read_files(
    paths: Iterable[str | Path],
    file_order: bool = False,
    *,
    user: str | None = None,
    item: str | None = None,
    time: str | None = None,
    rating: str | None = None,
    positive: str | None = None,
) -> Interactions:
    """Interactions from files; in their order, the places of the rows stand for the times."""
    unneeded = {*(["rating"] if positive is None else []), *(["time"] if file_order else [])}

    def choose(names: list[str]) -> dict[str, str | None]:
        given = {"user": user, "item": item, "time": time, "rating": rating}
        found = find_columns(names, needed=_needed(positive), **given)
        return {role: None if role in unneeded else name for role, name in found.items()}

    frame, columns = read_events(paths, choose, ["time"] if time is None else [])
    frame = frame.select([name for name in columns.values() if name is not None])
    if file_order:
        columns["time"] = place = max(frame.columns, key=len) + "_place"
        frame = frame.with_row_index(place)
    return Interactions.from_frame(frame, **columns, positive=positive)


def check_interactions(given: Any, whose: str) -> None:
    """Refuse what is something else; ``whose`` begins the sentence that says so."""
    if not isinstance(given, Interactions):
        raise ParameterTypeError(
            f"{whose} Interactions, not {type(given).__name__}; make them with "
            "Interactions.from_frame, from_matrix, from_pairs or from_files"
        )


def row_numbers(data: Interactions) -> NDArray[np.int64]:
    """The user's number of each interaction."""
    return data.rows.numbers


def _drop_nulls(table: Any, names: list[str | None]) -> str:
    """How the library of a narwhals frame leaves out rows with nothing in some columns."""
    if table.implementation.is_pandas_like():
        return f"dropna(subset={names})"
    return "drop_null()" if table.implementation.is_pyarrow() else f"drop_nulls({names})"


def _needed(positive: str | None) -> tuple[str, ...]:
    """The columns that must be there."""
    return ("user", "item") if positive is None else ("user", "item", "rating")
