"""Events in files and queries: their columns found and typed.

Types are not guessed from the first rows. Columns of text files are text until all of them is
read, and become whole numbers only if every value is one in canonical form: not with ``007``.
So do columns whose types differ between files, in which 7, 7.0 and "7" are the same id.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from ..errors import InputError
from .columns import USUAL_NAMES, find_columns, likely
from .conditions import Condition
from .database import ArrowStream, Database
from .events import Events, Reading, to_events, without_ids
from .scans import FileScan, check_regular, expand, readable, scan_file, without_blank
from .values import (
    cleaned,
    exact_text,
    fits,
    forms,
    is_ambiguous,
    is_boolean,
    is_date_like,
    suggest,
    whole_numbers,
)

_SAMPLE = 200  # rows that tell what a column that is not read looks like
_IDS = ("user", "item")


def read_files(
    paths: Iterable[str | Path],
    given: Mapping[str, str | None],
    positive: str | None = None,
    file_order: bool = False,
) -> Events:
    """Return the events of files; see `Interactions.from_files`.

    Users and items are whole numbers if all of them are, and text otherwise; ratings and times are
    numbers, times also dates. A time column that was not asked for and is of another kind is left
    out with a warning.
    """
    scans, rows = _open(paths, given, positive, file_order)
    parts = list(_plain_rows(scans, rows))
    frame = pl.concat((part.select(rows.names) for part in parts), how="vertical_relaxed")
    return rows.events(frame)


def read_batches(
    paths: Iterable[str | Path], given: Mapping[str, str | None], positive: str | None, size: int
) -> Iterator[Events]:
    """Yield the events of files without times, about ``size`` rows at a time.

    Each batch has its own ids: those of `read_files`, or whole numbers in place of their text. All
    have one reading, which is complete after the last.
    """
    scans, rows = _open(paths, {**given, "time": None}, positive, True)
    rows.reading.partial, count = True, 0
    for frame in _plain_rows(scans, rows, size):
        events = rows.events(frame)
        count += len(events.rows)
        yield events
    rows.reading.partial = False
    rows.check(count)


def read_query(
    query: str,
    database: str | Database,
    given: Mapping[str, str | None],
    positive: str | None = None,
    file_order: bool = False,
) -> Events:
    """Return the events of a query; see `Interactions.from_sql`. Batches are read one by one."""
    source, condition = Database(database), None if positive is None else Condition.parse(positive)
    with source.stream(query) as batches:
        stream = ArrowStream(batches)
        if not stream.columns:
            raise InputError("the query returns no columns", hint="write one that selects some")
        kinds = {name: {kind} for name, kind in stream.first.schema.items()}
        rows = _Rows(stream.columns, source.label, given, condition, file_order, kinds)
        rows.note_unused(stream.first.head(_SAMPLE))
        frame = stream.collect(rows.columns)
    if not len(frame):
        raise InputError("the query returns no rows", hint="change it so that it selects some")
    return rows.events(rows.plain(frame))


def _open(
    paths: Iterable[str | Path],
    given: Mapping[str, str | None],
    positive: str | None,
    file_order: bool,
) -> tuple[list[FileScan], _Rows]:
    """Open files and find their columns; raise if these differ, or if a line is broken."""
    condition = None if positive is None else Condition.parse(positive)
    scans = [scan_file(path) for path in expand(paths)]
    first = scans[0]
    for scan in scans:
        if set(scan.schema) != set(first.schema):
            raise InputError(
                f"{scan.label} has the columns {scan.names}, but {first.label} has {first.names}",
                hint="read files with different columns separately",
            )
    label = first.label if len(scans) == 1 else f"{len(scans)} files"
    kinds = {name: {scan.kinds[name] for scan in scans} for name in first.schema}
    try:
        rows = _Rows(first.names, label, given, condition, file_order, kinds, scans)
    except InputError as error:
        usual = any(likely(first.names, role) for role in USUAL_NAMES)
        if first.is_text and not any(given.values()) and not usual:
            error.hint += (
                f"; the first line of {first.label} is taken for the names of its columns: "
                "if it is data, add a line above it, such as user,item"
            )
        raise
    with readable(first):
        rows.note_unused(first.frame.head(_SAMPLE).collect())
    for scan in scans:
        check_regular(scan)
    return scans, rows


def _plain_rows(
    scans: Iterable[FileScan], rows: _Rows, size: int | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the rows of one file after the other, or about ``size`` rows at a time."""
    for scan in scans:
        frame = scan.frame.select(rows.names)
        batches = partial(frame.collect_batches, chunk_size=size, maintain_order=True)
        with readable(scan):
            for part in batches() if size else [frame.collect()]:
                yield rows.plain(without_blank(part) if scan.is_text else part)


class _Rows:
    """How rows of files or a query become events.

    ``kinds`` has the types of each column in all files. They decide what its values are, together
    with the values of all rows, so that batches of rows agree.
    """

    def __init__(
        self,
        names: Sequence[str],
        source: str,
        given: Mapping[str, str | None],
        condition: Condition | None,
        file_order: bool,
        kinds: Mapping[str, set[Any]],
        scans: Sequence[FileScan] = (),
    ) -> None:
        self.columns = find_columns(names, condition and condition.text, **given)
        self.columns |= {"time": None} if file_order else {}
        self.reading = Reading(source, dict(self.columns))
        self.condition, self.file_order = condition, file_order
        self.needs_time, self.scans = given["time"] is not None, scans
        self.kinds = {name: each - {pl.Null()} for name, each in kinds.items()}
        self._forms = {role: forms(role, condition) for role in self.columns}

    @property
    def names(self) -> list[str]:
        """Names of the columns to read."""
        return list(dict.fromkeys(name for name in self.columns.values() if name is not None))

    def note_unused(self, some: pl.DataFrame) -> None:
        """Note unused ratings, unless they are truth values; offer a time and a rating."""
        columns, rating = self.columns, self.columns["rating"]
        if rating is not None and self.condition is None and not is_boolean(some[rating]):
            columns["rating"] = None
            example = suggest(some[rating])
            how = f"; positive='{example}' selects some" if example else ""
            self.reading.notes.append(f"all rows count, regardless of {rating!r}{how}")
        others = [name for name in some.columns if name not in (rating, *columns.values())]
        for role, kind, wanted in (
            ("time", is_date_like, columns["time"] is None and not self.file_order),
            ("rating", is_boolean, rating is None),
        ):
            found = [name for name in others if wanted and kind(some[name])]
            if len(found) == 1:
                hint = f"{found[0]!r} looks like a {role}; {role}={found[0]!r} uses it"
                self.reading.notes.append(hint)

    def plain(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return rows of a file with one item each, and columns of the type in all files."""
        self.reading.rows += len(frame)
        while frame.schema[item := str(self.columns["item"])] == pl.List:
            frame = frame.explode(item)
        return self._changed(frame, self._plain)

    def events(self, frame: pl.DataFrame) -> Events:
        """Return the events of plain rows, each column typed for its role."""
        table = nw.from_native(self._changed(frame, self._typed), eager_only=True)
        events = to_events(table, self.columns, self.condition, self.reading, drop_missing=True)
        if not self.reading.partial:
            self.check(len(events.rows))
        return events._replace(time=np.arange(len(events.rows))) if self.file_order else events

    def check(self, count: int) -> None:
        """Raise if most rows have no user or no item, or if none of all rows counts."""
        missing = {role: self.reading.dropped.get(f"without {role}", 0) for role in _IDS}
        rows = count + sum(missing.values())  # those that the rating does not drop
        for role, number in missing.items():
            name = str(self.columns[role])
            if 2 * number > rows:
                where = f", the first in {self.place(name, None)}"
                raise without_ids(number, role, name, where)
            rows -= number
        if not count:
            why = "no row counts" if self.reading.rows else "the input has no rows"
            hint = "give some" if self.condition is None else "change positive=..."
            raise InputError(f"there are no interactions: {why}", hint=hint)

    def _changed(
        self, frame: pl.DataFrame, change: Callable[[pl.Series, str], pl.Series]
    ) -> pl.DataFrame:
        """Return rows with the column of each role changed; leave invalid times out."""
        for role, name in self.columns.copy().items():
            if name is None:
                continue
            try:
                frame = frame.with_columns(change(frame[name], role))
            except InputError as error:
                if role != "time" or self.needs_time:
                    raise
                self.columns["time"] = None
                self.reading.columns = {**self.reading.columns, "time": None}
                warnings.warn(f"left out: {error}", stacklevel=5)
        return frame

    def _plain(self, series: pl.Series, role: str) -> pl.Series:
        """Return a column as text if files have it in different types, or ids with a fraction."""
        name, kind = series.name, series.dtype
        if kind.is_nested():
            raise InputError(
                f"the column {name!r} has nested values, such as {series.drop_nulls().first()!r}",
                hint=f"write the part that is the {role} into a column of its own",
            )
        kinds, is_id = self.kinds[name], role in _IDS
        alike = all(each.is_integer() if is_id else each.is_numeric() for each in kinds)
        fraction = is_id and kind.is_numeric() and not kind.is_integer()
        return exact_text(series) if fraction or (len(kinds) > 1 and not alike) else series

    def _typed(self, series: pl.Series, role: str) -> pl.Series:
        """Return a column of text in the first form of its role that fits all values."""
        name, is_id = series.name, role in _IDS
        if series.dtype == pl.Categorical:  # ids of a query
            distinct = series.unique().cast(pl.String)
            odd = cleaned(distinct)[0].ne_missing(distinct).any()
            series = series.cast(pl.String) if odd else series
        if series.dtype != pl.String:
            return series
        # Text that a file declares as such stays text.
        as_text = all(each.is_numeric() or each == pl.Unknown for each in self.kinds[name])
        if role != "rating" and as_text:
            numbers = fits(whole_numbers, series)  # mostly, and then there is nothing to clean
            if numbers is not None:
                return numbers
        series, padded = cleaned(series)
        self.reading.padded += padded if is_id else 0
        if is_id and not as_text:
            return series
        possible = self._forms[role]
        for form in possible:
            fitting = fits(form, series)
            if fitting is None:
                continue
            if not is_id and series.null_count() < len(series):
                self._forms[role] = [form]  # later batches have the same
            if role == "time" and is_ambiguous(series, fitting):
                example = series.drop_nulls().first()
                self.reading.notes.append(f"dates such as {example!r} are read as day/month/year")
            return fitting
        # The form that the fewest values break is the one that was meant.
        broken = (series.filter(f(series).is_null() & series.is_not_null()) for f in possible)
        wrong = min(broken, key=len).first()
        where = self.place(name, str(wrong))
        raise InputError(
            f"the column {name!r} is not a {role}: it has {wrong!r} in {where}",
            hint=f"correct it, or name another column with {role}=...",
            parameter=role,
        )

    def place(self, name: str, value: str | None) -> str:
        """Return where a value occurs first. Reads the files again."""
        for scan in (each for each in self.scans if not each.schema[name].is_nested()):
            rows = without_blank(scan.frame).select(pl.col(name).cast(pl.String))
            same = cleaned(rows.collect().to_series())[0].eq_missing(value)
            if same.any():
                return f"{scan.label}, row {same.arg_true()[0] + 1} below the header"
        return "these files" if self.scans else "the rows of the query"
