"""Events in files and queries: their columns found and typed.

Types are not guessed from the first rows. Columns of text files are text until all of them is
read, and become whole numbers only if every value is one in canonical form: not with ``007``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl

from ..errors import InputError
from .columns import find_columns, likely
from .conditions import Condition
from .database import ArrowStream, Database
from .events import Events, Reading, to_events
from .scans import FileScan, check_regular, expand, readable, scan_file, without_blank
from .values import cleaned, fits, forms, is_ambiguous, is_boolean, is_date_like, whole_numbers

_SAMPLE = 200  # rows that tell what a column that is not read looks like
_IDS = ("user", "item")
_QUANTITIES = ("quantity", "qty", "amount", "units", "count")
_HEADER = (
    "the first line has the names of the columns, separated by comma, semicolon, tab, bar or blank"
)


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
    rows = _open(paths, given, positive, file_order)
    return rows.events(pl.concat(rows.frames(), how="vertical_relaxed"))


def read_batches(
    paths: Iterable[str | Path], given: Mapping[str, str | None], positive: str | None, size: int
) -> Iterator[Events]:
    """Yield the events of files without times, about ``size`` rows at a time.

    Each batch has its own ids: those of `read_files`, or whole numbers in place of their text. All
    have one reading, which is complete after the last.
    """
    rows = _open(paths, {**given, "time": None}, positive, True)
    for frame in rows.frames(size):
        yield rows.events(frame)


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
        rows = _Rows(stream.columns, source.label, given, condition, file_order)
        rows.note_unused(stream.first.head(_SAMPLE))
        return rows.events(stream.collect(rows.columns))


def _open(
    paths: Iterable[str | Path],
    given: Mapping[str, str | None],
    positive: str | None,
    file_order: bool,
) -> _Rows:
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
    try:
        rows = _Rows(first.names, label, given, condition, file_order, scans)
    except InputError as error:
        if first.separator and error.parameter in _IDS and not likely(first.names, error.parameter):
            error.hint += f"; {_HEADER}"
        raise
    with readable(first):
        rows.note_unused(first.frame.head(_SAMPLE).collect())
    for scan in scans:
        check_regular(scan)
    return rows


def _has_returns(name: str, values: pl.Series) -> bool:
    """Return whether a column of quantities has some below 0."""
    if values.dtype.is_nested() or name.strip().lower() not in _QUANTITIES:
        return False
    return bool((values.cast(pl.Float64, strict=False) < 0).any())


class _Rows:
    """How rows of files or a query become events."""

    def __init__(
        self,
        names: Sequence[str],
        source: str,
        given: Mapping[str, str | None],
        condition: Condition | None,
        file_order: bool,
        scans: Sequence[FileScan] = (),
    ) -> None:
        self.columns = find_columns(names, condition and condition.text, **given)
        self.columns |= {"time": None} if file_order else {}
        self.reading = Reading(source, dict(self.columns))
        self.condition, self.file_order = condition, file_order
        self.needs_time, self.scans = given["time"] is not None, scans
        self._forms = {role: forms(role, condition) for role in self.columns}
        for role, name in self.columns.items():
            kinds = {_family(scan, name, role) for scan in scans if name is not None} - {"Null"}
            if len(kinds) > 1:
                raise InputError(
                    f"the column {name!r} is of different types: {' and '.join(sorted(kinds))}",
                    hint="convert the files to one type",
                )

    def note_unused(self, some: pl.DataFrame) -> None:
        """Note unused ratings other than truth values, negative quantities, and a likely time."""
        columns, rating = self.columns, self.columns["rating"]
        returns = [name for name in some.columns if _has_returns(name, some[name])]
        if rating is None and len(returns) == 1:
            how = "name it as the rating and select '> 0' (positive) to leave these rows out"
            self.reading.notes.append(f"{returns[0]!r} has negative values; {how}")
        if rating is not None and self.condition is None and not is_boolean(some[rating]):
            columns["rating"] = None
            how = "a condition such as '>= 4' (positive) selects some"
            self.reading.notes.append(f"all rows count, regardless of {rating!r}; {how}")
        if columns["time"] is None and not self.file_order:
            others = [name for name in some.columns if name not in columns.values()]
            dates = [name for name in others if is_date_like(some[name])]
            if len(dates) == 1:
                hint = f"{dates[0]!r} looks like a time; name it as the time to use it"
                self.reading.notes.append(hint)

    def frames(self, size: int | None = None) -> Iterator[pl.DataFrame]:
        """Yield the rows of one file after the other, or about ``size`` rows at a time."""
        names = list(dict.fromkeys(name for name in self.columns.values() if name is not None))
        for scan in self.scans:
            frame = scan.frame.select(names)
            frame = without_blank(frame) if scan.is_text else frame
            with readable(scan):
                if size is None:
                    yield frame.collect()
                else:
                    yield from frame.collect_batches(chunk_size=size, maintain_order=True)

    def events(self, frame: pl.DataFrame) -> Events:
        """Return the events of rows, one for each item of a list, typed by their roles."""
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
                warnings.warn(f"left out: {error}", stacklevel=5)
        table = nw.from_native(frame, eager_only=True)
        events = to_events(table, self.columns, self.condition, self.reading, drop_missing=True)
        return events._replace(time=np.arange(len(events.rows))) if self.file_order else events

    def _typed(self, series: pl.Series, role: str) -> pl.Series:
        """Return a column in the first form of its role that fits all values."""
        name, kind, is_id = series.name, series.dtype, role in _IDS
        if kind.is_nested():
            raise InputError(
                f"the column {name!r} has nested values, such as {series.drop_nulls().first()!r}",
                hint=f"write the part that is the {role} into a column of its own",
            )
        if kind == pl.Categorical:  # ids of a query
            distinct = series.unique().cast(pl.String)
            odd = cleaned(distinct)[0].ne_missing(distinct).any()
            series = series.cast(pl.String) if odd else series
        if series.dtype != pl.String:
            return series.fill_nan(None) if is_id and kind.is_float() else series
        untyped = any(name in scan.untyped for scan in self.scans)
        if role != "rating" and untyped:
            numbers = fits(whole_numbers, series)  # mostly, and then there is nothing to clean
            if numbers is not None:
                return numbers
        series, padded = cleaned(series)
        self.reading.padded += padded if is_id else 0
        if is_id and not untyped:
            return series  # text that a file declares as such stays text
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
        wrong = str(min(broken, key=len).first())
        comma = re.fullmatch(r"-?[\d.]*,\d+", wrong) is not None
        raise InputError(
            f"the column {name!r} is not a {role}: it has {wrong!r} in {self._place(name, wrong)}",
            hint="write numbers with a decimal point, such as 4.5"
            if comma
            else f"correct it, or name another {role} column",
            parameter=role,
        )

    def _place(self, name: str, value: str) -> str:
        """Return where a value occurs first. Reads the files again."""
        for scan in self.scans:
            rows = without_blank(scan.frame).select(pl.col(name).cast(pl.String))
            same = cleaned(rows.collect().to_series())[0].eq_missing(value)
            if same.any():
                return f"{scan.label}, row {same.arg_true()[0] + 1} below the header"
        return "these files" if self.scans else "the rows of the query"


def _family(scan: FileScan, name: str, role: str) -> str:
    """Return the type of a column; types of one family can be read together, without rounding."""
    kind = scan.schema[name]
    if name in scan.untyped:
        return "untyped text"
    is_number = kind.is_integer() if role in _IDS else kind.is_numeric()
    return "numbers" if is_number else str(kind)
