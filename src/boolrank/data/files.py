"""Events in files: CSV, TSV, Parquet, JSON and Excel, one or many, read by polars.

Types are not guessed from the first rows. Columns of text files are text until all of them is
read, and become whole numbers only if every value is one in canonical form: not with ``007``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InputError
from .columns import find_columns, has_usual_name
from .database import Database
from .events import Events, Reading, read_frame
from .paths import expand
from .scans import FileScan, check_lines, is_regular, readable, scan_file
from .streams import ArrowStream
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

    Users and items are whole numbers if all of them are written so, and text otherwise; ratings
    and times are numbers, times also dates. A time column that was not asked for and is of another
    kind is left out with a warning.
    """
    files = _Files.of(paths, given, positive, file_order)
    return _events(files.made(_collect(files.scans, files.names)), *files[4:])


def read_batches(
    paths: Iterable[str | Path], given: Mapping[str, str | None], positive: str | None, rows: int
) -> Iterator[Events]:
    """Yield the events of files without times, about so many rows at a time.

    Each batch has ids of its own: whole numbers if all of the batch are. Whether too many rows lack
    an id, or all ratings are negative, is for the caller to judge at the end.
    """
    files = _Files.of(paths, dict(given) | {"time": None}, positive, True)
    for scan in files.scans:
        _check(scan, files.scans[0])
        frame = scan.frame.select(files.names)
        with readable(scan.source):
            for batch in frame.collect_batches(chunk_size=rows, maintain_order=True):
                kept = _without_blank(batch) if scan.is_text else batch
                reading = replace(files.reading, partial=True, dropped={}, padded=0)
                yield _events(files.made(kept), *files[4:6], reading, False)


class _Files(NamedTuple):
    """Scans of files, the columns to read, and how."""

    scans: list[FileScan]
    columns: dict[str, str | None]
    texts: set[str]
    condition: Condition | None
    given: Mapping[str, str | None]
    positive: str | None
    reading: Reading
    file_order: bool

    @staticmethod
    def of(
        paths: Iterable[str | Path],
        given: Mapping[str, str | None],
        positive: str | None,
        file_order: bool,
    ) -> _Files:
        """Open files; raise if a column is missing."""
        condition = None if positive is None else Condition.parse(positive)
        scans = [scan_file(path) for path in expand(paths)]
        columns = _columns(scans[0], positive, given)
        columns |= {"time": None} if file_order else {}
        label = scans[0].source.label if len(scans) == 1 else f"{len(scans)} files"
        with readable(scans[0].source):
            some = scans[0].frame.head(_SAMPLE).collect()
        reading = Reading(label, dict(columns))
        _note_unused(some, columns, positive, reading, file_order)
        texts = {
            name
            for name in filter(None, columns.values())
            if all(
                scan.is_text or scan.schema[name].is_integer() or name in scan.partitions
                for scan in scans
            )
        }
        return _Files(scans, columns, texts, condition, given, positive, reading, file_order)

    @property
    def names(self) -> list[str]:
        """Names of the columns to read."""
        return list(dict.fromkeys(name for name in self.columns.values() if name is not None))

    def made(self, frame: pl.DataFrame) -> _Frame:
        """Return rows of the files with their columns."""
        place = partial(_place, self.scans)
        return _Frame(frame, dict(self.columns), self.texts, self.condition, place)


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
        if not stream.names:
            raise InputError("the query returns no columns", hint="write one that selects some")
        columns = find_columns(stream.names, positive, **given)
        columns |= {"time": None} if file_order else {}
        reading = Reading(source.label, dict(columns))
        _note_unused(stream.first.head(_SAMPLE), columns, positive, reading, file_order)
        frame = stream.collect(columns)
    if not len(frame):
        raise InputError("the query returns no rows", hint="change it so that it selects some")
    made = _Frame(frame, columns, set(), condition, lambda *_: "the rows of the query")
    return _events(made, given, positive, reading, file_order)


class _Frame(NamedTuple):
    """The rows of files or a query."""

    frame: pl.DataFrame
    columns: dict[str, str | None]
    texts: set[str]  # columns of text in which whole numbers are numbers
    condition: Condition | None
    place: Callable[[str, str | None], str]  # of the first row with a value in a column


def _events(
    made: _Frame,
    given: Mapping[str, str | None],
    positive: str | None,
    reading: Reading,
    file_order: bool,
) -> Events:
    """Return the events of rows, each column typed for its role."""
    reading.rows = len(made.frame)
    for role, name in made.columns.copy().items():
        if name is None:
            continue
        try:
            made = made._replace(frame=_typed(made, name, role, reading))
        except InputError as error:
            if role != "time" or given["time"] is not None:
                raise
            made.columns["time"] = None
            reading.columns = {**reading.columns, "time": None}
            warnings.warn(f"left out: {error}", stacklevel=4)

    def place(name: str) -> str:
        return f", the first in {made.place(name, None)}"

    events = read_frame(made.frame, made.columns, positive, reading, place)
    return events._replace(time=np.arange(len(events.rows))) if file_order else events


def _columns(
    scan: FileScan, positive: str | None, given: Mapping[str, str | None]
) -> dict[str, str | None]:
    try:
        return find_columns(scan.names, positive, **given)
    except InputError as error:
        if scan.is_text and not any(given.values()) and not has_usual_name(scan.names):
            error.hint += (
                f"; the first line of {scan.source.label} is taken for the names of its columns: "
                "if it is data, add a line above it, such as user,item"
            )
        raise


def _note_unused(
    some: pl.DataFrame,
    columns: dict[str, str | None],
    positive: str | None,
    reading: Reading,
    file_order: bool,
) -> None:
    """Note ratings that are not used, unless they are truth values; offer a time and a rating."""
    rating = columns["rating"]
    if rating is not None and positive is None and not is_boolean(some[rating]):
        columns["rating"] = None
        example = suggest(some[rating])
        how = f"; positive='{example}' selects some" if example else ""
        reading.notes.append(f"every row counts, whatever its {rating!r}{how}")
    others = [name for name in some.columns if name not in (rating, *columns.values())]
    for role, kind, wanted in (
        ("time", is_date_like, columns["time"] is None and not file_order),
        ("rating", is_boolean, rating is None),
    ):
        found = [name for name in others if wanted and kind(some[name])]
        if len(found) == 1:
            reading.notes.append(f"{found[0]!r} looks like a {role}; {role}={found[0]!r} uses it")


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
    some_text = any(scan.is_text for scan in scans)
    return _without_blank(frame) if some_text else frame


def _check(scan: FileScan, first: FileScan) -> None:
    """Raise if a file has other columns than the first, or broken lines."""
    if set(scan.schema) != set(first.schema):
        raise InputError(
            f"{scan.source.label} has the columns {scan.names}, but {first.source.label} has "
            f"{first.names}",
            hint="read files with different columns separately",
        )
    if scan.is_text and not is_regular(scan):
        check_lines(scan.source)


def _without_blank(frame: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return frame.filter(~pl.all_horizontal(pl.all().is_null()))


def _place(scans: list[FileScan], name: str, value: str | None) -> str:
    """Return where a value occurs first. Reads the files again."""
    import polars as pl

    for scan in scans:
        rows = scan.frame.filter(~pl.all_horizontal(pl.all().is_null()))
        column = cleaned(rows.select(pl.col(name).cast(pl.String)).collect().to_series())[0]
        same = column.eq_missing(value)
        if same.any():
            return f"{scan.source.label}, row {same.arg_true()[0] + 1} below the header"
    return "these files"


def _typed(made: _Frame, name: str, role: str, reading: Reading) -> pl.DataFrame:
    """Return the frame with a column of text in the first form of its role that loses nothing."""
    import polars as pl

    frame = made.frame
    series, is_id = frame[name], role in ("user", "item")
    if role == "item" and series.dtype == pl.List:
        return _typed(made._replace(frame=frame.explode(name)), name, role, reading)
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
        return frame
    as_text = name in made.texts
    if role != "rating" and as_text:
        numbers = fits(whole_numbers, series)  # mostly, and then there is nothing to clean
        if numbers is not None:
            return frame.with_columns(numbers)
    series, padded = cleaned(series)
    reading.padded += padded if is_id else 0
    if is_id and not as_text:
        return frame.with_columns(series)
    possible = forms(role, made.condition)
    tried = (fits(form, series) for form in possible)
    fitting = next((each for each in tried if each is not None), None)
    if fitting is not None:
        if role == "time" and is_ambiguous(series, fitting):
            example = series.drop_nulls().first()
            reading.notes.append(f"dates such as {example!r} are read as day/month/year")
        return frame.with_columns(fitting)
    # The form that the fewest values break is the one that was meant.
    broken = (series.filter(f(series).is_null() & series.is_not_null()) for f in possible)
    wrong = min(broken, key=len).first()
    raise InputError(
        f"the column {name!r} is not a {role}: it has {wrong!r} in {made.place(name, str(wrong))}",
        hint=f"correct it, or name another column with {role}=...",
        parameter=role,
    )
