"""Events out of files, with types: of users and items, their ratings and times.

Nothing is guessed from the first rows. Columns of text files are text until all of them is known,
and become whole numbers only if every value is written as one is written: with ``007`` among them,
they stay text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ._extras import needs
from .errors import InputError
from .files import FileScan, expand, joined, scan_file, unreadable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_events"]

Columns = dict[str, str | None]


def read_events(
    paths: str | Path | Iterable[str | Path],
    choose: Callable[[list[str]], Columns],
    optional: Iterable[str] = (),
) -> tuple[pl.DataFrame, Columns]:
    """The columns that ``choose`` picks among the names for each role, and which they are.

    Users and items are whole numbers where every one of them is written so, and text otherwise;
    ratings and times are numbers, times dates too. Roles that are ``optional`` are left out where
    the values are of another kind, with a warning that says which.
    """
    with needs("cli", "Reading files"):
        import polars as pl

    scans = [scan_file(path) for path in expand(paths)]
    events, untyped = joined(scans)
    columns = dict(choose(list(scans[0].schema)))
    frame = _collected(events.select(list(_roles(columns))), scans)
    if any(scan.is_text for scan in scans):
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))  # blank lines
    for name, role in _roles(columns).items():
        if name in untyped or (role in ("time", "rating") and frame[name].dtype == pl.String):
            typed = _typed(frame[name], role)
            if typed is not None:
                frame = frame.with_columns(typed)
            elif role in optional:
                columns[role] = None
                warnings.warn(f"left out: {_not_of(frame[name], role, scans)}", stacklevel=4)
            else:
                raise InputError(_not_of(frame[name], role, scans))
    if not len(frame):
        raise InputError(
            f"there are no interactions: {scans[0].path} has no rows; below the names of the "
            "columns stands a row per event"
        )
    _check_no_nulls(frame, columns, scans)
    return frame, columns


def _roles(columns: Mapping[str, str | None]) -> dict[str, str]:
    return {name: role for role, name in columns.items() if name is not None}


def _collected(events: pl.LazyFrame, scans: list[FileScan]) -> pl.DataFrame:
    try:
        with unreadable():
            return events.collect()
    except InputError as error:
        # Which file it was polars does not say; looking again is slow, and only for this.
        raise next(filter(None, (scan.trouble() for scan in scans)), error) from None


def _check_no_nulls(frame: pl.DataFrame, columns: Columns, scans: list[FileScan]) -> None:
    """Refuse rows without a user or an item, and say where the first of them stands."""
    for name in filter(None, (columns["user"], columns["item"])):
        missing = frame[name].null_count()
        if missing:
            where = _first(scans, name, None)
            raise InputError(
                f"{missing} rows have nothing in the column {name!r}, the first in {where}; fill "
                "it in, or take such rows out of the file"
            )


def _first(scans: list[FileScan], name: str, value: str | None) -> str:
    """Where a value stands first. Reads again: for what is refused anyway."""
    import polars as pl

    for scan in scans:
        rows = scan.frame.filter(~pl.all_horizontal(pl.all().is_null()))
        same = rows.select(pl.col(name).cast(pl.String).eq_missing(value)).collect().to_series()
        if same.any():
            return f"{scan.path}, row {same.arg_true()[0] + 1} below the header"
    return "these files"


def _typed(series: pl.Series, role: str) -> pl.Series | None:
    """The column in the first form of its role that loses nothing; None where there is none."""
    made = (make(series) for make in _FORMS[role])
    return next((each for each in made if each.null_count() == series.null_count()), None)


def _not_of(series: pl.Series, role: str, scans: list[FileScan]) -> str:
    # What the fewest values break is what the column was meant to be.
    broken = [series.filter(make(series).is_null() & series.is_not_null()) for make in _FORMS[role]]
    wrong = min(broken, key=len).first()
    return (
        f"the column {series.name!r} is no {role}: it has {wrong!r}, for one, in "
        f"{_first(scans, series.name, str(wrong))}; correct it, or name another with {role}=..."
    )


def _whole_numbers(series: pl.Series) -> pl.Series:
    """Text as whole numbers where that loses nothing, be it a leading zero."""
    import polars as pl

    if series.dtype.is_integer():
        return series
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String).ne_missing(series), None)


def _numbers(series: pl.Series) -> pl.Series:
    import polars as pl

    return series.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)


def _dates(series: pl.Series) -> pl.Series:
    import polars as pl

    try:
        return series.str.to_datetime(time_unit="us", strict=False, time_zone="UTC")
    except pl.exceptions.PolarsError:  # no form of dates that it knows
        return pl.Series(series.name, [None] * len(series), pl.Datetime("us", "UTC"))


def _as_it_is(series: pl.Series) -> pl.Series:
    return series


# What a column of a role may be, null where a value is none of that.
_FORMS: dict[str, tuple[Callable[[pl.Series], pl.Series], ...]] = {
    "user": (_whole_numbers, _as_it_is),
    "item": (_whole_numbers, _as_it_is),
    "rating": (_numbers,),
    "time": (_whole_numbers, _numbers, _dates),
}
