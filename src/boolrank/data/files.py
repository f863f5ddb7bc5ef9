"""Events in files and queries: their columns found and typed.

Types are not guessed from the first rows. Columns of text files are text until all of them is
read, and become whole numbers only if every value is one in canonical form: not with ``007``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from .columns import find_columns, has_usual_name
from .database import ArrowStream, Database
from .events import Events, Reading, to_events
from .scans import FileScan, check_regular, expand, readable, scan_file, without_blank
from .values import (
    Condition,
    cleaned,
    fits,
    forms,
    is_ambiguous,
    is_boolean,
    is_date_like,
    suggest,
    whole_numbers,
)

if TYPE_CHECKING:
    import polars as pl

_SAMPLE = 200  # rows that tell what a column that is not read looks like


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
    return rows.events(_collect(scans, rows.names))


def read_batches(
    paths: Iterable[str | Path], given: Mapping[str, str | None], positive: str | None, size: int
) -> Iterator[Events]:
    """Yield the events of files without times, about ``size`` rows at a time.

    Each batch has its own ids: whole numbers if all of the batch are. All have one reading. The
    caller has to check at the end whether too many rows lack an id, or all ratings are negative.
    """
    scans, rows = _open(paths, {**given, "time": None}, positive, True)
    rows.reading.partial = True
    for scan in scans:
        _check(scan, scans[0])
        frame = scan.frame.select(rows.names)
        with readable(scan.source):
            for batch in frame.collect_batches(chunk_size=size, maintain_order=True):
                yield rows.events(without_blank(batch) if scan.is_text else batch)


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
        rows = _Rows(stream.columns, source.label, given, condition, file_order)
        rows.note_unused(stream.first.head(_SAMPLE))
        frame = stream.collect(rows.columns)
    if not len(frame):
        raise InputError("the query returns no rows", hint="change it so that it selects some")
    return rows.events(frame)


def _open(
    paths: Iterable[str | Path],
    given: Mapping[str, str | None],
    positive: str | None,
    file_order: bool,
) -> tuple[list[FileScan], _Rows]:
    """Open files and find their columns; raise if one is missing."""
    condition = None if positive is None else Condition.parse(positive)
    scans = [scan_file(path) for path in expand(paths)]
    first = scans[0]
    label = first.source.label if len(scans) == 1 else f"{len(scans)} files"
    try:
        rows = _Rows(first.names, label, given, condition, file_order)
    except InputError as error:
        if first.is_text and not any(given.values()) and not has_usual_name(first.names):
            error.hint += (
                f"; the first line of {first.source.label} is taken for the names of its columns: "
                "if it is data, add a line above it, such as user,item"
            )
        raise
    with readable(first.source):
        rows.note_unused(first.frame.head(_SAMPLE).collect())
    rows.place = partial(_place, scans)
    rows.texts = {
        name
        for name in rows.names
        if all(
            scan.is_text or scan.schema[name].is_integer() or name in scan.partitions
            for scan in scans
        )
    }
    return scans, rows


class _Rows:
    """How rows of files or a query become events.

    ``texts`` are columns of text in which whole numbers are numbers. ``place`` tells where a column
    first has a value.
    """

    def __init__(
        self,
        names: Sequence[str],
        source: str,
        given: Mapping[str, str | None],
        condition: Condition | None,
        file_order: bool,
    ) -> None:
        self.columns = find_columns(names, condition and condition.text, **given)
        self.columns |= {"time": None} if file_order else {}
        self.reading = Reading(source, dict(self.columns))
        self.condition, self.file_order = condition, file_order
        self.needs_time = given["time"] is not None
        self.texts: Collection[str] = ()
        self.place: Callable[[str, str | None], str] = lambda *_: "the rows of the query"

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

    def events(self, frame: pl.DataFrame) -> Events:
        """Return the events of rows, each column typed for its role."""
        import narwhals as nw
        import polars as pl

        self.reading.rows += len(frame)
        while frame.schema[item := str(self.columns["item"])] == pl.List:
            frame = frame.explode(item)
        for role, name in self.columns.copy().items():
            if name is None:
                continue
            try:
                frame = frame.with_columns(self._typed(frame[name], role))
            except InputError as error:
                if role != "time" or self.needs_time:
                    raise
                self.columns["time"] = None
                self.reading.columns = {**self.reading.columns, "time": None}
                warnings.warn(f"left out: {error}", stacklevel=4)
        table = nw.from_native(frame, eager_only=True)
        events = to_events(table, self.columns, self.condition, self.reading, self.place)
        return events._replace(time=np.arange(len(events.rows))) if self.file_order else events

    def _typed(self, series: pl.Series, role: str) -> pl.Series:
        """Return a column of text in the first form of its role that fits all values."""
        import polars as pl

        name, is_id = series.name, role in ("user", "item")
        if series.dtype.is_nested():
            raise InputError(
                f"the column {name!r} has nested values, such as {series.drop_nulls().first()!r}",
                hint=f"write the part that is the {role} into a column of its own",
            )
        if series.dtype == pl.Categorical:  # ids of a query
            distinct = series.unique().cast(pl.String)
            odd = cleaned(distinct)[0].ne_missing(distinct).any()
            series = series.cast(pl.String) if odd else series
        if series.dtype != pl.String:
            return series
        as_text = name in self.texts
        if role != "rating" and as_text:
            numbers = fits(whole_numbers, series)  # mostly, and then there is nothing to clean
            if numbers is not None:
                return numbers
        series, padded = cleaned(series)
        self.reading.padded += padded if is_id else 0
        if is_id and not as_text:
            return series
        possible = forms(role, self.condition)
        tried = (fits(form, series) for form in possible)
        fitting = next((each for each in tried if each is not None), None)
        if fitting is not None:
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


def _collect(scans: list[FileScan], columns: list[str]) -> pl.DataFrame:
    """Read columns of all files into one frame, without the blank lines of text files."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    for scan in scans:
        _check(scan, scans[0])
    types = {name: {scan.schema[name] for scan in scans} for name in columns}
    differ = [
        pl.col(name).cast(pl.String)
        for name, kinds in types.items()
        if len(kinds) > 1 and not all(kind.is_numeric() for kind in kinds)
    ]
    frames = [scan.frame.select(columns).with_columns(differ) for scan in scans]
    try:
        frame = pl.concat(frames, how="vertical_relaxed").collect()
    except (PolarsError, PanicException, OSError) as error:
        # polars does not name the file, so read one after the other.
        for scan in scans:
            with readable(scan.source):
                scan.frame.collect()
        raise InputError(f"the files cannot be read together: {error}") from None
    return without_blank(frame) if any(scan.is_text for scan in scans) else frame


def _check(scan: FileScan, first: FileScan) -> None:
    """Raise if a file has other columns than the first, or broken lines."""
    if set(scan.schema) != set(first.schema):
        raise InputError(
            f"{scan.source.label} has the columns {scan.names}, but {first.source.label} has "
            f"{first.names}",
            hint="read files with different columns separately",
        )
    check_regular(scan)


def _place(scans: list[FileScan], name: str, value: str | None) -> str:
    """Return where a value occurs first. Reads the files again."""
    import polars as pl

    for scan in scans:
        rows = without_blank(scan.frame).select(pl.col(name).cast(pl.String))
        column = cleaned(rows.collect().to_series())[0]
        same = column.eq_missing(value)
        if same.any():
            return f"{scan.source.label}, row {same.arg_true()[0] + 1} below the header"
    return "these files"
