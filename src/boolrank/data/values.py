"""Values of text columns: the forms of ids, times and ratings.

A form is a function from a column of text to a column of another type, null where a value has
another form. A column takes the first form of its role that fits every value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl

from .conditions import BOOLEANS, MISSING, Condition

Form = Callable[[pl.Series], pl.Series]

_SAMPLE = 100  # values that tell whether a form is worth a try


def forms(role: str, condition: Condition | None) -> list[Form]:
    """Return the forms that a column of text may have in a role."""
    if role != "rating":
        return _FORMS[role]
    if condition is None:
        return [_booleans]
    return [_text] if isinstance(condition.value, str) else [_numbers, _booleans]


def fits(form: Form, series: pl.Series) -> pl.Series | None:
    """Return a column in a form, None if a value has another form."""
    some = series.head(_SAMPLE)
    if form(some).null_count() > some.null_count():
        return None
    made = form(series)
    return made if made.null_count() == series.null_count() else None


def typed_attribute(series: pl.Series, is_id: bool, is_text: bool) -> pl.Series:
    """Return an attribute of items in the first form that all values have."""
    series = cleaned(series)[0]
    if is_id or is_text:
        made = fits(whole_numbers, series) if is_id else None
        return series if made is None else made
    tried = (fits(form, series) for form in _FORMS["attribute"])
    some = series.null_count() < len(series)
    return next((each for each in tried if some and each is not None), series)


def whole_numbers(series: pl.Series) -> pl.Series:
    """Return whole numbers where they are written in canonical form: not as 007."""
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.set(numbers.cast(pl.String).ne_missing(series), None)


def _text(series: pl.Series) -> pl.Series:
    return series


def _numbers(series: pl.Series) -> pl.Series:
    return series.cast(pl.Float64, strict=False)


def _measures(series: pl.Series) -> pl.Series:
    """Return finite numbers, but not codes such as 007."""
    numbers = _numbers(series)
    codes = series.str.contains(r"^[-+]?0\d")
    return numbers.set(codes | ~numbers.is_finite(), None)


def _booleans(series: pl.Series) -> pl.Series:
    lower = series.str.to_lowercase()
    return lower.replace_strict(BOOLEANS, default=None, return_dtype=pl.Boolean)


def _dates(series: pl.Series, form: str | None = None) -> pl.Series:
    """Return dates of a format, by default of the one that polars finds."""
    zone = "UTC" if form is None else None
    try:
        return series.str.to_datetime(form, time_unit="us", strict=False, time_zone=zone)
    except pl.exceptions.PolarsError:  # no format that it knows
        return pl.Series(series.name, [None] * len(series), pl.Datetime("us"))


# Formats besides those that polars recognises, which include 2024-03-05 and 05/03/2024. Years of
# two digits come first: %Y would take 24 for the year 24.
_DAYS = (
    *("%Y-%m-%d", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"),
    *("%d %b %Y", "%b %d %Y", "%b %d, %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_DATES: list[Form] = [
    _dates,
    *(partial(_dates, form=day + clock) for day in _DAYS for clock in _CLOCKS),
]
_FORMS: dict[str, list[Form]] = {
    "user": [whole_numbers, _text],
    "item": [whole_numbers, _text],
    "time": [whole_numbers, _numbers, *_DATES],
    "attribute": [_measures, _booleans, *_DATES],
}


def is_ambiguous(series: pl.Series, made: pl.Series) -> bool:
    """Return True for dates such as 05/03/2024 in which day and month could be exchanged."""
    slashes = r"^\d{1,2}/\d{1,2}/"
    dates = made.dtype.is_temporal() and bool(series.str.contains(slashes).all())
    return dates and int(made.dt.day().max()) <= 12  # type: ignore[arg-type]


def is_date_like(series: pl.Series) -> bool:
    """Return True if all values are dates; numbers are not."""
    if series.dtype != pl.String or not len(series.drop_nulls()):
        return series.dtype.is_temporal()
    series = cleaned(series)[0]
    return fits(_numbers, series) is None and any(fits(f, series) is not None for f in _DATES)


def cleaned(series: pl.Series) -> tuple[pl.Series, int]:
    """Return text stripped of blanks, null if missing, and the number of values stripped."""
    bare = series.str.strip_chars()
    return bare.set(bare.is_in(MISSING), None), int((bare != series).sum())


def is_boolean(series: pl.Series) -> bool:
    """Return True if the first value is a truth value."""
    words = (str(value).strip() for value in series.drop_nulls())
    return next((word for word in words if word not in MISSING), "").lower() in BOOLEANS
